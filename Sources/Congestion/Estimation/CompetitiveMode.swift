import Primitives

/// Competitive mode (as in Copa): while somebody else keeps the queue full, only their own law gets
/// a share beside them.
package struct CompetitiveMode: Sendable, BitwiseCopyable {
  package struct Constants: Sendable, BitwiseCopyable {
    package var window = CubicWindow.Constants()
    package var contest = ContestDetector.Constants()
    package var test = RivalTest.Constants()
    /// First rate, × estimate before the drain. Tuned.
    package var firstShare = 0.4
    /// First rate at most, × delivery rate. Tuned.
    package var mostFirst = 2.0
    /// It ends after this with a queue no longer than the target. Tuned.
    package var shortTime = Duration.milliseconds(2_500)
    /// Loss beyond the inherent one that reduces the window, share of packets. Tuned.
    package var lossExcess = 0.001
    /// The window grows only where this × estimate is delivered: RFC 9438 §5.8. Tuned.
    package var usedShare = 0.2
    /// Before the first loss the queue is ours at this × the queue as it was found. Tuned.
    package var ownQueue = 3.0
    /// What is added to that, µs. Tuned.
    package var ownQueueExcess = 100_000.0
    /// With a longer queue before the first loss, it has no end that one could find, µs. Tuned.
    package var longestQueue = 2_500_000.0
    /// Nobody gives way while less than this × estimate is delivered. Tuned.
    package var stuckShare = 0.6
    /// It is so for this, round trips. Tuned.
    package var stuckRoundTrips = 2.0
    /// What is added to that, s. Tuned.
    package var stuckTime = 0.1
    /// Barred for so long when nobody gave way. Tuned.
    package var bar = Duration.seconds(20)
    /// Barred for this × queueing delay otherwise: until the queue has left.
    package var barQueues = 2.0
    /// What is added to that after a test, µs. Tuned.
    package var barAfterTest = 3_000_000.0
    /// The longest of both, µs. Tuned.
    package var longestBar = 10_000_000.0

    package init() {}
  }

  /// What follows from one report.
  enum Step: Equatable {
    /// Goes on at so many bit/s.
    case goesOn(Double, isReduced: Bool)
    /// The rival has gone, or none was there.
    case ends(BandwidthEstimator.Reason)
  }

  private let constants: Constants
  var contest: ContestDetector
  private(set) var window: CubicWindow
  private var test: RivalTest
  /// Since when, before the first loss, more was sent than came out: then nobody gives way.
  private var stuckSince: Instant?
  /// It was tried, and nobody was there.
  private var barredUntil = Instant.zero
  /// Since when the queue has been short.
  private var shortSince: Instant?
  /// The queue as it was found, in microseconds.
  private var delayBefore = 0.0

  init(_ constants: Constants = Constants()) {
    self.constants = constants
    contest = ContestDetector(constants.contest)
    window = CubicWindow(constants.window)
    test = RivalTest(constants.test)
  }

  func isBarred(now: Instant) -> Bool { now < barredUntil }

  /// Begins; the first rate, in bit/s.
  mutating func begin(
    _ path: PathMeasurement, after drain: OverloadDrain, now: Instant
  ) -> Double {
    contest.restart(now: now)
    stuckSince = nil
    shortSince = nil
    let delivered = path.delivery.acknowledged
    let first = min(drain.before * constants.firstShare, delivered * constants.mostFirst)
    window.begin(rate: max(delivered, first), roundTrip: path.loadedRoundTrip, now: now)
    test.begin(now: now)
    delayBefore = max(path.queue.standing, drain.mostDelay)
    return window.rate(roundTrip: path.loadedRoundTrip)
  }

  /// - Parameters:
  ///   - estimate: As it was, bit/s.
  ///   - target: The target delay, µs.
  ///   - isElastic: More than audio is sent.
  ///   - elapsed: Since the last report, µs.
  mutating func handleReport(
    _ path: PathMeasurement, estimate: Double, target: Double, isElastic: Bool,
    elapsed: Double, now: Instant
  ) -> Step {
    if isOver(path.queue.standing, target: target, now: now) { return .ends(.room) }
    guard isElastic else { return .ends(.queue) }
    let isReduced = follow(path, estimate: estimate, elapsed: elapsed, now: now)
    let queue = path.queue.standing
    let own = constants.ownQueue * delayBefore + constants.ownQueueExcess
    if window.isSearching, queue > min(own, constants.longestQueue) {
      // Before anything was lost the queue is several times what it was: we made it.
      bar(for: constants.barQueues * queue, now: now)
      return .ends(.queue)
    }
    if isAlone(path, estimate: estimate, now: now) {
      barredUntil = now + constants.bar
      return .ends(.queue)
    }
    let rate = window.rate(roundTrip: path.loadedRoundTrip)
    guard let limit = test.limit(rate, path, isSearching: window.isSearching, now: now) else {
      bar(for: constants.barQueues * queue + constants.barAfterTest, now: now)
      return .ends(.queue)
    }
    return .goesOn(limit, isReduced: isReduced)
  }

  private mutating func isOver(_ queue: Double, target: Double, now: Instant) -> Bool {
    if queue > target {
      shortSince = nil
    } else if let since = shortSince {
      return now - since > constants.shortTime
    } else {
      shortSince = now
    }
    return false
  }

  /// Moves the window; whether it was reduced.
  private mutating func follow(
    _ path: PathMeasurement, estimate: Double, elapsed: Double, now: Instant
  ) -> Bool {
    let roundTrip = path.loadedRoundTrip
    if path.losses.lostInReport > 0,
      path.losses.recent > path.losses.inherent + constants.lossExcess
    {
      return window.reduce(roundTrip: roundTrip, now: now)
    }
    // What is not used says nothing of what there is (RFC 9438 §5.8).
    guard path.delivery.acknowledged > constants.usedShare * estimate else { return false }
    if !window.isSearching {
      window.grow(elapsed: elapsed / 1e6, roundTrip: roundTrip, now: now)
    } else if stuckSince == nil {
      window.search(elapsed: elapsed / 1e6, roundTrip: roundTrip)
    }
    return false
  }

  /// In the search more and more is sent; beside others it comes out, alone it only queues.
  private mutating func isAlone(
    _ path: PathMeasurement, estimate: Double, now: Instant
  ) -> Bool {
    guard window.isSearching, path.delivery.acknowledged < constants.stuckShare * estimate else {
      stuckSince = nil
      return false
    }
    guard let since = stuckSince else {
      stuckSince = now
      return false
    }
    let time = constants.stuckRoundTrips * path.loadedRoundTrip + constants.stuckTime
    return Double(now.nanoseconds(since: since)) / 1e9 > time
  }

  /// - Parameter time: For what is in the queue to leave, in microseconds.
  private mutating func bar(for time: Double, now: Instant) {
    barredUntil = now + .microseconds(Int64(min(time, constants.longestBar)))
  }
}
