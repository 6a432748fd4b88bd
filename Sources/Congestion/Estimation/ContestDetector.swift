import Primitives

/// Sees that another flow fills the queue: it is longer than we want it for seconds, although we
/// give way.
package struct ContestDetector: Sendable, BitwiseCopyable {
  package struct Constants: Sendable, BitwiseCopyable {
    /// A shorter queue nobody need compete for, µs. Tuned.
    package var leastDelay = 30_000.0
    /// A packet's time that is added counts for no more than this, µs. Tuned.
    package var mostPacketTime = 200_000.0
    /// Queue of a contest, × target. Tuned.
    package var queue = 2.0
    /// The same, × mean queue. Tuned.
    package var queueShare = 0.6
    /// The queue is short below this × target. Tuned.
    package var shortQueue = 1.5
    /// The mean queue is short below this × target. Tuned.
    package var shortMean = 2.0
    /// A loss is an overflow with a queue above this × target. Tuned.
    package var overflowQueue = 2.5
    /// The same, with a loss above this × inherent loss. Tuned.
    package var overflowLoss = 2.0
    /// What is added to that, share of packets. Tuned.
    package var overflowExcess = 0.002
    /// An overflow is forgotten after this. Tuned.
    package var overflowMemory = Duration.seconds(4)
    /// With overflows the contest begins after this. Tuned.
    package var overflowTime = Duration.seconds(2)
    /// Without overflows, after this. Tuned.
    package var fullTime = Duration.seconds(3)
    /// Hopeless drain: it lasts longer than this × its longest delay. Tuned.
    package var drainDelays = 2.0
    /// The same, beside unpaced traffic: over the share that is left. Tuned.
    package var drainShare = 1.5
    /// Unpaced traffic counts for no more than this share. Tuned.
    package var mostUnpaced = 0.9
    /// What is added to that, cycles. Tuned.
    package var drainCycles = 3.0
    /// A hopeless drain's queue, × its longest delay. Tuned.
    package var drainQueueShare = 0.3
    /// How much longer a drain may take with delay variability of 1. Tuned: the capacity falls by
    /// itself there.
    package var variablePatience = 2.0

    package init() {}
  }

  let constants: Constants
  /// When the mean queue, and the present one, were last short; when it last overflowed.
  private var meanLongSince = Instant.zero
  private var longSince = Instant.zero
  private var lastOverflow = Instant.zero

  init(_ constants: Constants = Constants()) { self.constants = constants }

  /// What is seen from now on counts.
  mutating func restart(now: Instant) {
    meanLongSince = now
    longSince = now
  }

  /// A pause of the reports says nothing of whose the queue is.
  mutating func handlePause(now: Instant) { longSince = now }

  /// Follows the queue.
  ///
  /// - Parameter target: The target delay, µs.
  mutating func handleReport(
    _ path: PathMeasurement, target: Double, isSilent: Bool, now: Instant
  ) {
    if path.queue.mean < constants.shortMean * target { meanLongSince = now }
    if path.queue.standing < constants.shortQueue * target || isSilent { longSince = now }
    let usual = constants.overflowLoss * path.losses.inherent + constants.overflowExcess
    if path.losses.lostInReport > 0, path.losses.recent > usual,
      path.queue.standing > constants.overflowQueue * target
    {
      lastOverflow = now
    }
  }

  /// For seconds the queue has been longer than we want it, and it overflows although we give way;
  /// or it was so without a break, which a queue of our own never is.
  func isContested(_ path: PathMeasurement, target: Double, now: Instant) -> Bool {
    let share = constants.queueShare * path.queue.mean
    guard path.queue.standing > least(constants.queue * target, share, path) else { return false }
    let isOverflowing =
      lastOverflow > meanLongSince && now - lastOverflow < constants.overflowMemory
    return isOverflowing && now - meanLongSince > constants.overflowTime
      || now - longSince > constants.fullTime
  }

  /// A drain that should long be over: what we had in the queue has left, and it is as long as
  /// before.
  ///
  /// - Parameter unpaced: What is sent whatever the estimate says, bit/s.
  func isHopeless(
    _ drain: OverloadDrain, _ path: PathMeasurement, target: Double, unpaced: Double
  ) -> Bool {
    // Beside audio and reports, which go on, it empties the slower.
    let share = min(unpaced / max(drain.capacity, 1), constants.mostUnpaced)
    let patience = 1 + constants.variablePatience * path.variability.plain
    let delays = max(constants.drainDelays, constants.drainShare / (1 - share))
    let time = delays * drain.mostDelay + constants.drainCycles * path.cycle
    return drain.waited > time * patience
      && path.queue.standing
        > least(constants.queue * target, constants.drainQueueShare * drain.mostDelay, path)
  }

  /// The queue from which somebody else is in it, µs: behind a packet that we have just sent
  /// everything waits, so its time is added.
  private func least(
    _ one: Double, _ other: Double, _ path: PathMeasurement
  ) -> Double {
    let packet = PathMeasurement.packetBits / max(path.delivery.acknowledged, 1)
    return max(one, other, constants.leastDelay) + min(packet, constants.mostPacketTime)
  }
}
