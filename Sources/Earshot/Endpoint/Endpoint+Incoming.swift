internal import Calling
internal import Peer
internal import Primitives
internal import Reactor
internal import Storage
internal import Wire

/// Calls that come in: who calls, as far as this host knows, and the user's answer.
extension Endpoint {
  /// What a caller says of itself is worth what is known of it already. Nothing is remembered, but
  /// the card of somebody who is pinned: the rest is the user's to decide, by accepting.
  func prepare(_ notice: InvitationNotice, _ callID: Wire.CallID) {
    let record = CallRecord(.callee, CallOptions(), target: nil)
    record.peer = notice.peer
    record.card = notice.card
    known.renew(notice.card)
    record.peerName = notice.claimedName
    record.isNameConfirmed = notice.isNameConfirmed
    record.userExtension = notice.userExtension
    record.offersVideo = notice.media.entries.contains { $0.codec == .vp8 }
    calls[callID] = record
  }

  /// It rings, and is told when the pins have been looked at: another program may have changed
  /// them.
  func takeIncoming(_ callID: Wire.CallID) {
    guard let record = calls[callID] else { return }
    record.heldBack = []
    Task {
      await takePinChanges()
      announce(record, callID)
    }
  }

  /// Tells of a call that came in what was held back, once.
  func announce(_ record: CallRecord, _ callID: Wire.CallID) {
    guard let heldBack = record.heldBack else { return }
    record.heldBack = nil
    record.recognize(by: known)
    if record.trust == .changed {
      refuseChanged(callID)
    } else if let peer = record.peer {
      publish(
        .incomingCall(
          IncomingCall(
            id: CallID(callID), peer: peer, name: record.peerName, trust: record.trust,
            nameTrust: record.nameTrust, newName: record.newName,
            userExtension: record.userExtension, offersVideo: record.offersVideo)))
    }
    for event in heldBack { publish(event) }
  }

  /// The name that this side asks for.
  var ownName: String? { driver.readMachine { $0.configuration.name?.description } }

  /// Whether an event is of a call that the application has not been told of yet.
  func holdsBack(_ event: EndpointEvent) -> Bool {
    guard let id = event.callID, let record = calls[id.wire], record.heldBack != nil else {
      return false
    }
    record.heldBack?.append(event)
    return true
  }

  /// Pins that another program has changed since (`earshot contacts`) count from here on.
  func takePinChanges() async {
    guard await known.refresh(), !isClosed else { return }
    applyFamiliarChanges()
  }

  private func applyFamiliarChanges() {
    let areAudience = driver.readMachine { $0.configuration.isForFamiliars }
    let changes = known.takeFamiliarChanges(limit: areAudience ? Audience.limit : .max)
    driver.withMachine { machine, _ in
      for peer in changes.come { machine.setFamiliar(peer.id, true, card: peer.card) }
      for peer in changes.gone { machine.setFamiliar(peer, false) }
    }
  }

  /// Somebody else than before calls under a known name: it does not ring.
  private func refuseChanged(_ callID: Wire.CallID) {
    do throws(EarshotError) {
      try command { machine, now throws(PeerRefusal) in
        try machine.reject(callID, .identityChanged, now: now)
      }
    } catch {
      // It was cancelled in this moment.
    }
  }

  // MARK: - The answer

  /// The call of whom the user wants to call, if it rings here, and in the same mesh if in any. A
  /// name that is only claimed is nobody's.
  func ringingCall(from target: CallTarget, with words: String?) -> CallID? {
    for (callID, record) in calls where record.role == .callee && !record.isOver {
      let isWanted =
        switch target {
        case .id(let id): record.peer == id
        case .name(let name):
          record.nameTrust != .claimed && (record.peerName ?? record.newName) == name.description
        }
      guard isWanted, record.trust != .changed, record.isOfMesh(of: words) else { continue }
      if driver.readMachine({ $0.isRinging(callID) }) { return CallID(callID) }
    }
    return nil
  }

  func accept(_ id: CallID, _ options: CallOptions) throws(EarshotError) {
    try check(options)
    let callID = resolve(id)
    guard let record = calls[callID] else { throw .callState("There is no such call.") }
    let earlier = record.options
    record.applyOptions(options)
    let answer = AnswerOptions(options)
    do throws(EarshotError) {
      try command { machine, now throws(PeerRefusal) in
        try machine.accept(callID, answer, now: now)
      }
    } catch {
      // Its sinks were not taken: nothing is to be finished.
      record.applyOptions(earlier)
      throw error
    }
    if options.remembersPeer { remember(record) }
  }

  /// The user talks with somebody. A name that the rendezvous confirms is that identity's from now
  /// on; one that is only claimed is not, and whoever has none is remembered by the ID.
  private func remember(_ record: CallRecord) {
    guard let peer = record.peer, record.trust != .changed else { return }
    known.see(peer, at: record.nameToKeep.map(KnownPeers.Place.name) ?? .id(peer))
    known.renew(record.card)
    applyFamiliarChanges()
    guard known.isFamiliar(peer) else { return }
    let card = record.card
    driver.withMachine { machine, _ in machine.setFamiliar(peer, true, card: card) }
  }

  func reject(_ id: CallID, _ farewell: Farewell) throws(EarshotError) {
    let callID = resolve(id)
    try traced("reject(reason:userExtension:)", id) { endpoint throws(EarshotError) in
      try farewell.check()
      try endpoint.command { machine, now throws(PeerRefusal) in
        try machine.reject(
          callID, farewell.refusal, text: farewell.reason, userExtension: farewell.words, now: now)
      }
    }
  }
}

extension CallRecord {
  /// What the caller's name is worth here. Who is pinned by another name than it claims, or has
  /// none, has that one. Who is pinned without a name has none: what an identity is worth must not
  /// pass to a name that it chose.
  fileprivate func recognize(by known: KnownIdentities) {
    guard let peer else { return }
    let claimed = peerName
    if let name = claimed.flatMap({ PeerName($0) }) {
      trust = known.trust(in: peer, at: .name(name))
    }
    if trust == .new, let name = known.name(of: peer) {
      peerName = name.description
      trust = known.trust(in: peer, at: .name(name))
    }
    let itself = known.trust(in: peer, at: .id(peer))
    guard trust == .new && itself != .new || trust == .pinned && itself == .verified else {
      return
    }
    trust = itself
    newName = isNameConfirmed ? claimed : nil
    peerName = nil
  }

  /// The name that accepting pins. Nobody has verified it of whoever was verified without one.
  fileprivate var nameToKeep: PeerName? {
    let name = nameTrust == .claimed ? nil : peerName ?? (trust == .verified ? nil : newName)
    return name.flatMap { PeerName($0) }
  }
}

extension EndpointEvent {
  /// Whose call it is about, if it is about one.
  public var callID: CallID? {
    switch self {
    case .registrationChanged, .tokenWillExpire, .tokenRenewed, .tokenRefused, .relayChanged,
      .portMappingChanged, .volumes, .activeSpeakerChanged, .networkChanged, .channel:
      nil
    case .incomingCall(let call): call.id
    case .warning(let warning): warning.call
    case .commandDone(let command): command.call
    case .callStateChanged(let id, _, _), .callProgress(let id, _), .statistics(let id, _),
      .audioQualityChanged(let id, _), .callEnded(let id, _):
      id
    }
  }
}

extension CallRecord {
  /// Whether the words of another call name the same channel's mesh, or none as well.
  fileprivate func isOfMesh(of words: String?) -> Bool {
    CallWords.channel(of: userExtension) == CallWords.channel(of: words)
  }
}
