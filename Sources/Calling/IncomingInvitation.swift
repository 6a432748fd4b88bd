package import Primitives
package import Wire

/// The callee's side of a call that has not been answered yet (docs/protocol/calling.md §3).
///
///     ringing ──accept()──▶ (connect)
///        │
///        └── rejected, timed out here or there, cancelled ──▶ (end)
///
/// From `accept()` on, `OngoingCall` repeats ACCEPT until it is receipted; what is repeated to an
/// invitation that has ended, `EndedCall` answers.
package struct IncomingInvitation: Sendable {
  package enum Action: Hashable, Sendable {
    case send(CallSignal)
    case connect
    case end(CallEnding)
  }

  private enum State { case ringing, finished }
  private enum Timer: CaseIterable { case ring }

  private let isPrepared: Bool
  private var state = State.ringing
  private var deadlines = Deadlines<Timer>()
  /// When the caller was last heard to want this call.
  private var lastInvited: Instant
  /// How many more repetitions of INVITE are answered.
  private var answersLeft: Int

  /// Begins to ring: the owner sends `ringing` at once.
  ///
  /// - Parameters:
  ///   - ringTimeout: What the caller asked for, from the arrival; `nil` = none.
  ///   - isFamiliar: The caller is no stranger.
  package init(
    ringTimeout: Duration?, isFamiliar: Bool = true, policy: CallPolicy = .standard, now: Instant
  ) {
    isPrepared = policy.preparesOnRinging(isFamiliar: isFamiliar)
    lastInvited = now
    answersLeft = isFamiliar ? .max : CallLimits.answersToStranger
    let most = isFamiliar ? policy.maximumRing : policy.maximumRingOfStrangers
    deadlines.set(.ring, at: now + min(ringTimeout ?? most, most))
  }

  // MARK: Inputs

  package mutating func handle(_ signal: CallSignal, now: Instant) -> Action? {
    switch (state, signal) {
    case (.ringing, .invite):
      lastInvited = now
      guard answersLeft > 0 else { return nil }
      answersLeft -= 1
      return .send(ringing)
    case (.ringing, .cancel), (.ringing, .timeout):
      return CallEnding(receiving: signal, wasConnected: false).map { end($0) }
    case (.finished, _), (_, .ringing), (_, .accept), (_, .reject), (_, .hangUp), (_, .receipt),
      (_, .unsupported), (_, .confirm), (_, .mediaState):
      return nil  // A late arrival, or a signal that only a caller acts on.
    }
  }

  package mutating func handleTimeout(now: Instant) -> Action? {
    guard deadlines.popDue(at: now) != nil else { return nil }
    return end(CallEnding(.timeout, .localRingTimeout, lastWord: .timeout(.noAnswer)))
  }

  // MARK: Commands

  /// `nil` when it does not ring any more.
  package mutating func accept() -> Action? {
    if state == .finished { return nil }
    finish()
    return .connect
  }

  /// `nil` when it does not ring any more.
  package mutating func reject(_ reason: CallReason, _ text: ReasonText) -> Action? {
    if state == .finished { return nil }
    return end(
      CallEnding(
        CallOutcome(reject: reason), reason == .shuttingDown ? .shuttingDown : .localRejected,
        text: text, lastWord: .reject(reason, text)))
  }

  /// The caller has called again: this invitation is void.
  ///
  /// - Parameter isOther: By another of its programs. The one that made this invitation may have
  ///   been ended, or be alive: then it must be told.
  package mutating func giveWayToRecall(byOther isOther: Bool = false) -> Action? {
    if state == .finished { return nil }
    guard isOther else { return end(CallEnding(.cancelled, .recalled)) }
    let text = ReasonText(clipping: "another program of the caller called")
    return end(
      CallEnding(.rejected, .recalled, text: text, lastWord: .reject(.superseded, text)))
  }

  // MARK: Getters

  /// What answers INVITE.
  package var ringing: CallSignal { .ringing(isPrepared: isPrepared) }

  /// Whether a new invitation of the same caller may replace this one.
  package func canBeRecalled(after quiet: Duration, now: Instant) -> Bool {
    state == .ringing && now >= lastInvited + quiet
  }

  package var nextDeadline: Instant? { deadlines.next }

  // MARK: Private parts

  private mutating func end(_ ending: CallEnding) -> Action {
    finish()
    return .end(ending)
  }

  private mutating func finish() {
    state = .finished
    deadlines.cancelAll()
  }
}

/// An invitation, and what our clock says of it.
struct ArrivedInvitation: Sendable {
  let invitation: Invitation
  let arrival: Instant
  /// How old it was then by the rendezvous' clock, from 0.
  let age: Duration

  /// - Parameter rendezvousNow: What the rendezvous' clock shows, in ms.
  init(_ invitation: Invitation, rendezvousNow: UInt64, now: Instant) {
    self.invitation = invitation
    let age = max(rendezvousNow, invitation.createdMilliseconds) - invitation.createdMilliseconds
    self.age = .milliseconds(Int64(clamping: age))
    arrival = now
  }
}

/// Invitations of peers that we are in a call with, one of each, while it shows whether that call
/// goes on: another program of the peer may invite, or it was started anew
/// (docs/protocol/calling.md §3).
struct HeldInvitations: Sendable {
  private var entries: [(arrived: ArrivedInvitation, due: Instant)] = []

  var nextDeadline: Instant? { entries.reduce(nil) { earliest($0, $1.due) } }

  func peer(of callID: CallID) -> PeerID? {
    entries.first { $0.arrived.invitation.callID == callID }?.arrived.invitation.from
  }

  /// When an invitation is looked at again; `nil` = it can be answered.
  func due(of arrived: ArrivedInvitation, beside call: OpenCall?, now: Instant) -> Instant? {
    guard let ongoing = call?.ongoing, ongoing.isFollowed(by: arrived),
      !ongoing.isProven(since: arrived.arrival), now < ongoing.deadAt(arrived),
      !entries.contains(where: { $0.arrived.invitation.from == call?.peer })
    else { return nil }
    return min(ongoing.deadAt(arrived), now + Self.pace)
  }

  mutating func append(_ arrived: ArrivedInvitation, until due: Instant) {
    entries.append((arrived, due))
  }

  mutating func popDue(now: Instant) -> ArrivedInvitation? {
    guard let index = entries.firstIndex(where: { $0.due <= now }) else { return nil }
    return entries.remove(at: index).arrived
  }

  mutating func remove(_ callID: CallID) -> ArrivedInvitation? {
    guard let index = entries.firstIndex(where: { $0.arrived.invitation.callID == callID }) else {
      return nil
    }
    return entries.remove(at: index).arrived
  }

  /// From one look to the next: a call that goes on has proven itself by then.
  private static let pace = Duration.milliseconds(300)
}
