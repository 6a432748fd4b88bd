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
  let path: DatagramPath
  private(set) var origin: PathOrigin
  /// It leaves from another interface than the routes choose, because their choice was silent.
  let isAlternate: Bool
  var round: ChallengeRound
  var proof = PathProof()
  /// While it is not valid.
  var unproven = UnprovenBytes()
  /// When the peer last said that it is there now.
  var renewedAt: Instant?
  /// A challenge of the peer has come from there.
  var hasChallenged = false

  init(
    _ path: DatagramPath, _ origin: PathOrigin, isAlternate: Bool = false,
    opening: Duration? = nil, checkAt: Instant
  ) {
    self.path = path
    self.origin = origin
    self.isAlternate = isAlternate
    round = ChallengeRound(opening: opening, checkAt: checkAt)
  }

  var isValid: Bool { proof.isValid }

  /// Whether packets go by a server of the peer's, or of ours.
  var isRelayed: Bool { origin == .relayed || path.local.isRelay }

  /// Whether packets leave by the system's choice of address.
  var isRouted: Bool { path.local.isUnspecified }

  /// The lower, the rather it is used.
  var rank: (Int, Int, Int64) { (isRelayed ? 1 : 0, isAlternate ? 1 : 0, proof.roundTrip) }

  var kind: PathKind { isRelayed ? .relayed : PathKind(origin) }

  /// The peer says that the address is a server's.
  mutating func becomeRelayed() { origin = .relayed }

  /// Whether a new round may find anything. Where the peer only seems to have sent from, no more
  /// goes than is due for what came from there.
  var isWorthAsking: Bool {
    if proof.wasProven || round.isEarly { return true }
    let isDue =
      PathLimits.checkByteCount * round.checks <= PathLimits.amplification * unproven.received
    return origin == .peerReflexive && isDue
  }

  mutating func beginRoundIfOver(at now: Instant) {
    if round.isOver { round.begin(at: now) }
  }

  /// The peer has challenged us from there: the next challenge need not wait.
  mutating func trigger(at now: Instant) {
    if !isValid { round.trigger(at: now) }
  }

  /// Takes the answer to a challenge that was sent there; `false` if none was with that token.
  mutating func handleAnswer(_ token: UInt64, now: Instant) -> Bool {
    guard let sentAt = round.handleAnswer(token) else { return false }
    proof.append(roundTrip: Int64(clamping: now.nanoseconds(since: sentAt)), now: now)
    return true
  }

  /// When a challenge of this round will have waited for longer than an answer takes.
  var overdueAt: Instant? {
    round.began.map { $0 + .nanoseconds(2 * proof.roundTrip) + .milliseconds(50) }
  }

  func isOverdue(now: Instant) -> Bool { overdueAt.map { $0 <= now } ?? false }
}

/// What the answers of one address have shown.
struct PathProof: Sendable, BitwiseCopyable {
  /// Our challenge to it was answered from there.
  private(set) var isValid = false
  /// The same, whether or not it still is.
  private(set) var wasProven = false
  /// Smoothed with 1/8 (RFC 6298 §2), in ns; meaningful when valid.
  private(set) var roundTrip: Int64 = 0
  /// Of the last answer alone, in ns.
  private(set) var latestRoundTrip: Int64 = 0
  /// Answers since it became valid, as far as anybody asks: at most 2.
  private(set) var answers = 0
  private(set) var answeredAt: Instant?
  /// How the peer last saw us on this path.
  var seenAs: SocketAddress?

  mutating func append(roundTrip sample: Int64, now: Instant) {
    roundTrip = isValid ? roundTrip + (sample - roundTrip) / 8 : sample
    latestRoundTrip = sample
    answers = isValid ? 2 : 1
    isValid = true
    wasProven = true
    answeredAt = now
  }

  mutating func expire() { isValid = false }
}

/// Bytes that came from an address that is not valid, and that went there.
struct UnprovenBytes: Sendable, BitwiseCopyable {
  private(set) var received = 0
  private(set) var answered = 0

  mutating func countReceived(_ byteCount: Int) { received += byteCount }

  mutating func countAnswered(_ byteCount: Int) { answered += byteCount }

  /// What may still go there (RFC 9000 §8.1).
  var allowed: Int { PathLimits.amplification * received - answered }
}
