import Calling
import Congestion
import Connectivity
import Cryptography
import LastMile
import Messaging
import Primitives
import SecureSession
import Wire

/// Doing what `CallLedger` decided.
extension PeerMachine {
  mutating func handleAction(_ action: CallAction, now: Instant) {
    switch action {
    case .send(let signal, let callID, let peer, let route):
      send(signal, callID, to: peer, nil, route, now: now)
    case .sendTo(let presence, let signal, let callID, let peer):
      send(signal, callID, to: peer, presence, signal.repetitionRoute, now: now)
    case .findPath(let callID): findPath(callID, now: now)
    case .openSession(let callID): openSession(callID, now: now)
    case .startMedia(let callID):
      guard let link = link(callID) else { return }
      link.media.mayStart = true
      announceMedia(link)
    case .stopMedia(let callID):
      guard let link = link(callID) else { return }
      link.media.mayStart = false
      sharing.remove(link)
      if link.progress.flow == .announced { publish(.link(callID, .mediaMustStop)) }
    case .close(let callID): link(callID)?.close(now: now)
    case .erase(let callID): links.removeAll { $0.callID == callID }
    case .notify(let event):
      switch event {
      case .remoteMediaChanged(let callID, let media):
        link(callID)?.path.agent.setExpectsMedia(media.contains(.audio), now: now)
        link(callID)?.media.video?.remote = media
      case .replaced(let ours, let theirs):
        // What the user wanted of the own invitation holds for the call that stands.
        guard let options = link(ours)?.terms.answer else { break }
        link(theirs)?.terms.answer = options
      case .rejoined(let callID, _):
        renewKeys(of: callID, now: now)
      default: break
      }
      publish(.calling(event))
    }
  }

  // MARK: - Signals out

  /// - Parameter presence: `nil` = whichever program of the peer the signal is for by itself.
  private mutating func send(
    _ signal: CallSignal, _ callID: CallID, to peer: PeerID, _ presence: PresenceID?,
    _ route: SignalRoute, now: Instant
  ) {
    guard let link = link(callID) else { return }
    let destination = presence ?? link.destination(of: signal)
    link.prepareBody(of: signal, candidates: ownCandidates, random: &random)
    if route != .rendezvous, link.path.isOnPath(destination),
      let control = link.queueOnPath(signal, to: destination)
    {
      sendControl(control, on: link, now: now)
    }
    guard route != .path, let type = signal.type,
      let body = link.body(of: signal, to: destination), !body.isEmpty
    else { return }
    rendezvous.forward(body, to: peer, destination, about: (callID, type), now: now)
  }

  func sendControl(_ control: CallControlMessage, on link: CallLink, now: Instant) {
    link.sendControl(control, lostAfter: configuration.policy.lostAfter, now: now)
  }

  // MARK: - Path

  private mutating func findPath(_ callID: CallID, now: Instant) {
    guard let link = link(callID) else { return }
    link.path.phase = .finding
    addCandidates(to: link, now: now)
    catchUp(link, now: now)
  }

  func addCandidates(to link: CallLink, now: Instant) {
    // The callee learns the caller's candidates first; its own are on their way.
    link.path.addCandidates(
      from: configuration, byRelay: hasRelay, deliveryTime: rendezvous.association?.deliveryTime,
      now: now)
    link.seekPair(now: now)
  }

  /// The path was proven, or media moved.
  mutating func handlePathChanges(_ link: CallLink, now: Instant) {
    let changes = link.path.changes
    link.path.changes = []
    for change in changes {
      if change.cause == .found {
        recordMapping(of: link, change.to)
        // Known of before: the path to another program of the callee, which did not accept.
        publishStep(
          link,
          link.path.programs.hasToldPath
            ? .pathChanged(change.kind, remote: change.to)
            : .pathReady(change.kind, remote: change.to))
        link.path.programs.hasToldPath = true
        ledger.handlePathReady(link.callID, now: now)
      } else {
        // Nothing that was asked for over the old path goes on over the new one.
        link.probe.stopReflecting()
        publishStep(link, .pathChanged(change.kind, remote: change.to))
        if change.cause != .ownAddress {
          link.association?.session.requestRekey(now: now, random: &random)
        }
        link.association?.uplink?.restart()
        if change.cause != .ownAddress { link.association?.packetSize.restart() }
      }
    }
    announceMedia(link)
  }

