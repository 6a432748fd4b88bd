package import Primitives
package import Wire

/// A call that both sides want: from ACCEPT until somebody hangs up (docs/protocol/calling.md §3,
/// §5).
///
///     connecting ──confirmed, and the other side was heard──▶ connected
///         │                                                       │
///         └── no path, no media, hung up ──▶ (end) ◀── hung up, peer lost
///
/// The rendezvous is no part of it: once the path carries packets, only silence of the peer itself
/// ends a call.
package struct OngoingCall: Sendable {
  package enum Action: Hashable, Sendable {
    case send(CallSignal, SignalRoute)
    case notifyInterrupted
    case notifyConnectionLost
    /// The call waits for so long after the last proof.
    case notifyAway(Duration)
    case notifyRemoteMedia(MediaState)
    case end(CallEnding)
  }

  private enum State { case connecting, connected, finished }
  private enum Timer: CaseIterable { case connect, silence, acceptance }

  private let role: CallRole
  private let policy: CallPolicy
  private let begin: Instant
  private var state = State.connecting
  private var deadlines = Deadlines<Timer>()
  /// The callee's ACCEPT, until CONFIRM or RECEIPT; `nil` at the caller.
  private var acceptance: Delivery?
  private var hasPath: Bool
  /// How often ACCEPT has gone again on the path.
  private var acceptCount = 0
  /// The other side has shown that it has the session's keys.
  private var isShown = false
  /// The caller may send at once: it opens the commitment itself.
  private var isConfirmed: Bool
  private var hasHeardMedia = false
  private var liveness: Liveness
  /// From the last proof until the call ends.
  private var lostAfter: Duration
  /// Since when the other side has not been there, told as `notifyAway`.
  private var awaySince: Instant?

  /// Begins with ACCEPT, sent or received; a callee's owner sends it at once.
  package init(_ role: CallRole, hasPath: Bool, policy: CallPolicy = .standard, now: Instant) {
    self.role = role
    self.policy = policy
    begin = now
    self.hasPath = hasPath
    isConfirmed = role == .caller
    acceptance = role == .callee ? Delivery(now: now) : nil
    liveness = Liveness(now: now)
    lostAfter = policy.lostAfter
    deadlines.set(.connect, at: now + policy.connectTimeout)
    if hasPath { repeatAcceptance(now: now) }
  }

  // MARK: Inputs

  package mutating func handle(_ signal: CallSignal) -> Action? {
    switch (state, role, signal) {
    case (.finished, _, _): return nil
    case (_, _, .hangUp):
      return CallEnding(receiving: signal, wasConnected: isConnected).map { end($0) }
    case (.connecting, .callee, .cancel), (.connecting, .callee, .timeout):
      // It was withdrawn before our ACCEPT arrived.
      return CallEnding(receiving: signal, wasConnected: false).map { end($0) }
    case (_, .callee, .invite):
      return .send(.accept, .rendezvous)
    case (_, .callee, .confirm):
      acceptance?.succeed()
      isConfirmed = true
      return nil
    case (_, .callee, .receipt(of: .accept)):
      acceptance?.succeed()
      return nil
    case (_, .caller, .accept):
      return .send(.receipt(of: .accept), .rendezvous)
    case (_, _, .mediaState(let media)):
      // Whoever says that it sends no audio will not be waited for.
      if !media.contains(.audio) {
        hasHeardMedia = true
        liveness.expectNoAudio()
      }
      return .notifyRemoteMedia(media)
    case (_, _, .invite), (_, _, .ringing), (_, _, .accept), (_, _, .reject), (_, _, .cancel),
      (_, _, .timeout), (_, _, .receipt), (_, _, .unsupported), (_, _, .confirm):
      return nil  // A late arrival, or a signal that only the other role acts on.
    }
  }

  /// A candidate address has become valid.
  package mutating func handlePathReady(now: Instant) -> Action? {
    if !hasPath { repeatAcceptance(now: now) }
    hasPath = true
    guard state == .connecting, acceptance?.isPending == true else { return nil }
    return .send(.accept, .path)
  }

  /// A packet has opened under the session's keys: the other side has what they are made of, ours
  /// included, and may be answered by media.
  package mutating func handleKeysShown() {
    isShown = true
    acceptance?.succeed()
  }

  /// Both sides allow the other to be away for so long.
  package mutating func allowAbsence(_ absence: Duration) {
    lostAfter = max(policy.lostAfter, min(absence, CallPolicy.longestRejoin))
  }

  /// The first frame of the other side is there.
  package mutating func handleFirstFrame() { hasHeardMedia = true }

  /// The peer has shown that it is there. Costs a comparison and two stores.
  ///
  /// - Returns: Whether that ends an interruption.
  package mutating func handle(_ proof: LivenessProof, now: Instant) -> Bool {
    guard liveness.handle(proof, now: now), state == .connected else { return false }
    deadlines.set(.silence, at: liveness.lastProof + policy.interruptedAfter)
    return true
  }

  /// How long the other side was away, if it was and is heard again: says so once.
  package mutating func takeAbsence(now: Instant) -> Duration? {
    awaySince.take().map { now - $0 }
  }

  package mutating func handleTimeout(now: Instant) -> Action? {
    switch acceptance?.handleTimeout(now: now) {
    case .sendAgain: return .send(.accept, .both)
    case .fail:
      return end(CallEnding(.unreachable, .undelivered, lastWord: .hangUp(.noPath, .empty)))
    case nil: break
    }
    switch deadlines.popDue(at: now) {
    case .connect: return endUnconnected()
    case .silence: return handleSilence(now: now)
    case .acceptance: return sendAcceptanceAgain(now: now)
    case nil: return nil
    }
  }

  // MARK: Commands

  /// Ends the call from this side; before it was connected, a hang-up is a cancellation, and the
  /// other side is told so. `nil` when it has ended already.
  package mutating func hangUp(_ reason: CallReason, _ text: ReasonText) -> Action? {
    if state == .finished { return nil }
    let told: CallReason =
      switch reason {
      case .none, .userHungUp, .shuttingDown: isConnected ? reason : .userCancelled
      case .declined, .busy, .notAllowed, .noAnswer, .userCancelled, .noPath, .internalFailure,
        .superseded, .identityChanged, .answeredElsewhere, .declinedElsewhere:
        reason
      }
    return end(
      CallEnding(
        CallOutcome(hangUp: told, wasConnected: isConnected), CallCause(localHangUp: reason),
        text: text, lastWord: .hangUp(told, text)))
  }

  // MARK: Outputs

  /// Whether the call is connected as of now; says so once (§5).
  package mutating func becomesConnected(now: Instant) -> Bool {
    guard state == .connecting, isConfirmed, hasHeardMedia || !policy.waitsForFirstFrame else {
      return false
    }
    state = .connected
    deadlines.cancel(.connect)
    _ = liveness.handle(.answer, now: now)
    deadlines.set(.silence, at: liveness.lastProof + policy.interruptedAfter)
    return true
  }

  // MARK: Getters

  package var isConnected: Bool { state == .connected }

  /// The callee sends media after a packet under the session's keys only (§5).
  package var canSendMedia: Bool { (isConfirmed || isShown) && state != .finished }

  /// Whether the caller may not know yet that we accepted.
  package var isAcceptPending: Bool { acceptance?.isPending ?? false }

  /// Until when nothing may be heard for this call to be believed dead at a peer that calls again.
  func deadAt(_ again: ArrivedInvitation) -> Instant {
    let isSudden = isConnected && liveness.endedInSound && isFollowed(by: again)
    return liveness.lastProof + (isSudden ? policy.deadAfter : policy.interruptedAfter)
  }

  /// Whether an invitation was made when this call was there already.
  func isFollowed(by again: ArrivedInvitation) -> Bool {
    again.arrival - begin >= again.age + Self.clockTolerance
  }

  /// Whether the peer has shown since then that the call goes on.
  func isProven(since arrival: Instant) -> Bool { liveness.lastProof > arrival + Self.straggler }

  package var nextDeadline: Instant? {
    state == .finished ? nil : earliest(deadlines.next, acceptance?.nextDeadline)
  }

  // MARK: Private parts

  private mutating func repeatAcceptance(now: Instant) {
    guard isAcceptPending, acceptCount < Self.acceptRepeats else { return }
    let wait = Self.firstAcceptRepeat * (1 << acceptCount)
    deadlines.set(.acceptance, at: now + min(wait, Self.longestAcceptRepeat))
  }

  /// The first sound waits for ACCEPT, and the rendezvous repeats it after half a second only.
  private mutating func sendAcceptanceAgain(now: Instant) -> Action? {
    guard state == .connecting, isAcceptPending else { return nil }
    acceptCount += 1
    repeatAcceptance(now: now)
    return .send(.accept, .path)
  }

  private mutating func endUnconnected() -> Action {
    guard hasPath else {
      return end(CallEnding(.unreachable, .noPath, lastWord: .hangUp(.noPath, .empty)))
    }
    let text = ReasonText(clipping: "no media")
    return end(
      CallEnding(.failed, .noMedia, text: text, lastWord: .hangUp(.internalFailure, text)))
  }

  private mutating func handleSilence(now: Instant) -> Action? {
    let last = liveness.lastProof
    if now >= last + lostAfter {
      return end(CallEnding(.lost, .peerLost, lastWord: .hangUp(.noPath, .empty)))
    }
    guard now >= last + policy.interruptedAfter else {
      deadlines.set(.silence, at: last + policy.interruptedAfter)
      return nil
    }
    if liveness.interrupt() {
      deadlines.set(.silence, at: last + policy.connectionLostAfter)
      return .notifyInterrupted
    }
    if lostAfter > policy.lostAfter, now >= last + policy.lostAfter {
      deadlines.set(.silence, at: last + lostAfter)
      guard awaySince == nil else { return nil }
      awaySince = last
      return .notifyAway(lostAfter)
    }
    guard now >= last + policy.connectionLostAfter else {
      deadlines.set(.silence, at: last + policy.connectionLostAfter)
      return nil
    }
    deadlines.set(.silence, at: last + policy.lostAfter)
    return .notifyConnectionLost
  }

  private mutating func end(_ ending: CallEnding) -> Action {
    state = .finished
    deadlines.cancelAll()
    return .end(ending)
  }

  /// Of the rendezvous' clock as two programs know it.
  private static let clockTolerance = Duration.seconds(1)
  /// What a program sent before it died may come so much later than its next invitation.
  private static let straggler = Duration.milliseconds(200)
  /// On the path, after the first ACCEPT there; doubles.
  private static let firstAcceptRepeat = Duration.milliseconds(20)
  private static let longestAcceptRepeat = Duration.milliseconds(320)
  /// At 30 % of loss one ACCEPT in 50,000 is lost so often.
  private static let acceptRepeats = 8
}

extension CallCause {
  fileprivate init(localHangUp reason: CallReason) {
    switch reason {
    case .identityChanged: self = .identityChanged
    case .internalFailure: self = .internalFailure
    case .shuttingDown: self = .shuttingDown
    case .noPath: self = .noPath
    case .none, .declined, .busy, .notAllowed, .noAnswer, .userHungUp, .userCancelled, .superseded,
      .answeredElsewhere, .declinedElsewhere:
      self = .localHangUp
    }
  }
}
