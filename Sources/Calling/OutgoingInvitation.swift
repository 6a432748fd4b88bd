package import Primitives
package import Wire

/// The caller's side of a call that has not been answered yet (docs/protocol/calling.md §3).
///
///     inviting ──RINGING──▶ ringing ──ACCEPT──▶ (connect)
///        │                     │
///        └── rejected, cancelled, timed out, unreachable ──▶ (end)
///
/// Pure: every transition takes the time it happens at and returns what its owner must do. An end
/// names the last word that the callee is still to hear; `EndedCall` delivers it.
package struct OutgoingInvitation: Sendable {
  package enum Action: Hashable, Sendable {
    case send(CallSignal)
    /// The callee's device opened the invitation; it takes part in path checks if prepared.
    case notifyDelivered(isPrepared: Bool)
    case connect
    case end(CallEnding)
  }

  private enum State { case inviting, ringing, finished }
  private enum Timer: CaseIterable { case ring }

  private var state = State.inviting
  private var delivery: Delivery
  private var deadlines = Deadlines<Timer>()

  /// Begins inviting: the owner sends `.invite` at once.
  ///
  /// - Parameter ringTimeout: From now until the answer; `nil` = none.
  package init(ringTimeout: Duration?, now: Instant) {
    delivery = Delivery(now: now)
    if let ringTimeout { deadlines.set(.ring, at: now + ringTimeout) }
  }

  // MARK: Inputs

  package mutating func handle(_ signal: CallSignal) -> Action? {
    switch (state, signal) {
    case (.inviting, .ringing(let isPrepared)):
      state = .ringing
      delivery.succeed()
      return .notifyDelivered(isPrepared: isPrepared)
    case (.inviting, .accept), (.ringing, .accept):
      finish()
      return .connect
    case (.inviting, .reject), (.ringing, .reject), (.inviting, .timeout), (.ringing, .timeout):
      return CallEnding(receiving: signal, wasConnected: false).map { end($0) }
    case (.inviting, .unsupported):
      return end(CallEnding(.failed, .unsupportedVersion))
    case (.ringing, .ringing), (.ringing, .unsupported), (.finished, _), (_, .invite), (_, .cancel),
      (_, .hangUp), (_, .receipt), (_, .confirm), (_, .mediaState):
      return nil  // A duplicate, a late arrival, or a signal that only a callee acts on.
    }
  }

  /// The rendezvous says that it could not forward INVITE.
  package mutating func handleForwardFailure(_ failure: ForwardFailure) -> Action? {
    switch (state, failure) {
    case (.inviting, .notOnline): end(CallEnding(.unreachable, .notOnline))
    case (.inviting, .notAllowed): end(CallEnding(.rejected, .notAllowed))
    case (.inviting, .bodyTooLong): end(CallEnding(.failed, .internalFailure))
    case (.inviting, .tooMany), (.ringing, _), (.finished, _): nil  // The next repetition may pass.
    }
  }

  package mutating func handleTimeout(now: Instant) -> Action? {
    if deadlines.popDue(at: now) != nil {
      // No telephone rang as far as we know: that is not "no answer".
      if state == .inviting { return endUndelivered() }
      return end(CallEnding(.timeout, .localRingTimeout, lastWord: .timeout(.noAnswer)))
    }
    switch delivery.handleTimeout(now: now) {
    case .sendAgain: return .send(.invite)
    case .fail: return endUndelivered()
    case nil: return nil
    }
  }

  // MARK: Commands

  /// `nil` when it has been answered or has ended already.
  package mutating func cancel(_ reason: CallReason) -> Action? {
    if state == .finished { return nil }
    let word = CallSignal.cancel(reason)
    guard var ending = CallEnding(receiving: word, wasConnected: false) else { return nil }
    if ending.cause == .remoteCancelled {
      ending.cause = reason == .shuttingDown ? .shuttingDown : .localCancelled
    }
    ending.lastWord = word
    return end(ending)
  }

  /// The peer's own invitation stands instead (§3, glare).
  package mutating func supersede() { finish() }

  // MARK: Getters

  /// Whether RINGING has come.
  package var isDelivered: Bool { state == .ringing }

  package var nextDeadline: Instant? { earliest(deadlines.next, delivery.nextDeadline) }

  // MARK: Private parts

  private mutating func endUndelivered() -> Action {
    end(CallEnding(.unreachable, .undelivered, lastWord: .cancel(.noPath)))
  }

  private mutating func end(_ ending: CallEnding) -> Action {
    finish()
    return .end(ending)
  }

  private mutating func finish() {
    state = .finished
    delivery.succeed()
    deadlines.cancelAll()
  }
}
