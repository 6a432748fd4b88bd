package import Calling
import Cryptography
import LastMile
package import Messaging
package import Primitives
import SecureSession
package import Wire

/// What the application wants. A refused command changes nothing.
extension PeerMachine {
  /// Registers, and stays registered until `shutDown`.
  package mutating func register(now: Instant) {
    rendezvous.start(now: now, identity: &identity)
    settle(now: now)
  }

  /// A newer access token. Where the rendezvous needs one it is shown at once, and nothing is
  /// interrupted; attempts that ended for want of one begin again.
  package mutating func renewToken(_ token: [UInt8], now: Instant) {
    rendezvous.renewToken(token, now: now, identity: &identity)
    settle(now: now)
  }

  /// Invites somebody by name or ID. A name is looked up first; either way the card is.
  package mutating func invite(
    _ target: CallTarget, _ options: InviteOptions, now: Instant
  ) throws(PeerRefusal) -> CallID {
    // A call goes before any probe, our own to a peer or a peer's to us.
    endPeerProbe(.callInProgress, now: now)
    guard ledger.room + provisionalCount > lookups.count else { throw .call(.busy) }
    guard makeRoomForLink() else { throw .tooManyCalls }
    if let text = options.userExtension, text.utf8.count > CallOffer.maximumExtensionByteCount {
      throw .extensionTooLong
    }
    if case .id(let id) = target {
      guard id != identity.id else { throw .call(.ownID) }
      // One of theirs that rings here is accepted as soon as the look-up says so.
      let open = channels.openCall(with: id, options, ledger)
      if let open, !isRinging(open) { throw .call(.busy) }
    }
    firstCall = .made
    let callID = CallID(from: &random)
    let request = UInt32(truncatingIfNeeded: random.next())
    lookups.append(
      PendingLookUp(
        callID: callID, request: request, target: target, options: options, began: now))
    rendezvous.lookUp(target, request: request, now: now)
    // The way there may have died since it last carried anything: then PING finds another.
    rendezvous.locate(now: now)
    settle(now: now)
    return callID
  }

  /// Whether the call came in and waits for the user's answer.
  package func isRinging(_ callID: CallID) -> Bool {
    ledger.state(of: callID) == .calling && link(callID)?.role == .callee
  }

  /// Answers the call that rings.
  package mutating func accept(
    _ callID: CallID, _ options: AnswerOptions = AnswerOptions(), now: Instant
  ) throws(PeerRefusal) {
    if let text = options.userExtension, text.utf8.count > CallOffer.maximumExtensionByteCount {
      throw .extensionTooLong
    }
    guard let link = link(callID) else { throw .call(.unknownCall) }
    link.terms.answer = options
    try refuse { (ledger: inout CallLedger) throws(CallRefusal) in
      try ledger.accept(callID, now: now)
    }
    firstCall = .made
    refuseOthers(now: now)
    settle(now: now)
  }

  package mutating func reject(
    _ callID: CallID, _ reason: CallReason = .declined, text: String = "",
    userExtension: String? = nil, now: Instant
  ) throws(PeerRefusal) {
    link(callID)?.words.end(with: userExtension, random: &random)
    try refuse { (ledger: inout CallLedger) throws(CallRefusal) in
      try ledger.reject(callID, reason, text: ReasonText(clipping: text), now: now)
    }
    settle(now: now)
  }

  /// Ends a call in whatever state it is: cancels, rejects or hangs up.
  package mutating func end(
    _ callID: CallID, _ reason: CallReason = .userHungUp, text: String = "",
    userExtension: String? = nil, now: Instant
  ) throws(PeerRefusal) {
    link(callID)?.words.end(with: userExtension, random: &random)
    if lookups.remove(callID) { return publish(.unresolved(callID, .cancelled)) }
    try refuse { (ledger: inout CallLedger) throws(CallRefusal) in
      try ledger.end(callID, reason, text: ReasonText(clipping: text), now: now)
    }
    settle(now: now)
  }

  /// Tells the other side whether audio is sent from now on.
  package mutating func setAudioMuted(
    _ callID: CallID, _ isMuted: Bool, now: Instant
  ) throws(PeerRefusal) {
    if lookups.setAudioMuted(callID, isMuted) { return }
    guard ledger.isOpen(callID), let link = link(callID) else { throw .call(.unknownCall) }
    link.media.isAudioMuted = isMuted
    link.terms.answer.sendsAudio = !isMuted
    sendMediaState(link)
    settle(now: now)
  }

