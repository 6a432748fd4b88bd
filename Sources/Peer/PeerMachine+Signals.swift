import Calling
import Connectivity
import Cryptography
import LastMile
import Primitives
import SecureSession
import Wire

/// Signalling bodies that came in, by the rendezvous or on the path (docs/protocol/calling.md §2,
/// §3).
extension PeerMachine {
  /// Takes a body whose sender is proven; only what is authentic reaches the rules.
  ///
  /// - Parameters:
  ///   - presence: The peer's program, as the rendezvous says; `every` = it came on the path.
  ///   - name: What the rendezvous says that the peer is called, if it says so.
  mutating func handleSignal(
    _ bytes: [UInt8], from peer: PeerID, _ presence: PresenceID = .every,
    named name: PeerName? = nil, isOnPath: Bool = false, now: Instant
  ) {
    var reader = ByteReader(bytes.span)
    let body: SignalBody
    do throws(WireError) {
      let header = try SignalHeader(parsing: &reader)
      guard header.version == SignalBody.version else {
        return answerVersion(header, from: peer, presence, now: now)
      }
      body = try SignalBody(parsing: bytes.span)
    } catch {
      return ledger.countIgnored(.malformed)
    }
    if case .invite(let connectionID, let message) = body.content {
      return handleInvite(
        body.callID, ConnectionID(rawValue: connectionID), message,
        from: Caller(peer: peer, program: presence, name: name), now: now)
    }
    guard let link = link(body.callID) else { return ledger.countIgnored(.unknownCall) }
    guard link.peer == peer else { return ledger.countIgnored(.wrongPeer) }
    if case .candidates(let sealed) = body.content {
      // By the rendezvous only, which bounds how many there are.
      guard !isOnPath else { return ledger.countIgnored(.forged) }
      return handleCandidates(sealed, link, now: now)
    }
    handle(body, bytes, on: link, from: presence, now: now)
  }

  /// Tells the rules what an authentic body says, and looks after the path.
  private mutating func handle(
    _ body: SignalBody, _ bytes: [UInt8], on link: CallLink, from presence: PresenceID,
    now: Instant
  ) {
    let hadPath = link.path.agent.selected != nil
    let read = link.read(
      body, bytes, from: presence, isOpen: ledger.isOpen(body.callID), random: &random)
    guard let (signal, program) = read else {
      let isAnswer = body.type == .accept || body.type == .reject
      guard isAnswer, link.role == .caller, !link.signalling.awaitsAnswer else {
        return ledger.countIgnored(.forged)
      }
      return ledger.handleLateAnswer(body.callID, from: link.peer, presence: presence, now: now)
    }
    // Another program has accepted than the one that the path was found to.
    if hadPath, link.path.agent.selected == nil { ledger.handlePathLost(body.callID) }
    ledger.handle(signal, body.callID, from: link.peer, presence: program, now: now)
    // Another program rings than the one that a path is sought to.
    if case .ringing = signal, link.path.isFinding { addCandidates(to: link, now: now) }
    if link.role == .callee, case .receipt(of: .accept) = signal { link.path.signals.removeAll() }
    if !link.path.changes.isEmpty { handlePathChanges(link, now: now) }
  }

  /// An INVITE of another version is answered by what we speak; any other body of it is dropped.
  private mutating func answerVersion(
    _ header: SignalHeader, from peer: PeerID, _ presence: PresenceID, now: Instant
  ) {
    ledger.countIgnored(.malformed)
    guard header.type == SignalType.invite.rawValue else { return }
    let answer = SignalBody(
      header.callID,
      .unsupported(lowestVersion: SignalBody.version, highestVersion: SignalBody.version))
    rendezvous.forward(
      answer.bytes, to: peer, presence, about: (header.callID, .unsupported), now: now)
  }

  // MARK: - INVITE

  /// Whom an INVITE is from, as the rendezvous says.
  private struct Caller {
    let peer: PeerID
    let program: PresenceID
    let name: PeerName?
  }

  private mutating func handleInvite(
    _ callID: CallID, _ connectionID: ConnectionID, _ message: [UInt8], from caller: Caller,
    now: Instant
  ) {
    let peer = caller.peer
    guard case .open = ledger.admitInvite(callID, from: peer, now: now) else { return }
    guard makeRoomForLink() else { return ledger.countIgnored(.tooMany) }
    let responder: CallResponder
    do throws(HandshakeError) {
      responder = try CallResponder(
        message: message.span, connectionID: connectionID, caller: peer, callee: identity)
    } catch {
      return ledger.countIgnored(.forged)
    }
    ring(responder, callID, connectionID, from: caller, now: now)
  }

