import Calling
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
      if let open = ledger.openCall(with: id), !isRinging(open) { throw .call(.busy) }
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
    _ callID: CallID, _ reason: CallReason = .declined, text: String = "", now: Instant
  ) throws(PeerRefusal) {
    try refuse { (ledger: inout CallLedger) throws(CallRefusal) in
      try ledger.reject(callID, reason, text: ReasonText(clipping: text), now: now)
    }
    settle(now: now)
  }

  /// Ends a call in whatever state it is: cancels, rejects or hangs up.
  package mutating func end(
    _ callID: CallID, _ reason: CallReason = .userHungUp, text: String = "", now: Instant
  ) throws(PeerRefusal) {
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

  /// Sends a reliable, ordered message of the application.
  ///
  /// - Parameter stream: 8...127.
  package mutating func send(
    _ message: [UInt8], stream: UInt8, on callID: CallID, life: Duration, now: Instant
  ) throws(PeerRefusal) -> MessageTag {
    guard let link = link(callID), link.association != nil, ledger.isOpen(callID) else {
      throw .noSession
    }
    do throws(MessageError) {
      guard
        let tag = try link.association?.messages.send(
          message, on: .application(stream), life: life, now: now)
      else { throw .streamNotAllowed }
      link.session.applicationTags.append(tag.rawValue)
      return tag
    } catch {
      throw .message(error)
    }
  }

  /// Hangs up and says goodbye everywhere. Drive the machine on until `isShutDown`, at most 9 s:
  /// that long only while a last word is not receipted and the rendezvous does not take it.
  package mutating func shutDown(now: Instant) {
    life.end(now: now)
    if peerProbe != nil { endPeerProbe(.cancelled, now: now) }
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
    do throws(WireError) {
      let card = try ContactCard(parsing: card)
      if card.id == peer { newestCards.insert(card) }
    } catch {
      return  // None was kept.
    }
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
