import Primitives

/// A busy period: from the first packet that waits to the last. A queue that is gone before our
/// answer to it can have reached the path went by itself: the line was served in bursts, and
/// carries what it did.
package struct BusyPeriod: Sendable, BitwiseCopyable {
  package struct Constants: Sendable, BitwiseCopyable {
    /// Shorter than this, × cycle, it was not ended by us: one cycle and a little.
    package var ownShare = 1.05
    /// What holds again then, × estimate before it, at most 1. Tuned.
    package var returnShare = 0.95

    package init() {}
  }

  private let constants: Constants
  /// The present one: since when, and what the rates were before it, in bit/s.
  private var present: (began: Instant, estimate: Double, capacity: Double)?

  init(_ constants: Constants = Constants()) { self.constants = constants }

  mutating func begin(estimate: Double, capacity: Double, now: Instant) {
    guard present == nil else { return }
    present = (now, estimate, capacity)
  }

  /// Ends it; what estimate and capacity are then at least, in bit/s, where it went by itself.
  ///
  /// - Parameter cycle: Of feedback, µs.
  mutating func end(cycle: Double, now: Instant) -> (estimate: Double, capacity: Double)? {
    guard let ended = present else { return nil }
    present = nil
    guard Double(now.nanoseconds(since: ended.began)) / 1_000 < constants.ownShare * cycle
    else { return nil }
    return (ended.estimate * constants.returnShare, min(ended.capacity, ended.estimate))
  }
}
