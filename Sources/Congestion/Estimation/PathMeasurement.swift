import Primitives

/// What the reports tell of the path: delays, rates and losses, without any conclusion.
package struct PathMeasurement: Sendable {
  var arrivals = ArrivalWindow()
  var own = OwnQueue()
  var baseDelay: BaseDelayFilter
  var nonCongestive: NonCongestiveDelay
  var roundTrip: RoundTripFloor
  var queue: QueueingDelay
  var variability: DelayVariability
  var delivery: DeliveryRate
  var losses: LossAccount
  var timing: ReportTiming
  var reportDelay: ReportDelay

  init(_ tuning: EstimatorTuning = EstimatorTuning()) {
    baseDelay = BaseDelayFilter(tuning.baseDelay)
    nonCongestive = NonCongestiveDelay(tuning.nonCongestive)
    roundTrip = RoundTripFloor(tuning.roundTrip)
    queue = QueueingDelay(tuning.queue)
    variability = DelayVariability(tuning.variability)
    delivery = DeliveryRate(tuning.delivery)
    losses = LossAccount(tuning.losses)
    timing = ReportTiming(tuning.timing)
    reportDelay = ReportDelay(tuning.reportDelay)
  }

  /// - Parameter rate: What the line is believed to carry, in bit/s.
  mutating func appendArrival(_ packet: ArrivedPacket, rate: Double) {
    arrivals.add(packet)
    nonCongestive.add(packet, rate: rate)
    baseDelay.add(packet)
    losses.addArrived()
  }

  /// Measures again after all packets of a report; `false` while nothing has ever arrived.
  ///
  /// - Parameters:
  ///   - sample: The round trip that it gave, ns.
  ///   - elapsed: Since the last report, µs.
  mutating func handleReport(
    roundTrip sample: UInt64?, elapsed: Double, isStarting: Bool, now: Instant
  ) -> Bool {
    timing.handleReport(elapsed: elapsed, now: now)
    reportDelay.handleReport(
      sent: arrivals.newest?.sent, roundTrip: roundTrip.value, now: now)
    guard let base = baseDelay.value, let newest = arrivals.newest else { return false }
    queue.measure(arrivals, above: base, cycle: cycle, isStarting: isStarting)
    let newestDelay = Double(newest.delay &- base)
    // Standstills that are known for what they are make no line variable.
    let foreignDelay = newestDelay - Double(newest.own)
    variability.add(queue.distance(of: foreignDelay), elapsed: elapsed)
    reportDelay.standing = queue.standing
    queue.subtract(nonCongestive.value, newest: foreignDelay)
    if let sample { roundTrip.add(Double(sample) / 1_000 - newestDelay, now: now) }
    delivery.measure(arrivals, loss: losses.inherent, elapsed: elapsed)
    return true
  }

  /// The feedback cycle: from a change of the rate to the report that shows its effect, µs.
  var cycle: Double { max(roundTrip.value + timing.interval, Self.shortestCycle) }

  /// The round trip with the queue, in seconds.
  var loadedRoundTrip: Double { (roundTrip.value + queue.standing) / 1e6 }

  /// Since a packet last came at the base delay, µs; `nil` before the first.
  var unseenBaseDelay: Int64? { arrivals.newest.map { $0.arrival &- baseDelay.lastSeen } }

  /// The shortest report interval, µs (frames.md §2).
  private static let shortestCycle = 20_000.0
  /// A packet of 1200 bytes on the line, bits × 10⁶: over a rate it is a time in µs.
  static let packetBits = 9_600e6
}
