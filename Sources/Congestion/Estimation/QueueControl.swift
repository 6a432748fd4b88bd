/// The control law with a standing queue: the estimate follows capacity and target delay.
package struct QueueControl: Sendable, BitwiseCopyable {
  /// Weight of the distance from the target, × distance / cycle. Tuned.
  package var pull = 0.3
  /// Weight of the mean distance, which makes shares of several flows equal. Tuned.
  package var fairness = 0.1
  /// Greatest cut, × capacity, below 1. Tuned.
  package var mostCut = 0.25
  /// Greatest raise, × capacity. Tuned.
  package var mostRaise = 0.1
  /// How fast the estimate moves to what is wanted, × elapsed / cycle. Tuned.
  package var speed = 2.0
  /// Below this × estimate what arrives says nothing of the path, where the queue is short. Tuned.
  package var usedShare = 0.65
  /// The queue is not short above this × target. Tuned.
  package var usedQueue = 2.0
  /// Time constant of capacity, µs. Tuned.
  package var capacityMemory = 120_000.0

  package init() {}

  /// Enough is sent, or queued, for what arrives to be what the path carries.
  func isUsed(
    _ path: PathMeasurement, estimate: Double, capacity: Double, target: Double
  ) -> Bool {
    path.delivery.acknowledged > min(usedShare * estimate, capacity)
      || path.queue.standing > usedQueue * target
  }

  /// The estimate that keeps the queue at the target, in bit/s.
  func wanted(
    _ queue: QueueingDelay, capacity: Double, target: Double, cycle: Double
  ) -> Double {
    let quick = pull * (target - queue.standing) / cycle
    let slow = fairness * (target - queue.mean) / max(target, queue.mean)
    return capacity * (1 + min(max(quick + slow, -mostCut), mostRaise))
  }
}
