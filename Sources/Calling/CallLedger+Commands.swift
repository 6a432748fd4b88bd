package import Primitives
package import Wire

/// What the user wants. A refused command changes nothing and tells nobody.
extension CallLedger {
  /// Invites `peer`.
  ///
  /// - Parameters:
  ///   - callID: New and random.
  ///   - channel: In whose mesh it is to be; `nil` in none.
  ///   - ringTimeout: From now until the answer; `nil` = none.
  ///   - zero: When the user asked for it, if that was before the peer was looked up.
  package mutating func call(
    _ callID: CallID, to peer: PeerID, in channel: Bytes32? = nil, ringTimeout: Duration?,
    zero: Instant? = nil, now: Instant
  ) throws(CallRefusal) {
    guard room > 0, openCall(with: peer, in: channel) == nil else { throw .busy }
    guard peer != ownID else { throw .ownID }
    guard !filter.seen.contains(callID) else { throw .callIDInUse }
    filter.insert(callID, now: now)
    familiars.insert(peer)
    var call = OpenCall(callID, peer, .caller, in: channel, zero: zero ?? now)
    call.outgoing = OutgoingInvitation(ringTimeout: ringTimeout, now: now)
    open[callID] = call
    notify(.stateChanged(callID, .calling, .localCall))
    send(.invite, about: callID)
    updateDeadline()
  }

  /// Accepts the call that rings.
  package mutating func accept(_ callID: CallID, now: Instant) throws(CallRefusal) {
    try requireOpen(callID)
    guard let action = open[callID]?.incoming?.accept() else { throw .wrongState }
    apply(action, to: callID, now: now)
    updateDeadline()
  }

  /// Rejects the call that rings.
  package mutating func reject(
    _ callID: CallID, _ reason: CallReason = .declined, text: ReasonText = .empty, now: Instant
  ) throws(CallRefusal) {
    try requireOpen(callID)
    guard let action = open[callID]?.incoming?.reject(reason, text) else { throw .wrongState }
    apply(action, to: callID, now: now)
    updateDeadline()
  }

  /// Withdraws an invitation that was not answered.
  package mutating func cancel(_ callID: CallID, now: Instant) throws(CallRefusal) {
    try requireOpen(callID)
    guard let action = open[callID]?.outgoing?.cancel(.userCancelled) else { throw .wrongState }
    apply(action, to: callID, now: now)
    updateDeadline()
  }

  /// Ends a call that was accepted.
  package mutating func hangUp(
    _ callID: CallID, _ reason: CallReason = .userHungUp, text: ReasonText = .empty, now: Instant
  ) throws(CallRefusal) {
    try requireOpen(callID)
    guard let action = open[callID]?.ongoing?.hangUp(reason, text) else { throw .wrongState }
    apply(action, to: callID, now: now)
    updateDeadline()
  }

  /// Ends a call in whatever state it is: cancels, rejects or hangs up. For a user who presses the
  /// one red button, for a program that shuts down, and for failures that the owner finds.
  package mutating func end(
    _ callID: CallID, _ reason: CallReason = .userHungUp, text: ReasonText = .empty, now: Instant
  ) throws(CallRefusal) {
    try requireOpen(callID)
    if let action = open[callID]?.ongoing?.hangUp(reason, text) {
      apply(action, to: callID, now: now)
    } else if let action = open[callID]?.incoming?.reject(reason.ofRejection, text) {
      apply(action, to: callID, now: now)
    } else if let action = open[callID]?.outgoing?.cancel(reason.ofCancellation) {
      apply(action, to: callID, now: now)
    }
    updateDeadline()
  }

  /// Says what is sent from now on; told to the other side if it does not know yet.
  package mutating func setMedia(
    _ callID: CallID, _ media: MediaState
  ) throws(CallRefusal) {
    try requireOpen(callID)
    guard open[callID]?.ownMedia != media else { return }
    open[callID]?.ownMedia = media
    if open[callID]?.ongoing != nil { send(.mediaState(media), .path, about: callID) }
  }

  private func requireOpen(_ callID: CallID) throws(CallRefusal) {
    guard open[callID] != nil else { throw .unknownCall }
  }
}

extension CallReason {
  fileprivate var ofRejection: CallReason {
    switch self {
    case .none, .userHungUp, .userCancelled: .declined
    case .declined, .busy, .notAllowed, .noAnswer, .noPath, .internalFailure, .shuttingDown,
      .superseded, .identityChanged, .answeredElsewhere, .declinedElsewhere:
      self
    }
  }

  fileprivate var ofCancellation: CallReason {
    switch self {
    case .none, .declined, .busy, .notAllowed, .noAnswer, .userHungUp, .userCancelled, .noPath,
      .superseded, .answeredElsewhere, .declinedElsewhere:
      .userCancelled
    case .internalFailure, .shuttingDown, .identityChanged: self
    }
  }
}
