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
    /// Another program of the callee rings as well, and takes part in path checks.
    case findPath
    case connect
    case end(CallEnding)
  }

  private enum State { case inviting, ringing, finished }
  private enum Timer: CaseIterable { case ring }

  private var state = State.inviting
  private var delivery: Delivery
  private var deadlines = Deadlines<Timer>()
  private var programs = CalledPrograms()

  /// Begins inviting: the owner sends `.invite` at once.
  ///
  /// - Parameter ringTimeout: From now until the answer; `nil` = none.
  package init(ringTimeout: Duration?, now: Instant) {
    delivery = Delivery(now: now)
    if let ringTimeout { deadlines.set(.ring, at: now + ringTimeout) }
  }

  // MARK: Inputs

  /// - Parameter presence: The callee's program that says it.
  package mutating func handle(
    _ signal: CallSignal, from presence: PresenceID = .every
  ) -> Action? {
    switch (state, signal) {
    case (.inviting, .ringing(let isPrepared)):
      guard noteRinging(presence) else { return nil }
      state = .ringing
      return .notifyDelivered(isPrepared: isPrepared)
    case (.ringing, .ringing(let isPrepared)):
      return noteRinging(presence) && isPrepared ? .findPath : nil
    case (.inviting, .accept), (.ringing, .accept):
      finish()
      return .connect
    case (.inviting, .reject), (.ringing, .reject), (.inviting, .timeout), (.ringing, .timeout):
      guard let ending = CallEnding(receiving: signal, wasConnected: false) else { return nil }
      return signal.refusesForOneProgram ? refuse(presence, ending) : end(ending)
    case (.inviting, .unsupported):
      return refuse(presence, CallEnding(.failed, .unsupportedVersion))
    case (.ringing, .unsupported), (.finished, _), (_, .invite), (_, .cancel), (_, .hangUp),
      (_, .receipt), (_, .confirm), (_, .mediaState):
      return nil  // A late arrival, or a signal that only a callee acts on.
    }
  }

  private mutating func noteRinging(_ presence: PresenceID) -> Bool {
    guard programs.noteRinging(presence) else { return false }
    if programs.haveAllAnswered { delivery.succeed() }
    return true
  }

  /// One program cannot take the call; that of the last one ends it.
  private mutating func refuse(_ presence: PresenceID, _ ending: CallEnding) -> Action? {
    programs.noteRefusal(presence, ending)
    if programs.haveAllAnswered, !programs.ringing.isEmpty { delivery.succeed() }
    return programs.ending.map { end($0) }
  }

  /// The rendezvous has passed INVITE on to so many programs of the callee.
  package mutating func handleForwarded(to count: Int) -> Action? {
    guard state != .finished else { return nil }
    programs.noteForwarded(to: count)
    return programs.ending.map { end($0) }
  }

  /// The rendezvous says that it could not forward INVITE.
  package mutating func handleForwardFailure(_ failure: ForwardFailure) -> Action? {
    switch (state, failure) {
    case (.inviting, .notOnline):
      end(programs.verdict ?? CallEnding(.unreachable, .notOnline))
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
    case .fail: return state == .inviting ? endUndelivered() : nil
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

  /// The callee's programs that ring, if they have IDs.
  package var ringing: [PresenceID] { programs.ringing.filter { $0 != .every } }

  /// Whether RINGING has come from that program of the callee.
  package func rings(at presence: PresenceID) -> Bool {
    presence == .every ? state == .ringing : programs.ringing.contains(presence)
  }

  package var nextDeadline: Instant? { earliest(deadlines.next, delivery.nextDeadline) }

  // MARK: Private parts

  private mutating func endUndelivered() -> Action {
    var ending = programs.verdict ?? CallEnding(.unreachable, .undelivered)
    ending.lastWord = .cancel(.noPath)
    return end(ending)
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
