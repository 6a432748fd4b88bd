package import Primitives
package import Wire

/// What the other side, the path and the rendezvous say about a call.
extension CallLedger {
  /// Takes an authentic signal; INVITE goes through `admitInvite`.
  package mutating func handle(
    _ signal: CallSignal, _ callID: CallID, from peer: PeerID, now: Instant
  ) {
    guard let known = self.peer(of: callID) else { return ignored.count(.unknownCall) }
    guard known == peer else { return ignored.count(.wrongPeer) }
    if open?.callID == callID {
      handleOpen(signal, now: now)
    } else if let index = ended.firstIndex(where: { $0.callID == callID }) {
      handleEnded(signal, index)
    }
    updateDeadline()
  }

  /// The rendezvous did not forward a signal of ours.
  package mutating func handleForwardFailure(
    _ failure: ForwardFailure, of type: SignalType, _ callID: CallID, now: Instant
  ) {
    guard type == .invite, open?.callID == callID else { return }
    if let action = open?.outgoing?.handleForwardFailure(failure) { apply(action, now: now) }
    updateDeadline()
  }

  /// An address of the peer has become valid.
  package mutating func handlePathReady(_ callID: CallID, now: Instant) {
    guard open?.callID == callID else { return }
    open?.hasPath = true
    open?.timeline.note(.pathReady, now: now)
    if let action = open?.ongoing?.handlePathReady() { apply(action, now: now) }
  }

  /// A packet of the peer opened under the session's keys. Cheap: called for every packet.
  package mutating func handlePeerHeard(_ callID: CallID, now: Instant) {
    guard open?.callID == callID, open?.ongoing?.handlePeerHeard(now: now) == true else { return }
    notify(.resumed(callID))
    updateDeadline()
  }

  package mutating func handleFirstFrameSent(_ callID: CallID, now: Instant) {
    guard open?.callID == callID, open?.ongoing != nil else { return }
    open?.timeline.note(.firstFrameSent, now: now)
  }

  /// The first frame of the peer; called for later ones it changes nothing.
  package mutating func handleFirstFrameReceived(_ callID: CallID, now: Instant) {
    guard open?.callID == callID, open?.ongoing != nil else { return }
    open?.timeline.note(.firstFrameReceived, now: now)
    open?.ongoing?.handleFirstFrame()
    settle(now: now)
    updateDeadline()
  }

  /// A body did not parse, or its MAC or seal was wrong.
  package mutating func countIgnored(_ reason: IgnoredSignal) { ignored.count(reason) }

  // MARK: Parts

  private mutating func handleOpen(_ signal: CallSignal, now: Instant) {
    guard let call = open else { return }
    if call.outgoing != nil {
      guard let action = open?.outgoing?.handle(signal) else {
        return ignored.count(.withoutEffect)
      }
      apply(action, now: now)
    } else if call.incoming != nil {
      guard let action = open?.incoming?.handle(signal, now: now) else {
        return ignored.count(.withoutEffect)
      }
      apply(action, now: now)
    } else {
      if let action = open?.ongoing?.handle(signal) {
        apply(action, now: now)
      } else if signal != .confirm, signal != .receipt(of: .accept) {
        ignored.count(.withoutEffect)
      }
      settle(now: now)
    }
    if open == nil, signal.endsCall, let type = signal.type {
      act(.send(.receipt(of: type), call.callID, to: call.peer, .rendezvous))
    }
  }

  private mutating func handleEnded(_ signal: CallSignal, _ index: Int) {
    let wasClosing = ended[index].isClosing
    guard let action = ended[index].handle(signal) else { return ignored.count(.withoutEffect) }
    apply(action, toEndedAt: index)
    // Its own last word also tells that it needs none of ours.
    if signal.endsCall, wasClosing, !ended[index].isClosing { act(.close(ended[index].callID)) }
  }

  mutating func apply(_ action: OutgoingInvitation.Action, now: Instant) {
    switch action {
    case .send(let signal): send(signal)
    case .notifyDelivered(let isPrepared):
      guard let callID = open?.callID else { return }
      open?.timeline.note(.delivered, now: now)
      notify(.delivered(callID))
      if isPrepared { seekPath() }
    case .connect: connect(.remoteAccepted, now: now)
    case .end(let ending): endOpen(ending, now: now)
    }
  }

  mutating func apply(_ action: IncomingInvitation.Action, now: Instant) {
    switch action {
    case .send(let signal): send(signal)
    case .connect: connect(.localAccepted, now: now)
    case .end(let ending): endOpen(ending, now: now)
    }
  }

  mutating func apply(_ action: OngoingCall.Action, now: Instant) {
    guard let callID = open?.callID else { return }
    switch action {
    case .send(let signal, let route): send(signal, route)
    case .notifyInterrupted: notify(.interrupted(callID))
    case .notifyRemoteMedia(let media): notify(.remoteMediaChanged(callID, media))
    case .end(let ending): endOpen(ending, now: now)
    }
  }

  /// Both have agreed.
  mutating func connect(_ cause: CallCause, now: Instant) {
    guard let call = open else { return }
    open?.outgoing = nil
    open?.incoming = nil
    open?.ongoing = OngoingCall(call.role, hasPath: call.hasPath, policy: policy, now: now)
    open?.timeline.note(.accepted, now: now)
    act(.openSession(call.callID))
    notify(.stateChanged(call.callID, .connecting, cause))
    switch call.role {
    case .callee: send(.accept, .both)
    case .caller:
      send(.receipt(of: .accept))
      send(.confirm, .path)
    }
    seekPath()
    if call.ownMedia != .audio { send(.mediaState(call.ownMedia), .path) }
    settle(now: now)
  }

  mutating func seekPath() {
    guard let call = open, !call.isPathSought else { return }
    open?.isPathSought = true
    act(.findPath(call.callID))
  }

  /// Draws the conclusions of what a call in progress has learned.
  private mutating func settle(now: Instant) {
    guard let call = open, let ongoing = call.ongoing else { return }
    if ongoing.canSendMedia, !call.hasStartedMedia {
      open?.hasStartedMedia = true
      act(.startMedia(call.callID))
    }
    guard open?.ongoing?.becomesConnected(now: now) == true else { return }
    open?.timeline.note(.connected, now: now)
    open?.connectedAt = now
    notify(.stateChanged(call.callID, .connected, .firstFrame))
  }
}
