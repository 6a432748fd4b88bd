package import Primitives
package import Wire

/// All calls of one identity, and the rules between them (docs/protocol/calling.md §3): how many at
/// a time, busy, glare, recall, age, IDs seen before, last words, receipts.
///
/// As many calls are open as the policy allows, one unless it says otherwise, each with another
/// peer, or in the mesh of another channel; ended ones are kept until their keys are of no more
/// use. Call an input or a command, then `pollAction` until it gives `nil`; wake at `nextDeadline`.
///
/// The owner hands in only signals whose call ID, sender, direction and MAC or seal are right, with
/// `from` as the rendezvous or the path proves it.
package struct CallLedger: Sendable {
  package let ownID: PeerID
  package var policy: CallPolicy
  var open = OpenCalls()
  var ended = EndedCalls()
  var elsewhere = ElsewhereNotices()
  var held = HeldInvitations()
  var filter: InviteFilter
  /// Who is no stranger.
  package var familiars = Familiars()
  var actions = ActionQueue()
  package internal(set) var ignored = IgnoredSignals()
  /// Never later than the truth: an input that moves a deadline away leaves it.
  package internal(set) var nextDeadline: Instant?

  package init(ownID: PeerID, policy: CallPolicy = .standard, now: Instant) {
    self.ownID = ownID
    self.policy = policy
    filter = InviteFilter(now: now)
  }

  // MARK: Outputs

  package mutating func pollAction() -> CallAction? { actions.pop() }

  // MARK: Getters

  /// `idle` when it is over, or never was.
  package func state(of callID: CallID) -> CallState { open[callID]?.state ?? .idle }

  package func isOpen(_ callID: CallID) -> Bool { open.index(of: callID) != nil }

  package var hasOpenCalls: Bool { !open.isEmpty }

  /// In the order of their bytes.
  package var openCallIDs: [CallID] { open.ids }

  /// How many more calls there may be.
  package var room: Int { max(0, policy.callLimit - open.count) }

  /// The call that is open with `peer`: one at most in each channel's mesh, and one outside of all.
  package func openCall(with peer: PeerID, in channel: Bytes32? = nil) -> CallID? {
    open.call(with: peer, in: channel)?.callID
  }

  package func peer(of callID: CallID) -> PeerID? {
    open[callID]?.peer ?? ended[callID]?.peer ?? held.peer(of: callID)
  }

  /// Whether the last word of an ended call is still being delivered.
  package var isDelivering: Bool { !elsewhere.isEmpty || ended.isDelivering }

  package func canSendMedia(_ callID: CallID) -> Bool {
    open[callID]?.ongoing?.canSendMedia == true
  }

  // MARK: Time

  /// Does whatever is due. Harmless when nothing is.
  package mutating func handleTimeout(now: Instant) {
    for callID in openCallIDs { handleTimeout(callID, now: now) }
    while let invitation = held.popDue(now: now) { admit(invitation, now: now) }
    ended.handleTimeout(now: now, &actions)
    elsewhere.handleTimeout(now: now, &actions)
    updateDeadline()
  }

  private mutating func handleTimeout(_ callID: CallID, now: Instant) {
    while let action = open[callID]?.outgoing?.handleTimeout(now: now) {
      apply(action, to: callID, now: now)
    }
    while let action = open[callID]?.incoming?.handleTimeout(now: now) {
      apply(action, to: callID, now: now)
    }
    while let action = open[callID]?.ongoing?.handleTimeout(now: now) {
      apply(action, to: callID, now: now)
    }
  }

  // MARK: Parts

  mutating func updateDeadline() {
    var deadline: Instant?
    for call in open.calls { deadline = earliest(deadline, call.nextDeadline) }
    deadline = earliest(deadline, held.nextDeadline)
    nextDeadline = earliest(
      deadline, earliest(ended.nextDeadline, elsewhere.nextDeadline))
  }

  mutating func act(_ action: CallAction) { actions.push(action) }

  mutating func notify(_ event: CallEvent) { actions.push(.notify(event)) }

  /// To the peer of an open call.
  mutating func send(
    _ signal: CallSignal, _ route: SignalRoute = .rendezvous, about callID: CallID
  ) {
    guard let call = open[callID] else { return }
    actions.push(.send(signal, callID, to: call.peer, route))
  }

  /// Ends an open call: the user is told once, the peer until it knows.
  mutating func endOpen(_ callID: CallID, _ ending: CallEnding, now: Instant) {
    guard let call = open.remove(callID) else { return }
    if call.hasStartedMedia { act(.stopMedia(call.callID)) }
    let isFamiliar = familiars.contains(call.peer)
    let over = EndedCall(call, ending.lastWord, isFamiliar: isFamiliar, policy: policy, now: now)
    ended.append(over, &actions)
    if let lastWord = ending.lastWord {
      if over.repeatsAccept { act(.send(.accept, call.callID, to: call.peer, .both)) }
      act(.send(lastWord, call.callID, to: call.peer, .both))
    } else {
      act(.close(call.callID))
    }
    notify(.ended(call.summary(ending, now: now)))
  }
}
