import Primitives

/// Every few seconds less is sent for a moment: if the queue falls as it does for one who is alone,
/// nobody else is there.
package struct RivalTest: Sendable, BitwiseCopyable {
  package struct Constants: Sendable, BitwiseCopyable {
    /// First test after the begin of competitive mode. Tuned.
    package var first = Duration.seconds(1)
    /// Next after one that found nobody. Tuned.
    package var afterPositive = Duration.milliseconds(500)
    /// Next before the first loss. Tuned.
    package var whileSearching = Duration.seconds(2)
    /// Next otherwise. Tuned.
    package var usualPause = Duration.seconds(6)
    /// Length at least, cycles. Tuned.
    package var cycles = 2.0
    /// Length at least, µs. Tuned.
    package var shortest = 150_000.0
    /// Length at least, × queueing delay: the longer the queue, the less it costs. Tuned.
    package var queueShare = 0.5
    /// That no more than this, µs. Tuned.
    package var longestForQueue = 500_000.0
    /// Rate meanwhile, × rate before, below 1. Tuned.
    package var rateShare = 0.6
    /// Given up when nothing is known after this, µs. Tuned.
    package var patience: Int64 = 3_000_000
    /// Tests in a row that must find nobody: the rival may have given way once.
    package var confirmations = 2
    /// Least fall that would be seen, × length. Tuned.
    package var leastExpected = 0.1
    /// Fall of a queue of our own, × what is expected. Tuned.
    package var leastSeen = 0.75

    package init() {}
  }

  private let constants: Constants
  private var began: Instant?
  /// Length, µs.
  private var span: Int64 = 0
  /// What is sent meanwhile, and what arrived before: bit/s.
  private var rate = 0.0
  private var rateBefore = 0.0
  private var next = Instant.zero
  /// Tests in a row that found nobody.
  private var positiveCount = 0

  init(_ constants: Constants = Constants()) { self.constants = constants }

  mutating func begin(now: Instant) {
    self = RivalTest(constants)
    next = now + constants.first
  }

  /// The next test comes at once.
  mutating func hasten(now: Instant) { next = min(next, now) }

  /// What may be sent now, in bit/s; `nil` once it is sure that nobody else is there.
  ///
  /// - Parameter estimate: Without a test, bit/s.
  mutating func limit(
    _ estimate: Double, _ path: PathMeasurement, isSearching: Bool, now: Instant
  ) -> Double? {
    guard let began else {
      if now >= next { start(estimate, path, now: now) }
      return estimate
    }
    let from = Int64(clamping: began.nanoseconds / 1_000)
    let waited = Int64(clamping: now.nanoseconds(since: began) / 1_000)
    let limited = waited < span ? min(estimate, rate) : estimate
    // What was sent at its end has arrived.
    guard let newest = path.arrivals.newest,
      newest.sent >= from &+ span || waited > span &+ constants.patience
    else { return limited }
    self.began = nil
    let fall = path.arrivals.fall(sentFrom: from, to: from &+ span)
    let isPositive = fall.map(isOurOwn) ?? false
    positiveCount = isPositive ? positiveCount + 1 : 0
    let pause = isSearching ? constants.whileSearching : constants.usualPause
    next = now + (isPositive ? constants.afterPositive : pause)
    return positiveCount >= constants.confirmations ? nil : limited
  }

  private mutating func start(
    _ estimate: Double, _ path: PathMeasurement, now: Instant
  ) {
    began = now
    let forQueue = min(path.queue.standing * constants.queueShare, constants.longestForQueue)
    span = Int64(max(constants.cycles * path.cycle, constants.shortest, forQueue))
    rate = min(estimate, path.delivery.acknowledged) * constants.rateShare
    rateBefore = path.delivery.recent
  }

  /// The queue fell by as much as was sent less than the path carries.
  private func isOurOwn(_ fall: ArrivalWindow.Fall) -> Bool {
    let expected = Double(fall.span) - fall.bits * 1e6 / max(rateBefore, 1)
    // Audio goes on all the same, and what it leaves may be too little to see anything by.
    return expected > constants.leastExpected * Double(fall.span)
      && Double(fall.delay) > constants.leastSeen * expected
  }
}
