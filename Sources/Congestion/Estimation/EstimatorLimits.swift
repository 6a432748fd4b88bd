/// What the estimate may be, and where it begins. Rates are in bit/s on the line.
package struct EstimatorLimits: Sendable, BitwiseCopyable {
  /// Never less: an audio packet now and then.
  package var least = 10_000.0
  /// The first estimate: a small video, which the slowest lines bear for a round trip.
  package var start = 300_000.0
  /// Never more; best what media can use, with a little room.
  package var most = 100_000_000.0
  /// What a test of the line has found, to begin there; `nil` without one.
  package var prior: Double?
  /// Of flows that share a queue each gets a share by its weight; 1 is usual.
  package var weight = 1.0
  /// What goes out has gaps that nothing fills: where no queue stands, less that arrives than the
  /// estimate says nothing of the path, and does not bound what may be under way.
  package var hasGaps = false
  /// The constants of the law itself; changed by measurements only.
  package var tuning = EstimatorTuning()

  package init() {}
}
