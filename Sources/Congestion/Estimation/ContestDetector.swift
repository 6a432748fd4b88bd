import Primitives

/// Sees that another flow fills the queue: it is longer than we want it for seconds, although we
/// give way.
package struct ContestDetector: Sendable, BitwiseCopyable {
  package struct Constants: Sendable, BitwiseCopyable {
    /// A shorter queue nobody need compete for, µs. Tuned.
    package var leastDelay = 30_000.0
    /// The longest of so many packets is the one that others wait behind: two seconds of audio.
    package var packetCount = 100
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
    /// A queue of our own comes out at one rate. Where this × the most of it comes out although the
    /// queue was never short, somebody else has the rest. Tuned.
    package var givenWay = 0.6
    /// It was never short for this. Tuned.
    package var givenTime = Duration.seconds(2)
    /// Rates of that are taken over this, µs. Tuned.
    package var givenSpan: Int64 = 500_000
    /// Hopeless drain: it lasts longer than this × its longest delay. Tuned.
    package var drainDelays = 2.0
    /// Of that what is beyond one delay counts for no more than this, µs: our own packets have
    /// left after one. Tuned.
    package var mostDrainExtra = 500_000.0
    /// A queue of our own falls by this × what the others leave of the time, at least. Tuned.
    package var drainFall = 0.5
    /// Beside unpaced traffic audio alone makes no queue where this × its rate came out. Tuned.
    package var roomShare = 1.7
    /// Hopeless drain where it may: × its longest delay, over the share that is left. Tuned.
    package var drainShare = 1.5
    /// Unpaced traffic counts for no more than this share there. Tuned.
    package var mostUnpacedOfLong = 0.9
    /// Unpaced traffic counts for no more than this share. Tuned.
    package var mostUnpaced = 0.97
    /// What is added to that, cycles. Tuned.
    package var drainCycles = 3.0
    /// A drain with audio alone tells whose the queue is after this, µs. Tuned.
    package var flatTime = 3_000_000.0
    /// What is added to that, × its longest delay: beside audio that takes 0.92 of the path, a
    /// queue of our own has fallen below `flatQueue` by then.
    package var flatDelays = 5.0
    /// A queue of somebody else's is above this × the longest delay: Cubic takes 0.7 of its window
    /// after a loss (RFC 9438 §4.6).
    package var flatQueue = 0.6
    /// And audio arrives as fast as it is sent, over this, µs. Tuned.
    package var flatSpan: Int64 = 1_500_000
    /// The same, packets at least. Tuned.
    package var flatPackets = 20
    /// The difference is less than this × what is sent. Tuned.
    package var flatRates = 0.12
    /// Where audio is all that is sent in any state: the same, over this, µs. Tuned.
    package var suspectSpan: Int64 = 3_000_000
    /// And the difference is less than this × what is sent: audio that takes 0.94 of the path
    /// empties a queue of its own.
    package var suspectRates = 0.06
    /// The queue does not fall: it is above this × its mean. Tuned.
    package var suspectMean = 0.8
    /// It is no longer than this × base round trip: BBR has two in flight. Tuned.
    package var suspectRoundTrips = 2.0
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
  /// The most that arrived since `longSince`, bit/s.
  private var mostArrival = 0.0

  init(_ constants: Constants = Constants()) { self.constants = constants }

  /// What is seen from now on counts.
  mutating func restart(now: Instant) {
    meanLongSince = now
    longSince = now
    mostArrival = 0
  }

  /// A pause of the reports says nothing of whose the queue is.
  mutating func handlePause(now: Instant) {
    longSince = now
    mostArrival = 0
  }

  /// Follows the queue.
  ///
  /// - Parameter target: The target delay, µs.
  mutating func handleReport(
    _ path: PathMeasurement, target: Double, isSilent: Bool, now: Instant
  ) {
    if path.queue.mean < constants.shortMean * target { meanLongSince = now }
    if path.queue.standing < constants.shortQueue * target || isSilent {
      longSince = now
      mostArrival = 0
    } else if let rates = givenRates(path) {
      mostArrival = max(mostArrival, rates.arrival)
    }
    let usual = constants.overflowLoss * path.losses.inherent + constants.overflowExcess
    if path.losses.lostInReport > 0, path.losses.recent > usual,
      path.queue.standing > constants.overflowQueue * target
    {
      lastOverflow = now
    }
  }

  /// For seconds the queue has been longer than we want it, and it overflows although we give way;
  /// or it was so without a break, which a queue of our own never is.
  ///
  /// - Parameter hasGaps: What is sent comes in frames with gaps: it varies by itself.
  func isContested(
    _ path: PathMeasurement, target: Double, hasGaps: Bool = false, now: Instant
  ) -> Bool {
    let share = constants.queueShare * path.queue.mean
    if path.queue.standing > max(constants.queue * target, share, constants.leastDelay),
      !hasGaps, hasGivenWay(path, now: now)
    {
      return true
    }
    let packet = longestBits(path) / max(path.delivery.acknowledged, 1)
    guard path.queue.standing > least(max(constants.queue * target, share), packet: packet) else {
      return false
    }
    let isOverflowing =
      lastOverflow > meanLongSince && now - lastOverflow < constants.overflowMemory
    return isOverflowing && now - meanLongSince > constants.overflowTime
      || now - longSince > constants.fullTime
  }

  /// Far less comes out than did while the queue was there already, and as fast as it is sent.
  private func hasGivenWay(_ path: PathMeasurement, now: Instant) -> Bool {
    guard now - longSince > constants.givenTime, let rates = givenRates(path),
      rates.arrival < constants.givenWay * mostArrival
    else { return false }
    return abs(rates.arrival - rates.sending) < constants.flatRates * rates.sending
  }

  /// With audio alone: for seconds the queue is never short, and what is sent comes out as fast,
  /// where far more has come out before.
  func isSuspect(_ path: PathMeasurement, target: Double, unpaced: Double, now: Instant) -> Bool {
    guard now - longSince > constants.fullTime,
      path.queue.standing > max(constants.shortQueue * target, constants.leastDelay),
      path.queue.standing > constants.suspectMean * path.queue.mean,
      path.queue.standing < constants.suspectRoundTrips * path.roundTrip.value,
      path.delivery.maximum > constants.roomShare * unpaced,
      let rates = path.arrivals.rates(over: constants.suspectSpan, atLeast: constants.flatPackets)
    else { return false }
    return abs(rates.arrival - rates.sending) < constants.suspectRates * rates.sending
  }

  private func givenRates(_ path: PathMeasurement) -> ArrivalWindow.Rates? {
    path.arrivals.rates(over: constants.givenSpan, atLeast: constants.flatPackets)
  }

  /// A drain that should long be over: what we had in the queue has left, and it is as long as
  /// before.
  ///
  /// - Parameters:
  ///   - unpaced: What is sent whatever the estimate says, bit/s.
  ///   - isLimited: That is all that is sent.
  func isHopeless(
    _ drain: OverloadDrain, _ path: PathMeasurement, target: Double, unpaced: Double,
    isLimited: Bool = false
  ) -> Bool {
    let isOverdue =
      isLimited
      ? isFlat(drain, path)
      : drain.waited > longestDrain(drain, path, unpaced: unpaced)
        && isStanding(drain, path, unpaced: unpaced)
    guard isOverdue else { return false }
    let most = max(constants.queue * target, constants.drainQueueShare * drain.mostDelay)
    // With audio alone nothing waits behind a long packet.
    let bits = isLimited ? longestBits(path) : PathMeasurement.packetBits
    let known = hasRoom(drain, unpaced: unpaced) ? drain.shown : 0
    return path.queue.standing
      > least(most, packet: bits / max(path.delivery.acknowledged, known, 1))
  }

  /// Whose the queue is that a drain has not emptied is to be seen yet.
  func isUndecided(_ drain: OverloadDrain, _ path: PathMeasurement, unpaced: Double) -> Bool {
    hasRoom(drain, unpaced: unpaced)
      && drain.waited <= longestDrain(drain, path, unpaced: unpaced)
      && isStanding(drain, path, unpaced: unpaced)
  }

  /// With audio alone, which may be all that fills the path: for seconds the queue is as it was,
  /// and what is sent comes out as fast. A queue of our own falls, if slowly, as audio takes less.
  private func isFlat(_ drain: OverloadDrain, _ path: PathMeasurement) -> Bool {
    guard drain.waited > constants.flatTime + constants.flatDelays * drain.mostDelay,
      path.queue.standing > constants.flatQueue * drain.mostDelay,
      let rates = path.arrivals.rates(over: constants.flatSpan, atLeast: constants.flatPackets)
    else { return false }
    return abs(rates.arrival - rates.sending) < constants.flatRates * rates.sending
  }

  /// For what we had in the queue to leave, in microseconds.
  private func longestDrain(
    _ drain: OverloadDrain, _ path: PathMeasurement, unpaced: Double
  ) -> Double {
    let patience = 1 + constants.variablePatience * path.variability.plain
    let time: Double
    if hasRoom(drain, unpaced: unpaced) {
      let extra = min(drain.mostDelay * (constants.drainDelays - 1), constants.mostDrainExtra)
      time = drain.mostDelay + extra
    } else {
      // Beside what is all but the whole of it a queue of our own empties slowly.
      let share = min(unpaced / max(drain.capacity, 1), constants.mostUnpacedOfLong)
      time = drain.mostDelay * max(constants.drainDelays, constants.drainShare / (1 - share))
    }
    return (time + constants.drainCycles * path.cycle) * patience
  }

  /// What was sent before the drain came out so fast that audio alone makes no queue.
  private func hasRoom(_ drain: OverloadDrain, unpaced: Double) -> Bool {
    drain.shown > constants.roomShare * unpaced
  }

  /// The queue does not fall as one of our own would beside audio and reports, which go on.
  private func isStanding(
    _ drain: OverloadDrain, _ path: PathMeasurement, unpaced: Double
  ) -> Bool {
    let share = min(unpaced / max(drain.capacity, 1), constants.mostUnpaced)
    let fall = drain.mostDelay - path.queue.standing
    return fall < constants.drainFall * (1 - share) * drain.waited
  }

  /// The longest of the packets that others wait behind, bits × 10⁶.
  private func longestBits(_ path: PathMeasurement) -> Double {
    Double(path.arrivals.longest(of: constants.packetCount)) * 8e6
  }

  /// The queue from which somebody else is in it, µs: behind a packet that we have just sent
  /// everything waits, so its time is added.
  private func least(_ queue: Double, packet: Double) -> Double {
    max(queue, constants.leastDelay) + min(packet, constants.mostPacketTime)
  }
}
