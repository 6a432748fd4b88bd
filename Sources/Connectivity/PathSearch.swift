package import Primitives

/// When to tell the peer by the rendezvous where we are (docs/protocol/calling.md §4, "Moving").
///
/// Begins when the peer falls silent, or the own addresses change; ends when a challenge of ours is
/// answered, and also when the peer is heard again, if only silence began it.
package struct PathSearch: Sendable {
  package enum Cause: Sendable { case silence, ownAddresses }

  private var cause: Cause?
  private var nextAt: Instant?
  private var sentCount = 0
  private var lastSent: Instant?
  package private(set) var began: Instant?

  package init() {}

  package var isActive: Bool { cause != nil }

  /// With new own addresses something is to be said at once; after mere silence only if the path
  /// has not answered by then, or when the own address turns out to be another one.
  package mutating func begin(_ cause: Cause, now: Instant) {
    if self.cause == .ownAddresses, cause == .silence { return }
    if self.cause == nil || cause == .ownAddresses {
      began = now
      sentCount = 0
      nextAt = cause == .ownAddresses ? now : now + Self.patience
    }
    self.cause = cause
  }

  /// The rendezvous has shown the own address, and it is not the one that the peer was told of.
  package mutating func noteNewAddress(now: Instant) {
    if isActive { nextAt = now }
  }

  /// The peer says where it is, so it can be told: in a long search that does not wait its turn.
  package mutating func noteWord(now: Instant) {
    guard sentCount >= Self.usualCount, let next = nextAt, let lastSent else { return }
    nextAt = min(next, max(now, lastSent + Self.wordGap))
  }

  /// Whether it has gone on for longer than a stream needs to show that it carries nothing.
  package func isLong(now: Instant) -> Bool {
    began.map { now - $0 >= Self.streamPatience } ?? false
  }

  package mutating func end() {
    cause = nil
    nextAt = nil
  }

  /// Ends it if there is no more reason for it.
  package mutating func settle(lastAnswer: Instant?, isSilent: Bool) {
    guard let cause, let began else { return }
    let isAnswered = lastAnswer.map { $0 > began } ?? false
    if isAnswered || cause == .silence && !isSilent { end() }
  }

  /// Whether the peer is to be told now; says so once each time.
  package mutating func poll(now: Instant) -> Bool {
    guard let nextAt, nextAt <= now else { return false }
    let isLong = sentCount >= Self.usualCount
    let gap = isLong ? Self.longGap : Self.gaps[min(sentCount, Self.gaps.count - 1)]
    sentCount += 1
    lastSent = now
    self.nextAt = now + gap
    return true
  }

  package var nextDeadline: Instant? { nextAt }

  /// From the beginning of silence, while the checks of the path may still be answered.
  private static let patience = Duration.milliseconds(150)
  /// Between two bodies.
  private static let gaps: [Duration] = [
    .milliseconds(250), .milliseconds(500), .seconds(1),
  ]
  /// Bodies at that pace: as many as a call without `rejoin` lasts. Then the peer is away.
  private static let usualCount = 20
  private static let longGap = Duration.seconds(3)
  /// At least, between two bodies that answer the peer's.
  private static let wordGap = Duration.seconds(1)
  private static let streamPatience = Duration.seconds(5)
}