  /// Media may flow when the rules, the session and the path are there; and what is heard already
  /// waits for none of them.
  mutating func announceMedia(_ link: CallLink) {
    let maySend =
      link.media.mayStart
      && (link.isProbe ? link.path.agent.selected != nil : link.path.hasDestination)
    guard link.awaitsMedia, maySend || link.progress.heard == .begun && !link.isProbe else {
      return
    }
    link.progress.flow = .announced
    if link.isProbe { return beginPeerProbe(link, now: latest) }
    publishStep(link, .mediaMayFlow)
  }

  // MARK: - Session

  private mutating func openSession(_ callID: CallID, now: Instant) {
    guard let link = link(callID), link.association == nil else { return }
    if link.role == .callee, !link.signalling.hasSessionKeys {
      let isAccepted = link.makeAccept(candidates: ownCandidates, random: &random)
      guard isAccepted else { return fail(callID, now: now) }
    }
    guard link.openSession(ownID: identity.id, random: &random, now: now) else {
      return fail(callID, now: now)
    }
    if link.role == .caller { announceShortCode(link) }
    allowAbsence(link)
    if !link.isProbe, let association = link.association {
      link.media.open(on: association, hasVideo: link.terms.hasCommonVideo)
    }
    if link.role == .caller, !link.isProbe {
      publish(.link(callID, .answered(userExtension: link.words.theirs)))
    }
    if link.path.isFinding { addCandidates(to: link, now: now) }
    catchUp(link, now: now)
    sendMediaState(link)
    sendMediaControl(link, now: now)
    announceMedia(link)
  }

  private mutating func fail(_ callID: CallID, now: Instant) {
    do throws(CallRefusal) {
      try ledger.end(callID, .internalFailure, now: now)
    } catch {
      // It has ended already.
    }
  }

  private mutating func announceShortCode(_ link: CallLink) {
    let isCaller = link.role == .caller
    let letters = link.signalling.shortCode.settle(
      caller: isCaller ? identity.id : link.peer, callee: isCaller ? link.peer : identity.id)
    if let letters { publishStep(link, .shortCode(letters)) }
  }

  /// The session said CLOSE, broke the protocol, or its keys are too old.
  mutating func endSession(_ link: CallLink, now: Instant) {
    guard let ending = link.association?.endedBy else { return }
    guard ledger.isOpen(link.callID) else {
      // Only a CLOSE says that a HANGUP is needed no more.
      if case .remoteClose = ending, link.session.hangUpTag != nil { receiptHangUp(link, now: now) }
      return
    }
    let reason: CallReason = ending == .violation ? .internalFailure : .userHungUp
    switch ending {
    case .remoteClose:
      // In order only after HANGUP (calling.md §3); without it the other side is gone as well.
      handleMessages(link, isLast: true, now: now)
      let isConnected = ledger.state(of: link.callID) == .connected
      let reason: CallReason = isConnected ? .none : .userCancelled
      ledger.handle(.hangUp(reason, .empty), link.callID, from: link.peer, now: now)
    case .violation, .expired:
      do throws(CallRefusal) { try ledger.end(link.callID, reason, now: now) } catch { return }
    }
  }

  // MARK: - Time and messages

