import Primitives

/// Challenges of one address: a round repeats one at growing intervals until it is answered, or the
/// last repetition has waited in vain.
struct ChallengeRound: Sendable {
  private struct Challenge: Sendable, BitwiseCopyable {
    let token: UInt64
    let sentAt: Instant
  }

  /// Set while the first challenge is yet to open the way out, and no more than that: it passes our
  /// own translator and is dropped on its way. What reaches the peer's translator before the peer
  /// has sent to us may take the very port there that the peer's packets are to come from: Linux
  /// without a firewall tracks it as a conversation with the translator itself. The next challenge
  /// goes so long after.
  private(set) var opening: Duration?
  /// When the next challenge is due; `nil` = the round is over.
  private(set) var nextAt: Instant?
  /// Challenges of the present round; 0 = none yet.
  private(set) var attempts = 0
  /// When the first challenge of the present round was sent.
  private(set) var began: Instant?
  /// A challenge of the peer has hastened this round.
  private var wasTriggered = false
  private var outstanding: [Challenge] = []
  private var rounds = 1
  /// Challenges that were ever sent there.
  private(set) var checks = 0

  init(opening: Duration?, checkAt: Instant) {
    self.opening = opening
    nextAt = checkAt
  }

  /// Whether no further challenge will come by itself.
  var isOver: Bool { nextAt == nil }

  /// Whether the rounds that any address is worth are not over.
  var isEarly: Bool { rounds < Self.mostRounds }

  /// When the newest unanswered challenge was sent; `nil` = none is unanswered.
  var lastUnanswered: Instant? { outstanding.last?.sentAt }

  mutating func begin(at now: Instant) {
    attempts = 0
    rounds += 1
    began = nil
    wasTriggered = false
    nextAt = now
  }

  /// The next challenge need not wait. Once a round, so that two peers do not drive each other.
  mutating func trigger(at now: Instant) {
    guard !wasTriggered, let due = nextAt, due > now else { return }
    wasTriggered = true
    nextAt = now
  }

  /// - Returns: Whether the challenge that is due is the one that opens the way out.
  mutating func appendOpening(_ token: UInt64, now: Instant) -> Bool {
    guard let wait = opening else { return false }
    opening = nil
    outstanding.append(Challenge(token: token, sentAt: now))
    checks += 1
    nextAt = now + wait
    return true
  }

  /// - Parameter isHeard: The peer has been heard from there.
  mutating func appendChallenge(
    _ token: UInt64, _ policy: PathPolicy, isHeard: Bool = false, now: Instant
  ) {
    if outstanding.count >= PathLimits.outstanding { outstanding.removeFirst() }
    outstanding.append(Challenge(token: token, sentAt: now))
    if began == nil { began = now }
    let isHasty = isHeard && attempts < policy.heardRepetitions
    let steps = isHeard ? max(0, attempts - policy.heardRepetitions) : attempts
    let wait =
      isHasty ? policy.heardRepetition : policy.firstRepetition * (1 << min(steps, 20))
    attempts += 1
    checks += 1
    nextAt = wait <= policy.lastRepetition ? now + wait : nil
  }

  /// Ends the round if one of its challenges had that token.
  ///
  /// - Returns: When that was sent.
  mutating func handleAnswer(_ token: UInt64) -> Instant? {
    guard let index = outstanding.firstIndex(where: { $0.token == token }) else { return nil }
    let sentAt = outstanding[index].sentAt
    outstanding.removeAll()
    attempts = 0
    began = nil
    nextAt = nil
    return sentAt
  }

  /// Of an address that has never answered.
  private static let mostRounds = 3
}
