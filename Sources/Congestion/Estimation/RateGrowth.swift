import Primitives

/// Growth without a queue: what carried before is tried at once, what is beyond step by step.
package struct RateGrowth: Sendable, BitwiseCopyable {
  package struct Constants: Sendable, BitwiseCopyable {
    /// First growth per cycle, at most `mostVelocity`. Tuned.
    package var leastVelocity = 0.07
    /// Greatest growth per cycle. Tuned.
    package var mostVelocity = 0.5
    /// Growth per cycle where the estimate is well below capacity. Tuned.
    package var returnVelocity = 0.5
    /// Growth doubles each cycle while the estimate is above this × capacity. Tuned.
    package var doublingFrom = 1.02
    /// The quick return is below this × capacity. Tuned.
    package var returnBelow = 0.97
    /// It goes no further in one step than this × capacity. Tuned.
    package var returnTo = 1.01
    /// Most that is tried, × delivery rate, above 1. Tuned.
    package var room = 1.6
    /// What may always be tried beyond the delivery rate, bit/s. Tuned.
    package var step = 20_000.0
    /// Before the end of the calm after a drain the estimate grows, by this time. Tuned: what a
    /// drain has measured holds for 350 ms.
    package var calmEnd = Duration.milliseconds(350)

    package init() {}
  }

  let constants: Constants
  /// Growth per cycle.
  var velocity: Double
  private var nextDoubling = Instant.zero

  init(_ constants: Constants = Constants(), velocity: Double) {
    self.constants = constants
    self.velocity = velocity
  }

  /// Begins again with the least velocity; with delay variability, with more.
  mutating func restart(variability: Double, now: Instant) {
    velocity = constants.leastVelocity
    velocity += (constants.mostVelocity - constants.leastVelocity) * variability
    nextDoubling = now
  }

  mutating func restart(velocity: Double, now: Instant) {
    self.velocity = velocity
    nextDoubling = now
  }

  /// The next doubling may be now.
  mutating func reset(now: Instant) { nextDoubling = now }

  /// Doubles the velocity, at most once a cycle (µs).
  mutating func advance(isDoubling: Bool, cycle: Double, now: Instant) {
    guard now >= nextDoubling else { return }
    if isDoubling { velocity = min(velocity * 2, constants.mostVelocity) }
    nextDoubling = Instant(nanoseconds: now.nanoseconds &+ UInt64(cycle * 1_000))
  }

  /// What an estimate may become, in bit/s, by one report.
  ///
  /// - Parameters:
  ///   - capacity: What the path is known to carry; `nil` at the start.
  ///   - share: Of a cycle, since the last report.
  func wanted(_ estimate: Double, capacity: Double?, share: Double) -> Double {
    let isReturning = capacity.map { estimate < $0 * constants.returnBelow } ?? false
    let speed = isReturning ? constants.returnVelocity : velocity
    let wanted = estimate * (1 + speed * min(share, 1))
    guard let capacity, estimate < capacity else { return wanted }
    return min(wanted, capacity * constants.returnTo)
  }

  /// Most that may be tried, in bit/s, beside what is delivered.
  func most(delivered: Double) -> Double { delivered * constants.room + constants.step }
}
