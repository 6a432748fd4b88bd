package import Primitives

/// Repeats a signal until it is receipted (docs/protocol/calling.md §3).
///
/// Sent at 0 s by whoever makes it; again at 0.5, 1.5, 3.5 and 7.5 s; reported as failed at 8 s.
package struct Delivery: Sendable {
  package enum Step: Hashable, Sendable { case sendAgain, fail }

  private static let repeatsAfter: [Duration] = [
    .milliseconds(500), .milliseconds(1500), .milliseconds(3500), .milliseconds(7500),
  ]
  private static let failsAfter = Duration.seconds(8)

  private let start: Instant
  private var repeats = 0
  package private(set) var isPending = true

  package init(now: Instant) { start = now }

  package mutating func succeed() { isPending = false }

  /// What is due. A driver that slept through several repetitions sends one, not a burst.
  package mutating func handleTimeout(now: Instant) -> Step? {
    guard isPending, let deadline = nextDeadline, deadline <= now else { return nil }
    if now >= start + Self.failsAfter {
      isPending = false
      return .fail
    }
    while repeats < Self.repeatsAfter.count, start + Self.repeatsAfter[repeats] <= now {
      repeats += 1
    }
    return .sendAgain
  }

  package var nextDeadline: Instant? {
    guard isPending else { return nil }
    let after = repeats < Self.repeatsAfter.count ? Self.repeatsAfter[repeats] : Self.failsAfter
    return start + after
  }
}
