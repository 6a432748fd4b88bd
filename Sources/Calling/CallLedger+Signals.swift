package import Primitives
package import Wire

/// What the other side, the path and the rendezvous say about a call.
extension CallLedger {
  /// Takes an authentic signal; INVITE goes through `admitInvite`.
  ///
  /// - Parameter presence: At the caller, which of the callee's programs; `every` = the call's own.
  package mutating func handle(
    _ signal: CallSignal, _ callID: CallID, from peer: PeerID, presence: PresenceID = .every,
    now: Instant
  ) {
    guard let known = self.peer(of: callID) else { return ignored.count(.unknownCall) }
    guard known == peer else { return ignored.count(.wrongPeer) }
    if let decision = decision(of: callID), presence != .every, presence != decision.presence {
      let isEffective = elsewhere.handle(
        signal, callID, from: peer, presence, decision.reason, now: now, &actions)
      if !isEffective { ignored.count(.withoutEffect) }
    } else if open[callID] != nil {
      handleOpen(signal, callID, from: presence, now: now)
    } else {
      if signal.endsCall, let arrived = held.remove(callID) {
        refuse(arrived.invitation, .busy, now: now)
      }
      handleEnded(signal, callID, peer, from: presence, now: now)
    }
    updateDeadline()
  }

  /// The rendezvous has passed a signal of ours on to so many programs.
  package mutating func handleForwarded(
    _ type: SignalType, to count: Int, _ callID: CallID, now: Instant
  ) {
    guard type == .invite else { return }
    if let action = open[callID]?.outgoing?.handleForwarded(to: count) {
      apply(action, to: callID, now: now)
    }
    updateDeadline()
  }

  /// The rendezvous did not forward a signal of ours.
  package mutating func handleForwardFailure(
    _ failure: ForwardFailure, of type: SignalType, _ callID: CallID, now: Instant
  ) {
    guard type == .invite else { return }
    if let action = open[callID]?.outgoing?.handleForwardFailure(failure) {
      apply(action, to: callID, now: now)
    }
    updateDeadline()
  }

  /// An address of the peer has become valid.
  package mutating func handlePathReady(_ callID: CallID, now: Instant) {
    guard open[callID] != nil else { return }
    if let action = open[callID]?.handlePathReady(now: now) {
      apply(action, to: callID, now: now)
    }
    updateDeadline()
  }

  /// A packet of the peer has opened under the session's keys; called again it changes nothing.
  package mutating func handleKeysShown(_ callID: CallID, now: Instant) {
    guard open[callID]?.ongoing != nil else { return }
    open[callID]?.ongoing?.handleKeysShown()
    settle(callID, now: now)
    updateDeadline()
  }

  /// The path was to another program of the callee than the one that accepted.
  package mutating func handlePathLost(_ callID: CallID) { open[callID]?.hasPath = false }

  /// The peer has shown that it is there. Cheap: called for nearly every packet.
  package mutating func handle(_ proof: LivenessProof, _ callID: CallID, now: Instant) {
    guard let index = open.index(of: callID),
      open.calls[index].ongoing?.handle(proof, now: now) == true
    else { return }
    notify(.resumed(callID))
    if let absence = open[callID]?.ongoing?.takeAbsence(now: now) {
      notify(.rejoined(callID, after: absence))
    }
    updateDeadline()
  }

  /// Both sides allow the other to be away for so long: the call waits.
  package mutating func allowAbsence(_ callID: CallID, _ absence: Duration) {
    open[callID]?.absence = absence
    open[callID]?.ongoing?.allowAbsence(absence)
  }

  /// The peer still looks for a call that is over here: it has not heard the last word.
  package mutating func handleSearch(_ callID: CallID, from peer: PeerID, now: Instant) {
    let isAnswered = ended.handleSearch(callID, from: peer, &actions)
    if !isAnswered { ignored.count(.withoutEffect) }
  }

  package mutating func handleFirstFrameSent(_ callID: CallID, now: Instant) {
    guard open[callID]?.ongoing != nil else { return }
    open[callID]?.timeline.append(.firstFrameSent, now: now)
  }

  /// The first frame of the peer; called for later ones it changes nothing.
  package mutating func handleFirstFrameReceived(_ callID: CallID, now: Instant) {
    guard open[callID]?.ongoing != nil else { return }
    open[callID]?.handleFirstFrame(now: now)
    settle(callID, now: now)
    updateDeadline()
  }

  /// A body did not parse, or its MAC or seal was wrong.
  package mutating func countIgnored(_ reason: IgnoredSignal) { ignored.count(reason) }

  // MARK: Parts

