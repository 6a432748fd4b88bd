import Primitives

/// The response to ECN marks, which a path sets before there is a queue: what arrives while it
/// marks is what it carries. Then less, by the share of the packets that were marked; else back to
/// that at once and on from there slowly, faster the longer nothing is marked.
package struct ECNResponse: Sendable, BitwiseCopyable {
  package struct Constants: Sendable, BitwiseCopyable {
    /// Weight of a cycle in the marked share: about g = 1/16 of RFC 8257 §3.3.
    package var weight = 0.06
    /// A path marks for so long after a mark. Tuned.
    package var memory = Duration.seconds(10)
    /// With a longer queue marks are not enough, × target. Tuned.
    package var mostQueue = 4.0
    /// Capacity follows the delivery rate by this share of the distance a cycle. Tuned.
    package var capacityWeight = 1.0
    /// Cut per cycle, × marked share: RFC 8257 has 0.5. Tuned.
    package var cut = 0.4
    /// No cut goes below this × capacity, at most `returnTo`. Tuned.
    package var least = 0.88
    /// The way back is quick up to this × capacity. Tuned.
    package var returnTo = 0.95
    /// Growth per cycle at the reference rate of the target delay. Tuned.
    package var growth = 0.01
    /// Growth doubles each cycle while the estimate is above this × capacity. Tuned.
    package var doublingFrom = 1.03

    package init() {}
  }

  let constants: Constants
  private var markedCount = 0.0
  private var count = 0.0
  /// Of the packets of the last round trips, 0 to 1.
  private(set) var share = 0.0
  /// Of those in the last report, 0 to 1.
  private(set) var latest = 0.0
  /// A packet of the last report was marked.
  private(set) var isMarked = false
  private var lastMark: Instant?
  /// The path marks: a mark is then told before a queue is.
  private(set) var isActive = false

  init(_ constants: Constants = Constants()) { self.constants = constants }

  mutating func appendArrival(isMarked: Bool) {
    count += 1
    if isMarked { markedCount += 1 }
  }

  /// - Parameter elapsed: Since the last report, µs, as the cycle.
  mutating func handleReport(elapsed: Double, cycle: Double, now: Instant) {
    if count > 0 {
      isMarked = markedCount > 0
      if isMarked { lastMark = now }
      latest = markedCount / count
      share += (latest - share) * min(1, constants.weight * elapsed / cycle)
      markedCount = 0
      count = 0
    }
    isActive = lastMark.map { now - $0 < constants.memory } ?? false
  }

  /// Capacity, as the marks of a report tell it: bit/s.
  ///
  /// - Parameter elapsed: Since the last report, cycles.
  func capacity(_ capacity: Double, acknowledged: Double, elapsed: Double) -> Double {
    capacity + (acknowledged - capacity) * min(1, elapsed * constants.capacityWeight)
  }

  /// The estimate after a report with marks: bit/s.
  func reduced(_ estimate: Double, capacity: Double, elapsed: Double) -> Double {
    let cut = min(max(share, latest), 1) * constants.cut * min(elapsed, 1)
    let least = min(estimate, capacity * constants.least)
    return max(min(estimate, capacity) * (1 - cut), least)
  }

  /// Growth per cycle after marks: the slower of two flows grows the faster, so that their shares
  /// become equal.
  ///
  /// - Parameter ratio: The rate over the reference rate of the target delay.
  func velocity(ratio: Double) -> Double { constants.growth * TargetDelay.powerLaw(ratio) }
}