  /// Sends a message of the application.
  package mutating func send(
    _ message: ApplicationMessage, on callID: CallID, now: Instant
  ) throws(PeerRefusal) -> MessageTag {
    guard let link = link(callID), ledger.isOpen(callID) else { throw .noSession }
    return try message.send(on: link, now: now)
  }

  /// Changes what a call sends or wants of media; the other side is told what it must know.
  package mutating func change(
    _ callID: CallID, now: Instant, _ body: (CallMedia) -> Void
  ) throws(PeerRefusal) {
    guard let link = link(callID) else { throw .call(.unknownCall) }
    body(link.media)
    link.media.limitUplink(of: link.association)
    sendMediaState(link)
    sendMediaControl(link, now: now)
    settle(now: now)
  }

  /// The other side has the HANGUP.
  mutating func receiptHangUp(_ link: CallLink, now: Instant) {
    link.session.hangUpTag = nil
    ledger.handle(.receipt(of: .hangUp), link.callID, from: link.peer, now: now)
  }

  /// Says something on call control, where the other side understands it.
  package mutating func say(_ control: CallControlMessage, on callID: CallID, now: Instant) {
    guard let link = link(callID) else { return }
    sendControl(control, on: link, now: now)
    settle(now: now)
  }

  /// What the users of a call's two sides have given each other; `nil` when it is gone.
  package func words(of callID: CallID) -> CallWords? { link(callID)?.words }

  /// How calls behave from now on; those that there are go on.
  package mutating func setPolicy(_ set: (inout CallPolicy) -> Void) { set(&ledger.policy) }

  /// The media of a call.
  package func media(of callID: CallID) -> CallMedia? { link(callID)?.media }

  /// Hangs up and says goodbye everywhere. Drive the machine on until `isShutDown`, at most 9 s:
  /// that long only while a last word is not receipted and the rendezvous does not take it.
  package mutating func shutDown(now: Instant) {
    life.end(now: now)
    if peerProbe != nil { endPeerProbe(.cancelled, now: now) }
    rendezvous.endProbe(.cancelled, now: now)
    channels.leaveAll(now: now)
    for callID in lookups.removeAll() { publish(.unresolved(callID, .cancelled)) }
    for callID in ledger.openCallIDs {
      do throws(CallRefusal) {
        try ledger.end(callID, .shuttingDown, now: now)
      } catch {
        // It ended in this moment.
      }
    }
    settle(now: now)
  }

  /// Last words first, then CLOSE to everybody.
  mutating func finishShutDown(now: Instant) {
    guard case .ending(let began) = life else { return }
    let isUnderWay = rendezvous.hasMessagesUnderWay
    let isTaken = rendezvous.standing.isConfirmed && !isUnderWay
    let isPatient = ledger.isDelivering && !isTaken
    let patience = isPatient ? PeerLife.longestPatience : PeerLife.lastWordPatience
    if now < began + patience, ledger.isDelivering || isUnderWay { return }
    life = .over
    for link in links { link.close(now: now) }
    rendezvous.shutDown(now: now)
  }

  /// Whether everything that was to be said has been said.
  package var isShutDown: Bool {
    life.isOver && rendezvous.isQuiet && links.allSatisfy { $0.hasClosed }
  }

  /// Says who is no stranger (`Familiars`), besides those that are called.
  ///
  /// - Parameter card: The newest one that was seen; empty for none.
  package mutating func setFamiliar(_ peer: PeerID, _ isFamiliar: Bool, card: [UInt8] = []) {
    guard isFamiliar else { return ledger.familiars.remove(peer) }
    ledger.familiars.insert(peer)
    newestCards.insert(kept: card, of: peer)
  }

  private mutating func refuse(
    _ command: (inout CallLedger) throws(CallRefusal) -> Void
  ) throws(PeerRefusal) {
    do throws(CallRefusal) {
      try command(&ledger)
    } catch {
      throw .call(error)
    }
  }
}

extension PeerMachine {
  /// How long the access token is still good, where that was told already.
  package func tokenLeft(now: Instant) -> Duration? { rendezvous.token.left(now: now) }
}
