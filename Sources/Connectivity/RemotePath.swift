import Primitives
package import Wire

/// Where an address of the peer is known from (RFC 8445 §5.1.1).
package enum PathOrigin: Hashable, Sendable, BitwiseCopyable {
  case host, serverReflexive, relayed
  /// A packet came from there.
  case peerReflexive

  package init(_ kind: Candidate.Kind) {
    switch kind {
    case .host: self = .host
    case .serverReflexive: self = .serverReflexive
    case .relayed: self = .relayed
    }
  }
}

/// What people want to know of a path.
package enum PathKind: String, Hashable, Sendable {
  case direct, holePunched, relayed

  package init(_ origin: PathOrigin) {
    switch origin {
    case .host: self = .direct
    case .serverReflexive, .peerReflexive: self = .holePunched
    case .relayed: self = .relayed
    }
  }
}

/// One address of the peer, by one of our own, and what the checks have shown about it.
///
///     waiting ──challenge──▶ in a round (repeated 100, 200 … 1600 ms later) ──answer──▶ valid
///                               └── all unanswered: the round is over
struct RemotePath: Sendable {
  struct Challenge: Sendable {
    let token: UInt64
    let sentAt: Instant
  }

  let path: DatagramPath
  private(set) var origin: PathOrigin
  /// It leaves from another interface than the routes choose, because their choice was silent.
  let isAlternate: Bool
  /// Our challenge to it was answered from there.
  var isValid = false
  /// The same, whether or not it still is.
  private(set) var wasProven = false
  /// How the peer last saw us on this path.
  var seenAs: SocketAddress?
  /// When the peer last said that it is there now.
  var renewedAt: Instant?
  /// Rounds of challenges.
  private var rounds = 1
  /// A challenge of the peer has come from there.
  var hasChallenged = false
  /// Smoothed with 1/8 (RFC 6298 §2), in ns; meaningful when valid.
  var roundTrip: Int64 = 0
  /// Of the last answer alone, in ns.
  private(set) var latestRoundTrip: Int64 = 0
  /// Answers since it became valid, as far as anybody asks: at most 2.
  private(set) var answers = 0
  /// Challenges that were ever sent there.
  private(set) var checks = 0
  /// Set while the first challenge is yet to open the way out, and no more than that: it passes our
  /// own translator and is dropped on its way. What reaches the peer's translator before the peer
  /// has sent to us may take the very port there that the peer's packets are to come from: Linux
  /// without a firewall tracks it as a conversation with the translator itself. The next challenge
  /// goes so long after.
  var opening: Duration?
  /// Challenges of the present round; 0 = none yet.
  var attempts = 0
  /// When the next challenge is due; `nil` = the round is over.
  var nextCheckAt: Instant?
  /// In the present round.
  private var wasTriggered = false
  var answeredAt: Instant?
  /// When the first challenge of the present round was sent.
  var roundBegan: Instant?
  var outstanding: [Challenge] = []
  /// While it is not valid: what came from there and what was answered there, in bytes.
  var receivedByteCount = 0
  var answeredByteCount = 0

  /// Whether packets go by a server of the peer's, or of ours.
  var isRelayed: Bool { origin == .relayed || path.local.isRelay }

  /// The lower, the rather it is used.
  var rank: (Int, Int, Int64) { (isRelayed ? 1 : 0, isAlternate ? 1 : 0, roundTrip) }

  var kind: PathKind { isRelayed ? .relayed : PathKind(origin) }

  init(
    _ path: DatagramPath, _ origin: PathOrigin, isAlternate: Bool = false, checkAt: Instant
  ) {
    self.path = path
    self.origin = origin
    self.isAlternate = isAlternate
    nextCheckAt = checkAt
  }

  /// The peer says that the address is a server's.
  mutating func becomeRelayed() { origin = .relayed }

  /// What may still go there while it is not valid, in bytes (RFC 9000 §8.1).
  var allowedByteCount: Int {
    PathLimits.amplification * receivedByteCount - answeredByteCount
  }

  /// Whether a new round may find anything. Where the peer only seems to have sent from, no more
  /// goes than is due for what came from there.
  var isWorthAsking: Bool {
    if wasProven || rounds < Self.mostRounds { return true }
    let isDue = PathLimits.checkByteCount * checks <= PathLimits.amplification * receivedByteCount
    return origin == .peerReflexive && isDue
  }

  /// Whether no further challenge will come by itself.
  var isRoundOver: Bool { nextCheckAt == nil }

  mutating func beginRound(at now: Instant) {
    attempts = 0
    rounds += 1
    roundBegan = nil
    wasTriggered = false
    nextCheckAt = now
  }

  /// The peer has challenged us from there: the next challenge need not wait. Once a round, so that
  /// two peers do not drive each other.
  mutating func trigger(at now: Instant) {
    guard !isValid, !wasTriggered, let due = nextCheckAt, due > now else { return }
    wasTriggered = true
    nextCheckAt = now
  }

  /// - Returns: Whether the challenge that is due is the one that opens the way out.
  mutating func noteOpening(_ token: UInt64, now: Instant) -> Bool {
    guard let wait = opening else { return false }
    opening = nil
    outstanding.append(Challenge(token: token, sentAt: now))
    checks += 1
    nextCheckAt = now + wait
    return true
  }

  mutating func noteChallenge(_ token: UInt64, _ policy: PathPolicy, now: Instant) {
    if outstanding.count >= PathLimits.outstanding { outstanding.removeFirst() }
    outstanding.append(Challenge(token: token, sentAt: now))
    if roundBegan == nil { roundBegan = now }
    let wait = policy.firstRepetition * (1 << min(attempts, 20))
    attempts += 1
    checks += 1
    nextCheckAt = wait <= policy.lastRepetition ? now + wait : nil
  }

  /// Takes the answer to a challenge that was sent there; `false` if none was with that token.
  mutating func takeAnswer(_ token: UInt64, now: Instant) -> Bool {
    guard let index = outstanding.firstIndex(where: { $0.token == token }) else { return false }
    let sample = Int64(clamping: now.nanoseconds(since: outstanding[index].sentAt))
    roundTrip = isValid ? roundTrip + (sample - roundTrip) / 8 : sample
    latestRoundTrip = sample
    answers = isValid ? 2 : 1
    isValid = true
    wasProven = true
    outstanding.removeAll()
    attempts = 0
    roundBegan = nil
    nextCheckAt = nil
    answeredAt = now
    return true
  }

  /// When a challenge of this round will have waited for longer than an answer takes.
  var overdueAt: Instant? {
    roundBegan.map { $0 + .nanoseconds(2 * roundTrip) + .milliseconds(50) }
  }

  func isOverdue(now: Instant) -> Bool { overdueAt.map { $0 <= now } ?? false }

  /// Of an address that has never answered.
  private static let mostRounds = 3
}
