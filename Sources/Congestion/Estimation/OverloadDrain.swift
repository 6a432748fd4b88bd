import Primitives

/// An overload, and the queue that is being emptied after it.
package struct OverloadDrain: Sendable, BitwiseCopyable {
  package struct Constants: Sendable, BitwiseCopyable {
    /// Overload: fresh delay above target by this, µs. Tuned.
    package var margin = 10_000.0
    /// The same, in packets of 1200 bytes at the estimate. Tuned.
    package var marginPackets = 2.0
    /// Their time counts for no more than this, µs. Tuned.
    package var mostPacketTime = 60_000.0
    /// The same, × scatter. Tuned.
    package var scatterMargin = 3.0
    /// What delay variability of 1 adds to `scatterMargin`. Tuned.
    package var variableScatterMargin = 3.0
    /// Capacity at the begin: delivery rate over this, µs. Tuned.
    package var beginSpan: Int64 = 30_000
    /// The same, packets at least. Tuned.
    package var beginPacketCount = 3
    /// Capacity meanwhile: delivery rate over this, µs. Tuned.
    package var span: Int64 = 100_000
    /// The same, packets at least. Tuned.
    package var packetCount = 4
    /// The same, while the fresh delay is above this, µs. Tuned.
    package var leastQueue = 4_000.0
    /// What was sent before it counts as far as it arrives in this, µs: all of it.
    package var shownSpan: Int64 = 10_000_000
    /// Estimate while draining, × capacity, below 1. Tuned.
    package var rateShare = 0.9
    /// Estimate after it, × capacity, at most 1. Tuned.
    package var rateAfter = 0.95
    /// It ends when the fresh delay is below this × target. Tuned.
    package var endShare = 0.8
    /// A report counts for no more than this × interval in `waited`: a longer pause is the path's.
    package var mostWait = 2.0

    package init() {}
  }

  let constants: Constants
  /// What the path carries, in bit/s.
  var capacity = 0.0
  /// How long it has lasted, in microseconds.
  var waited = 0.0
  /// The rate at which packets came out that were sent before it: alone what the path carries,
  /// beside others our share of that. In bit/s.
  private(set) var shown = 0.0
  /// When it began, in microseconds.
  private var began: Int64 = 0
  /// Arrivals before this one say nothing of it.
  private(set) var firstArrival = 0
  /// The estimate before it, in bit/s.
  private(set) var before = 0.0
  /// The longest delay in it, in microseconds.
  var mostDelay = 0.0

  /// - Parameter shown: Bit/s.
  init(_ constants: Constants = Constants(), shown: Double = 0) {
    self.constants = constants
    self.shown = shown
  }

  /// A queue that grows fast, and is not just scatter.
  ///
  /// - Parameters:
  ///   - target: The target delay, µs.
  ///   - packetTime: Of a packet of 1200 bytes at the estimate, µs.
  ///   - variability: Of the delay, 0 to 1.
  func isDue(
    _ queue: QueueingDelay, target: Double, packetTime: Double, variability: Double
  ) -> Bool {
    let packets = min(constants.marginPackets * packetTime, constants.mostPacketTime)
    let scatter = constants.scatterMargin + constants.variableScatterMargin * variability
    let margin = constants.margin + packets + scatter * queue.scatter
    return queue.fresh > target + margin
  }

  /// - Parameter isRelapse: It follows another one at once.
  mutating func begin(
    _ arrivals: ArrivalWindow, estimate: Double, isRelapse: Bool, now: Instant
  ) {
    let rates = arrivals.rates(
      over: constants.beginSpan, atLeast: constants.beginPacketCount)
    let before = isRelapse ? max(estimate, self.before) : estimate
    self = OverloadDrain(constants)
    self.before = before
    capacity = min(rates?.arrival ?? estimate, estimate)
    shown = capacity
    began = Int64(clamping: now.nanoseconds / 1_000)
    firstArrival = arrivals.count
  }

  /// - Parameters:
  ///   - elapsed: Since the last report, µs.
  ///   - target: The target delay, µs.
  mutating func handleReport(
    _ path: PathMeasurement, elapsed: Double, target: Double
  ) {
    // A pause of the reports is the path's, and says nothing of whose the queue is.
    waited += min(elapsed, constants.mostWait * path.timing.interval)
    mostDelay = max(mostDelay, path.queue.standing)
    guard path.queue.standing < target else { return }
    // The queue was gone; if it is there again that is another one.
    waited = 0
    mostDelay = path.queue.standing
  }

  /// Measures capacity again from what has arrived since; `false` where too little has, or the
  /// queue is all but gone.
  mutating func measure(_ path: PathMeasurement) -> Bool {
    guard path.queue.fresh > constants.leastQueue,
      let rates = path.arrivals.rates(
        over: constants.span, atLeast: constants.packetCount, notBefore: firstArrival)
    else { return false }
    capacity = rates.arrival * path.delivery.correction(path.losses.inherent)
    if let newest = path.arrivals.newest, newest.sent < began,
      let all = path.arrivals.rates(
        over: constants.shownSpan, atLeast: constants.packetCount, notBefore: firstArrival)
    {
      shown = min(all.arrival, before)
    }
    return true
  }

  /// - Parameter target: The target delay, µs.
  func isOver(_ queue: QueueingDelay, target: Double) -> Bool {
    // A packet of audio takes its time as well, where it is slow.
    queue.fresh < target * constants.endShare + Self.audioBits / max(capacity, Self.leastCapacity)
  }

  /// A packet of audio of 150 bytes, bits × 10⁶.
  private static let audioBits = 1.2e9
  /// In bit/s: no division by 0.
  private static let leastCapacity = 10_000.0
}
