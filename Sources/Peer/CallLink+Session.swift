import Calling
import Congestion
import Cryptography
import Messaging
import Primitives
import SecureSession
import Wire

/// The session of a call: made of what ACCEPT brought, renewed, and spoken in.
extension CallLink {
  /// The callee's ACCEPT.
  ///
  /// - Parameter candidates: Where this side may be reached.
  /// - Returns: `false` if it was made or refused already.
  func makeAccept(candidates: CandidateList, random: inout RandomSource) -> Bool {
    let options = terms.answer
    terms.own = options.media
    media.isAudioMuted = !options.sendsAudio
    media.uplinkWeight = options.uplinkWeight
    prepareVideo(options.video)
    path.roaming.told = candidates
    let offer = CallOffer(
      card: [], candidates: candidates, media: terms.own, userExtension: options.userExtension,
      rejoinSeconds: options.absence.wireSeconds, abilities: options.abilities)
    do throws(HandshakeError) {
      try signalling.makeAccept(offer: offer, random: &random)
      return true
    } catch {
      return false
    }
  }

  /// Makes the session.
  ///
  /// - Returns: `false` if its keys are not there.
  func openSession(ownID: PeerID, random: inout RandomSource, now: Instant) -> Bool {
    guard let keys = signalling.takeSessionKeys(), let ownStatic = signalling.takeStaticKey() else {
      return false
    }
    signalling.hangUpKey = keys.exporter.export(.hangUp)
    signalling.shortCode.setKey(keys.exporter.export(.shortCode))
    path.roaming.open(exported: keys.exporter.export(.candidates), side: signalling.side)
    let made = Session(
      keys, local: signalling.sessionIDs.local, remote: signalling.sessionIDs.remote,
      parties: Session.Parties(
        localID: ownID, remoteID: peer, localStatic: ownStatic,
        remoteStatic: signalling.peerStatic, role: role == .caller ? .initiator : .responder),
      now: now, random: &random)
    session.association = Association(made, limits: .peer, pingAfter: Self.pingAfter, now: now)
    return true
  }

  /// Prepares the video of a call both sides of which can have one.
  func prepareVideo(_ settings: VideoSettings?) {
    guard let settings, media.video == nil else { return }
    media.video = VideoLink(settings)
    terms.own = terms.own.adding(.vp8)
  }

  // MARK: - Signals

  /// Makes the bodies that are made once a call.
  ///
  /// - Parameter candidates: Where this side may be reached.
  func prepareBody(
    of signal: CallSignal, candidates: CandidateList, random: inout RandomSource
  ) {
    switch signal {
    case .ringing(let isPrepared) where signalling.ringingBody.isEmpty:
      signalling.makeRinging(
        isPrepared: isPrepared, ringID: path.ringIDs.local, candidates: candidates,
        random: &random)
    case .reject(let reason, let text) where signalling.answerBody.isEmpty:
      do throws(HandshakeError) {
        try signalling.makeReject(
          reason, text, card: [], userExtension: words.ownEnding, random: &random)
      } catch {
        signalling.answerBody = []  // Nothing to say; the caller's own timers end the call there.
      }
    case .ringing, .reject, .invite, .accept, .cancel, .timeout, .hangUp, .receipt, .unsupported,
      .confirm, .mediaState:
      break
    }
  }

  /// The body of a signal with the user data of the call's end; `nil` for what cannot be said now.
  func body(of signal: CallSignal, to destination: PresenceID) -> [UInt8]? {
    signalling.body(of: signal, to: destination) { $0.withWords(of: self) }
  }

  /// Puts a signal on the path: as SIGNAL before the session stands, or as a message in it.
  ///
  /// - Returns: the message.
  func queueOnPath(_ signal: CallSignal, to destination: PresenceID) -> CallControlMessage? {
    switch signal {
    case .accept, .reject, .cancel, .timeout, .receipt:
      if let body = body(of: signal, to: destination) { path.signals.append(body) }
      return nil
    case .confirm: return .confirm(opening: signalling.shortCode.callerNumber.bytes)
    case .hangUp(let reason, let text):
      return .hangUp(reason, text, userExtension: words.endingToSend)
    case .mediaState(let media): return .mediaState(media)
    case .invite, .ringing, .unsupported: return nil
    }
  }

  // MARK: - Messages

  func sendControl(_ control: CallControlMessage, lostAfter silence: Duration, now: Instant) {
    guard words.abilities.isSuperset(of: control.neededAbilities) else { return }
    let life = control.life(silence: max(silence, path.roaming.absence))
    do throws(MessageError) {
      let tag = try association?.messages.send(
        control.bytes, on: .callControl, life: life, isUrgent: control.isUrgent, now: now)
      if case .hangUp = control { session.hangUpTag = tag?.rawValue }
    } catch {
      // The queue is full of the application's messages; the rendezvous carries the hang-up.
    }
  }

  /// - Parameter connectionID: One that is not in use.
  func startRekey(connectionID: ConnectionID, random: inout RandomSource, now: Instant) {
    let message = association?.session.startRekey(
      connectionID: connectionID, now: now, random: &random)
    if let message { sendSessionControl(message, now: now) }
  }

  /// A message of the other side's rekey has come.
  ///
  /// - Parameter connectionID: One that is not in use.
  func handleSessionControl(
    _ bytes: [UInt8], connectionID: ConnectionID, random: inout RandomSource, now: Instant
  ) {
    switch association?.session.receiveRekey(
      bytes.span, connectionID: connectionID, now: now, random: &random)
    {
    case .send(let answer): sendSessionControl(answer, now: now)
    case .sendPacket: association?.ping()
    case .ignored, nil: break
    }
  }

  private func sendSessionControl(_ message: [UInt8], now: Instant) {
    do throws(MessageError) {
      try association?.messages.send(
        message, on: .sessionControl, life: Self.controlLife, now: now)
    } catch {
      // A full queue: the session asks again after 10 s.
    }
  }

  /// How long a message of the session or of the call is tried.
  static let controlLife = Duration.seconds(8)
  /// In ns: docs/protocol/frames.md §6.
  private static let pingAfter: UInt64 = 1_000_000_000
}

extension CallControlMessage {
  /// How long it is tried. What a side sends and wants holds until it says something else: it is
  /// told however long the call goes on without a word.
  ///
  /// - Parameter silence: For how long the call may.
  fileprivate func life(silence: Duration) -> Duration {
    switch self {
    case .mediaState, .mediaWanted, .videoRotation, .smallVideo, .music, .channel,
      .channelRemark:
      silence + CallLink.controlLife
    case .confirm, .hangUp, .videoTest, .quality: CallLink.controlLife
    }
  }

  /// Whether the other side waits for it.
  fileprivate var isUrgent: Bool { if case .confirm = self { true } else { false } }
}
