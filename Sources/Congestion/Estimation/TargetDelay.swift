import Primitives

/// The queueing delay to be held. It falls with the rate, so that flows that share a queue find
/// equal shares.
package struct TargetDelay: Sendable, BitwiseCopyable {
  package struct Constants: Sendable, BitwiseCopyable {
    /// The rate for which `atReference` holds, bit/s.
    package var reference = 2_000_000.0
    /// Target at that rate, µs. Tuned.
    package var atReference = 7_300.0
    /// Least target, µs. Tuned.
    package var least = 3_000.0
    /// Above this the target grows by its fourth root only, µs, at least `least`. Tuned.
    package var bend = 13_500.0
    /// Share of the scatter beyond `scatterFree` that is added, 0 to 1. Tuned.
    package var scatterShare = 0.5
    /// Scatter that the frames of a video make by themselves, µs. Tuned.
    package var scatterFree = 4_000.0
    /// Scatter beyond `scatterFree` that counts at most, µs. Tuned.
    package var mostScatter = 10_000.0
    /// Share of the scatter over seconds beyond `bulkFree` that bulk adds: what scatters so far is
    /// waited for anyway. Tuned.
    package var bulkShare = 2.0
    /// Scatter that reports make of a steady line, µs. Tuned.
    package var bulkFree = 1_000.0
    /// Most that bulk adds, µs. Tuned.
    package var mostBulk = 20_000.0
    /// Target for a while after a drain, × target, so that the base delay is seen. Tuned.
    package var calmShare = 0.5
    /// What delay variability of 1 adds to `calmShare`; both together at most 1. Tuned.
    package var variableCalm = 0.15
    /// For how long after a drain. Tuned.
    package var calmTime = Duration.milliseconds(700)
    /// A path has a queue from this on, × target. Tuned.
    package var busyShare = 0.4
    /// The same in µs: equal to `least`. Tuned.
    package var leastBusy = 3_000.0

    package init() {}
  }

  let constants: Constants
  /// After a drain the target is lower until then.
  private(set) var calmUntil = Instant.zero
  private var isCalm = false

  init(_ constants: Constants = Constants()) { self.constants = constants }

  /// A drain is over.
  mutating func beginCalm(now: Instant) { calmUntil = now + constants.calmTime }

  mutating func update(now: Instant) { isCalm = now < calmUntil }

  /// In microseconds.
  ///
  /// - Parameters:
  ///   - rate: The estimate over the weight of the call, bit/s.
  ///   - scatter: Of packets about the standing delay, µs.
  ///   - variability: Of the delay, 0 to 1.
  func value(rate: Double, scatter: Double, variability: Double) -> Double {
    let delay = constants.atReference * Self.powerLaw(rate / constants.reference)
    var target = max(delay, constants.least)
    // Slow flows wait longer anyway; still a slower one's is longer than a faster one's.
    if target > constants.bend {
      target = constants.bend * (target / constants.bend).squareRoot().squareRoot()
    }
    let excess = min(max(scatter - constants.scatterFree, 0), constants.mostScatter)
    target += constants.scatterShare * excess
    return isCalm ? target * (constants.calmShare + constants.variableCalm * variability) : target
  }

  /// What bulk adds, in microseconds.
  ///
  /// - Parameter scatter: Of packets about the standing delay over seconds, µs.
  func bulk(scatter: Double) -> Double {
    min(max(0, scatter - constants.bulkFree) * constants.bulkShare, constants.mostBulk)
  }

  /// The standing delay from which packets wait, beyond what scatters, µs.
  func busyDelay(_ target: Double) -> Double {
    max(constants.leastBusy, target * constants.busyShare)
  }

  /// ratio^−0.75 without a C library: two square roots.
  static func powerLaw(_ ratio: Double) -> Double {
    let root = max(ratio, 1e-6).squareRoot()
    return 1 / (root * root.squareRoot())
  }
}