  mutating func handleTimeout(_ link: CallLink, now: Instant) {
    guard let deadline = link.nextDeadline, deadline <= now else { return }
    link.eraseKeys(now: now)
    link.path.handleTimeout(now: now)
    link.association?.handleTimeout(now: now)
    link.probe.handleTimeout(now: now)
    if link.isProbe { handleProbeProgress(link, hasHeard: false, now: now) }
    handleVideoTimeout(link, now: now)
    driveSearch(link, now: now)
    while let action = link.association?.session.handleTimeout(now: now) {
      switch action {
      case .startRekey:
        link.startRekey(connectionID: makeConnectionID(), random: &random, now: now)
      case .expired: link.association?.expire()
      }
    }
    if !link.path.changes.isEmpty { handlePathChanges(link, now: now) }
    handleMessages(link, now: now)
    endSession(link, now: now)
  }

  /// Hands the messages that came to whoever they are for. While half of the places for events are
  /// taken the rest waits: no peer takes the place of what becomes of calls. `isLast`: of all.
  mutating func handleMessages(_ link: CallLink, isLast: Bool = false, now: Instant) {
    let most = isLast ? 0 : configuration.limits.unreadMessages
    while hasRoomForWords, let event = link.association?.messages.poll(holding: most) {
      switch event {
      case .received(let stream, let bytes):
        handleMessage(bytes, on: stream, link, now: now)
      case .delivered(let tag):
        publishIfOwn(link, tag, isDelivered: true)
        if tag.rawValue == link.session.hangUpTag { receiptHangUp(link, now: now) }
      case .failed(let tag): publishIfOwn(link, tag, isDelivered: false)
      case .missed(let stream, let missed, let cached):
        guard let told = ApplicationMessage.stream(stream) else { continue }
        publishStep(link, .messagesMissed(stream: told, missed: missed, cached: cached))
      }
    }
  }

  private mutating func publishIfOwn(_ link: CallLink, _ tag: MessageTag, isDelivered: Bool) {
    guard link.session.removeApplicationTag(tag.rawValue) else { return }
    publish(.link(link.callID, .messageFinished(tag: tag.rawValue, isDelivered: isDelivered)))
  }

  private mutating func handleMessage(
    _ bytes: [UInt8], on stream: StreamID, _ link: CallLink, now: Instant
  ) {
    switch stream {
    case .sessionControl:
      link.handleSessionControl(
        bytes, connectionID: makeConnectionID(), random: &random, now: now)
    case .callControl: handleControl(bytes, link, now: now)
    default: ApplicationMessage.publish(bytes, on: stream, of: link, in: &self)
    }
  }

  private mutating func handleControl(_ bytes: [UInt8], _ link: CallLink, now: Instant) {
    var reader = ByteReader(bytes.span)
    let message: CallControlMessage
    do throws(WireError) {
      message = try CallControlMessage(parsing: &reader)
    } catch {
      link.association?.countViolation()
      return
    }
    switch message {
    case .confirm(let opening): confirm(opening, link, now: now)
    case .hangUp(let reason, let text, let words):
      link.words.theirEnding = words ?? link.words.theirEnding
      handleMessages(link, isLast: true, now: now)
      ledger.handle(.hangUp(reason, text), link.callID, from: link.peer, now: now)
    case .mediaState(let media):
      ledger.handle(.mediaState(media), link.callID, from: link.peer, now: now)
    case .mediaWanted(let media): handleMediaWanted(media, link, now: now)
    case .videoTest(let rate): link.media.video?.handleTest(rate, now: now)
    case .quality, .videoRotation, .smallVideo, .music, .channel, .channelRemark:
      if case .smallVideo(let small) = message { link.media.video?.remoteSmall = small }
      publishStep(link, .said(message))
    }
  }

  /// r_A opens the commitment, or somebody is between the two (calling.md §5).
  private mutating func confirm(_ opening: [UInt8], _ link: CallLink, now: Instant) {
    guard link.role == .callee else { return }
    switch link.signalling.shortCode.open(opening) {
    case .ignored: return
    case .broken:
      do throws(CallRefusal) {
        try ledger.end(link.callID, .identityChanged, now: now)
      } catch {
        return
      }
    case .opened:
      announceShortCode(link)
      ledger.handle(.confirm, link.callID, from: link.peer, now: now)
    }
  }
}