  private mutating func handleOpen(
    _ signal: CallSignal, _ callID: CallID, from presence: PresenceID, now: Instant
  ) {
    guard let call = open[callID] else { return }
    if call.outgoing != nil {
      handleInviting(signal, call, from: presence, now: now)
    } else if call.incoming != nil {
      guard let action = open[callID]?.incoming?.handle(signal, now: now) else {
        return ignored.count(.withoutEffect)
      }
      apply(action, to: callID, now: now)
    } else {
      if let action = open[callID]?.ongoing?.handle(signal) {
        apply(action, to: callID, now: now)
      } else if signal != .confirm, signal != .receipt(of: .accept) {
        ignored.count(.withoutEffect)
      }
      settle(callID, now: now)
    }
    if open[callID] == nil, signal.endsCall, let type = signal.type {
      actions.reply(.receipt(of: type), call.callID, call.peer, to: presence)
    }
  }

  /// What one of the callee's programs says to an invitation of ours.
  private mutating func handleInviting(
    _ signal: CallSignal, _ call: OpenCall, from presence: PresenceID, now: Instant
  ) {
    let action = open[call.callID]?.outgoing?.handle(signal, from: presence)
    let ringing = call.outgoing?.ringing.filter { $0 != presence } ?? []
    guard let action else {
      // A program that cannot take the call: perhaps another one can.
      guard signal.endsCall, let type = signal.type else { return ignored.count(.withoutEffect) }
      return actions.reply(.receipt(of: type), call.callID, call.peer, to: presence)
    }
    let isDeclined = signal.endsCall && !signal.refusesForOneProgram
    if presence != .every, signal == .accept || isDeclined {
      let reason: CallReason = isDeclined ? .declinedElsewhere : .answeredElsewhere
      open[call.callID]?.decision = CallDecision(presence: presence, reason: reason)
      for other in ringing {
        elsewhere.sendCancel(call.callID, to: call.peer, other, reason, now: now, &actions)
      }
    }
    apply(action, to: call.callID, now: now)
  }

  private mutating func handleEnded(
    _ signal: CallSignal, _ callID: CallID, _ peer: PeerID, from presence: PresenceID,
    now: Instant
  ) {
    // A repeated INVITE has reached a program that was not there when the others were busy.
    if case .ringing = signal, presence != .every, ended[callID]?.endedInSilence == true {
      return elsewhere.sendCancel(
        callID, to: peer, presence, .userCancelled, now: now, &actions)
    }
    if signal.endsCall || signal == .receipt(of: .cancel) { elsewhere.settle(callID, presence) }
    let isEffective = ended.handle(signal, callID, from: presence, &actions)
    if !isEffective { ignored.count(.withoutEffect) }
  }

  mutating func apply(
    _ action: OutgoingInvitation.Action, to callID: CallID, now: Instant
  ) {
    switch action {
    case .send(let signal): send(signal, about: callID)
    case .notifyDelivered(let isPrepared):
      open[callID]?.timeline.append(.delivered, now: now)
      notify(.delivered(callID))
      if isPrepared { seekPath(callID) }
    case .findPath: seekPath(callID)
    case .connect: connect(callID, .remoteAccepted, now: now)
    case .end(let ending): endOpen(callID, ending, now: now)
    }
  }

  mutating func apply(
    _ action: IncomingInvitation.Action, to callID: CallID, now: Instant
  ) {
    switch action {
    case .send(let signal): send(signal, about: callID)
    case .connect: connect(callID, .localAccepted, now: now)
    case .end(let ending): endOpen(callID, ending, now: now)
    }
  }

  mutating func apply(_ action: OngoingCall.Action, to callID: CallID, now: Instant) {
    switch action {
    case .send(let signal, let route): send(signal, route, about: callID)
    case .notifyInterrupted: notify(.interrupted(callID))
    case .notifyConnectionLost: notify(.connectionLost(callID))
    case .notifyAway(let absence): notify(.away(callID, until: absence))
    case .notifyRemoteMedia(let media): notify(.remoteMediaChanged(callID, media))
    case .end(let ending): endOpen(callID, ending, now: now)
    }
  }

  /// Both have agreed.
  mutating func connect(_ callID: CallID, _ cause: CallCause, now: Instant) {
    guard let call = open[callID] else { return }
    open[callID]?.begin(policy, now: now)
    act(.openSession(callID))
    notify(.stateChanged(callID, .connecting, cause))
    switch call.role {
    case .callee: send(.accept, .both, about: callID)
    case .caller:
      send(.receipt(of: .accept), about: callID)
      send(.confirm, .path, about: callID)
    }
    seekPath(callID)
    if call.ownMedia != .audio { send(.mediaState(call.ownMedia), .path, about: callID) }
    settle(callID, now: now)
  }

  mutating func seekPath(_ callID: CallID) {
    guard let call = open[callID], !call.isPathSought else { return }
    open[callID]?.isPathSought = true
    act(.findPath(callID))
  }

  /// Draws the conclusions of what a call in progress has learned.
  private mutating func settle(_ callID: CallID, now: Instant) {
    guard let call = open[callID], let ongoing = call.ongoing else { return }
    if ongoing.canSendMedia, !call.hasStartedMedia {
      open[callID]?.hasStartedMedia = true
      act(.startMedia(callID))
    }
    guard open[callID]?.becomesConnected(now: now) == true else { return }
    notify(.stateChanged(callID, .connected, .firstFrame))
  }
}
