/// The rules until the path first answers.
package struct StartUp: Sendable, BitwiseCopyable {
  /// Growth per cycle: doubling, as slow start.
  package var velocity = 1.0
  /// Most that is tried, × delivery rate: one doubling.
  package var room = 2.0
  /// Start-up ends above this loss, share of packets. Tuned.
  package var mostLoss = 0.3
  /// First estimate after a test of the line, × its result, at most 1. Tuned.
  package var priorShare = 0.95

  package init() {}

  /// The first estimate, in bit/s, where a test of the line has found `prior`.
  func estimate(prior: Double, _ limits: EstimatorLimits) -> Double {
    min(max(prior * priorShare, limits.least), limits.most)
  }

  /// Whether a queue is seen, or too much is lost.
  ///
  /// - Parameter target: The target delay, µs.
  func isOver(_ path: PathMeasurement, target: Double) -> Bool {
    path.queue.standing > target || path.losses.recent > mostLoss
  }
}
