/// What is sent whatever the estimate says: audio and reports.
package struct UnpacedTraffic: Sendable, BitwiseCopyable {
  /// Above this × delivery rate it dominates. Tuned.
  package var dominantShare = 0.65
  /// Above this × delivery rate it is all that the path carries. Tuned.
  package var overloadShare = 0.85
  /// The same, with a standing delay above this × target. Tuned.
  package var overloadQueue = 2.5

  package init() {}

  /// Paced traffic can neither drain the queue beside it nor show other flows.
  func isDominant(_ rate: Double, _ delivery: DeliveryRate) -> Bool {
    rate > dominantShare * delivery.acknowledged
  }

  /// It fills the path by itself.
  ///
  /// - Parameters:
  ///   - foreign: Standing delay that is not its own, µs.
  ///   - target: The target delay, µs.
  func isOverload(
    _ rate: Double, _ path: PathMeasurement, beyond foreign: Double = 0, target: Double
  ) -> Bool {
    rate > overloadShare * path.delivery.acknowledged
      && path.queue.standing - foreign > overloadQueue * target
  }
}