  private mutating func ring(
    _ responder: consuming CallResponder, _ callID: CallID, _ connectionID: ConnectionID,
    from caller: Caller, now: Instant
  ) {
    let peer = caller.peer
    guard var payload = parse(responder.payload), payload.callID == callID,
      let card = believe(payload.offer.card, from: peer, now: now),
      card.staticKey == responder.callerStatic,
      let secret = SecretKey(copying: payload.callKey.span),
      let commitment = Bytes32(payload.commitment)
    else { return ledger.countIgnored(.forged) }
    responder.wipePayload()
    Secret.wipe(&payload.callKey)
    guard !newestCards.hasSuperseded(card) else { return ledger.countIgnored(.superseded) }
    if ledger.familiars.contains(peer) { newestCards.insert(card) }
    let link = CallLink(
      callID, .callee, peer: peer, peerStatic: card.staticKey, program: rendezvous.presence.id,
      limits: configuration.limits, random: &random)
    link.signalling.handleInvite(
      responder, secret: secret, commitment: commitment, sessionID: connectionID)
    link.signalling.sessionIDs.local = makeConnectionID()
    link.path.ringIDs.local = makeConnectionID()
    link.handleInvite(payload, from: caller.program)
    links.append(link)
    if !link.isProbe { notice(link, card, from: caller) }
    let confirmed = card.content.name == caller.name ? caller.name : nil
    announce(payload, link, named: confirmed, now: now)
  }

  private mutating func notice(_ link: CallLink, _ card: ContactCard, from caller: Caller) {
    let name = card.content.name
    publish(
      .link(
        link.callID,
        .invitation(
          InvitationNotice(
            peer: link.peer, card: card.bytes, claimedName: name?.description,
            isNameConfirmed: name != nil && name == caller.name,
            userExtension: link.words.theirs, media: link.terms.remote))))
  }

  private mutating func announce(
    _ payload: InvitePayload, _ link: CallLink, named name: PeerName?, now: Instant
  ) {
    let refusal: CallReason?
    if link.isProbe {
      refusal = probeRefusal(payload.offer)
    } else {
      let common = AnswerOptions().media.shares(.opus, with: payload.offer.media)
      refusal = common ? presenceRefusal(of: link.peer, now: now) : .notAllowed
      if refusal == nil { endPeerProbe(.callInProgress, now: now) }
    }
    let milliseconds = payload.ringTimeoutMilliseconds
    ledger.handleInvite(
      Invitation(
        callID: payload.callID, from: link.peer, presence: link.path.programs.remote,
        in: channels.mesh(of: link.words.theirs),
        createdMilliseconds: payload.createdMilliseconds,
        ringTimeout: milliseconds == 0 ? nil : .milliseconds(Int64(milliseconds)),
        refusal: refusal),
      rendezvousMilliseconds: rendezvousMilliseconds(now: now), now: now)
    if link.isProbe { acceptProbe(link, now: now) }
    joinIfDialled(link, named: name, now: now)
    if ledger.peer(of: payload.callID) == nil { links.removeAll { $0 === link } }
  }

  private func parse(_ payload: [UInt8]) -> InvitePayload? {
    var reader = ByteReader(payload.span)
    do throws(WireError) {
      return try InvitePayload(parsing: &reader)
    } catch {
      return nil
    }
  }

  /// A card that verifies for `peer`; `nil` for any other.
  func believe(_ bytes: [UInt8], from peer: PeerID?, now: Instant) -> ContactCard? {
    do {
      let card = try ContactCard(parsing: bytes)
      try card.verify(for: peer, unixSeconds: unixSeconds(now: now))
      return card
    } catch {
      return nil
    }
  }

  /// Makes room, if need be, by giving up a lingering call: the oldest of a stranger that was never
  /// accepted, else the oldest; never an open one.
  ///
  /// - Returns: whether there is room.
  mutating func makeRoomForLink() -> Bool {
    let most = configuration.limits.calls + ledger.policy.callLimit - 1
    guard links.count >= most else { return true }
    guard
      let index = links.firstIndex(where: { !ledger.isOpen($0.callID) && isStranger($0) })
        ?? links.firstIndex(where: { !ledger.isOpen($0.callID) && $0.path.roaming.absence == .zero }
        )
        ?? links.firstIndex(where: { !ledger.isOpen($0.callID) })
    else { return false }
    links.remove(at: index)
    return true
  }

  private func isStranger(_ link: CallLink) -> Bool {
    link.role == .callee && !link.signalling.hasSessionKeys && link.association == nil
      && !ledger.familiars.contains(link.peer)
  }

  /// What the rendezvous' clock shows, by its last word; the host's clock before that.
  func rendezvousMilliseconds(now: Instant) -> UInt64 {
    rendezvous.serverMilliseconds(now: now)
      ?? UInt64(clamping: configuration.wallClockAtZero) &+ now.nanoseconds / 1_000_000
  }

  /// The time by which cards of others are judged: the host's, unless the rendezvous tells one from
  /// which it differs by more than cards allow for (docs/protocol/rendezvous.md §2).
  func unixSeconds(now: Instant) -> UInt64 {
    let own =
      (UInt64(clamping: configuration.wallClockAtZero) &+ now.nanoseconds / 1_000_000) / 1000
    let told = rendezvousMilliseconds(now: now) / 1000
    let difference = max(own, told) - min(own, told)
    return difference > ContactCard.clockTolerance ? told : own
  }
}
