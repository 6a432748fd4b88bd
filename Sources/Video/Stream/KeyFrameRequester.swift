package import Primitives

/// Asks for a key frame until one is there, less and less often.
///
/// The first request goes at once; the next after 1.5 round trips, but no sooner than 200 ms, each
/// wait twice the one before, up to 3 s.
package struct KeyFrameRequester: Sendable {
  package private(set) var isWanted = false
  private var wait = Duration.zero
  /// When to ask (again).
  private var due: Instant?

  package init() {}

  /// Nothing can be decoded before a key frame.
  package mutating func want(now: Instant) {
    guard !isWanted else { return }
    isWanted = true
    due = max(due ?? now, now)
  }

  /// One is whole. A want that comes right after keeps to the wait that was begun.
  package mutating func satisfy(now: Instant) {
    isWanted = false
    wait = .zero
    if let due, due <= now { self.due = nil }
  }

  /// Whether to ask now; counts as asked.
  package mutating func poll(roundTrip: Duration, now: Instant) -> Bool {
    guard isWanted, let due, due <= now else { return false }
    let least = max(roundTrip * 3 / 2, Self.leastWait)
    wait = min(max(wait + wait, least), max(Self.longestWait, least))
    self.due = now + wait
    return true
  }

  package var nextDeadline: Instant? { isWanted ? due : nil }

  private static let leastWait = Duration.milliseconds(200)
  private static let longestWait = Duration.seconds(3)
}
