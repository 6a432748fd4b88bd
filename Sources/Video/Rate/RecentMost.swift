package import Primitives

/// The highest of a rate's last values: of a quarter of a second at the least, of half a second at
/// the most.
///
/// An estimator goes below what the path carries for moments, to let a queue empty. The quantizer
/// follows that; a change of size would cost a key frame into that queue.
package struct RecentMost: Sendable {
  private var began: Instant?
  private var present = 0
  private var before = 0

  package init() {}

  /// Takes the next value; gives the highest that counts.
  package mutating func handle(_ value: Int, now: Instant) -> Int {
    guard let began else {
      self.began = now
      present = value
      return value
    }
    if now - began >= Self.period {
      before = now - began < Self.period * 2 ? present : value
      present = value
      self.began = now
    }
    present = max(present, value)
    return max(present, before)
  }

  private static let period = Duration.milliseconds(250)
}
