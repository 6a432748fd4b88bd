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
    /// The rival has gone when packets arrive at this × the rate at which they were sent: nothing
    /// of it was between them. Tuned.
    package var goneRatio = 1.6
    /// Over this, µs: a rival that repairs a loss pauses for less. Tuned.
    package var goneSpan: Int64 = 500_000
    /// Over so many round trips at least: a rival waits for its acknowledgements. Tuned.
    package var goneRoundTrips = 1.5
    /// Over so many packets at least. Tuned.
    package var gonePackets = 20
    /// With a queue below this × the longest one of this contest: what is left is ours. Tuned.
    package var goneQueue = 0.6
    /// Loss beyond the inherent one that reduces the window, share of packets. Tuned.
    package var lossExcess = 0.001
    /// The window grows only where this × estimate is delivered: RFC 9438 §5.8. Tuned.
    package var usedShare = 0.2
    /// The same where no more than a probe is sent. Tuned.
    package var limitedShare = 0.7
    /// There the first rate is this × delivery rate. Tuned.
    package var limitedFirst = 1.6
    /// What is sent then, and does not come out, is ours, below this × what is sent. Tuned.
    package var limitedStuck = 0.8
    /// What is delivered must have become this × what it was, or nobody gives way. Tuned.
    package var limitedGain = 1.5
    /// In this time, s. Tuned.
    package var limitedTime = 4.0
    /// And so many round trips: the window grows by them. Tuned.
    package var limitedRoundTrips = 5.0
    /// Rates are taken over this, µs. Tuned.
    package var limitedSpan: Int64 = 500_000
    /// The same, packets at least. Tuned.
    package var limitedPackets = 12
    /// Before the first loss the queue is ours at this × the queue as it was found. Tuned.
    package var ownQueue = 3.0
    /// What is added to that, µs. Tuned.
    package var ownQueueExcess = 100_000.0
    /// With a longer queue before the first loss, it has no end that one could find, µs. Tuned.
    package var longestQueue = 2_500_000.0
    /// Nobody gives way while less than this × estimate is delivered. Tuned.
    package var stuckShare = 0.6
    /// And what is sent does not come out: less than this × it arrives. The middle of 1 and of what
    /// one who is alone sees, who sends `competingRoom` (1.3) × what arrives.
    package var stuckRates = 0.88
    /// It is so for this, round trips. Tuned.
    package var stuckRoundTrips = 2.0
    /// What is added to that, s. Tuned.
    package var stuckTime = 0.1
    /// What arrives over `limitedSpan` is steady within this share: beside others it hardly is.
    /// Tuned.
    package var steadyShare = 0.06
    /// Steady for this, and a test tells whether anybody is there. Tuned.
    package var steadyTime = Duration.seconds(1)
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

  /// What is sent beside audio and reports.
  struct Traffic {
    /// There is something.
    var isElastic = true
    /// It is a probe, and less than the estimate.
    var isLimited = false
    /// It comes in frames with gaps between them, as at a relay.
    var hasGaps = false
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
  /// Since when no more than a probe is sent; what was delivered then, and the most since, bit/s.
  private var limitedSince: Instant?
  private var limitedFrom = 0.0
  private var limitedMost = 0.0
  /// Since when the queue has been short.
  private var shortSince: Instant?
  /// The queue as it was found, and the longest since, in microseconds.
  private var delayBefore = 0.0
  private var mostDelay = 0.0
  /// What arrives since then, within `steadyShare`: bit/s.
  private var steady = (rate: 0.0, since: Instant.zero)
  /// With audio alone: somebody else seems to keep the queue.
  var isSuspected = false

  init(_ constants: Constants = Constants()) {
    self.constants = constants
    contest = ContestDetector(constants.contest)
    window = CubicWindow(constants.window)
    test = RivalTest(constants.test)
  }

  func isBarred(now: Instant) -> Bool { now < barredUntil }

  /// Begins; the first rate, in bit/s.
  mutating func begin(
    _ path: PathMeasurement, after drain: OverloadDrain, isLimited: Bool = false, now: Instant
  ) -> Double {
    contest.restart(now: now)
    stuckSince = nil
    shortSince = nil
    limitedSince = nil
    let delivered = path.delivery.acknowledged
    let first =
      isLimited
      ? delivered * constants.limitedFirst
      : min(drain.before * constants.firstShare, delivered * constants.mostFirst)
    window.begin(rate: max(delivered, first), roundTrip: path.loadedRoundTrip, now: now)
    test.begin(now: now)
    steady = (0, now)
    delayBefore = max(path.queue.standing, drain.mostDelay)
    mostDelay = delayBefore
    return window.rate(roundTrip: path.loadedRoundTrip)
  }

  /// - Parameters:
  ///   - estimate: As it was, bit/s.
  ///   - target: The target delay, µs.
  ///   - elapsed: Since the last report, µs.
  mutating func handleReport(
    _ path: PathMeasurement, estimate: Double, target: Double, traffic: Traffic = Traffic(),
    elapsed: Double, now: Instant
  ) -> Step {
    mostDelay = max(mostDelay, path.queue.standing)
    if isOver(path.queue.standing, target: target, now: now) { return .ends(.room) }
    guard traffic.isElastic else { return .ends(.queue) }
    if hasGone(path) { return .ends(.room) }
    if !traffic.hasGaps { hastenTest(path, now: now) }
    let isReduced = follow(path, traffic, estimate: estimate, elapsed: elapsed, now: now)
    let queue = path.queue.standing
    let own = constants.ownQueue * delayBefore + constants.ownQueueExcess
    if window.isSearching, queue > min(own, constants.longestQueue) {
      // Before anything was lost the queue is several times what it was: we made it.
      bar(for: constants.barQueues * queue, now: now)
      return .ends(.queue)
    }
    let isVain = isVain(path, traffic, now: now)
    if isAlone(path, isStuck: isStuck(path, traffic, estimate: estimate), now: now) || isVain {
      barredUntil = now + constants.bar
      return .ends(.queue)
    }
    let rate = window.rate(roundTrip: path.loadedRoundTrip)
    if traffic.isLimited { return .goesOn(rate, isReduced: isReduced) }
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

  /// A queue of our own comes out at one rate.
  private mutating func hastenTest(_ path: PathMeasurement, now: Instant) {
    guard
      let rates = path.arrivals.rates(
        over: constants.limitedSpan, atLeast: constants.limitedPackets),
      abs(rates.arrival - steady.rate) < constants.steadyShare * steady.rate
    else {
      let rates = path.arrivals.rates(
        over: constants.limitedSpan, atLeast: constants.limitedPackets)
      steady = (rates?.arrival ?? 0, now)
      return
    }
    guard now - steady.since > constants.steadyTime else { return }
    test.hasten(now: now)
    steady.since = now
  }

  /// All at once our packets come one behind the other: what was between them has left.
  private func hasGone(_ path: PathMeasurement) -> Bool {
    guard path.queue.standing < constants.goneQueue * mostDelay else { return false }
    let roundTrips = Int64(constants.goneRoundTrips * path.loadedRoundTrip * 1e6)
    let rates = path.arrivals.rates(
      over: max(constants.goneSpan, roundTrips), atLeast: constants.gonePackets)
    return rates.map { $0.arrival > constants.goneRatio * $0.sending } ?? false
  }

  /// Moves the window; whether it was reduced.
  private mutating func follow(
    _ path: PathMeasurement, _ traffic: Traffic, estimate: Double, elapsed: Double, now: Instant
  ) -> Bool {
    let roundTrip = path.loadedRoundTrip
    if path.losses.lostInReport > 0,
      path.losses.recent > path.losses.inherent + constants.lossExcess
    {
      return window.reduce(roundTrip: roundTrip, now: now)
    }
    // What is not used says nothing of what there is (RFC 9438 §5.8).
    let used = traffic.isLimited ? constants.limitedShare : constants.usedShare
    guard path.delivery.acknowledged > used * estimate else { return false }
    if !window.isSearching {
      window.grow(elapsed: elapsed / 1e6, roundTrip: roundTrip, now: now)
    } else if stuckSince == nil,
      traffic.isLimited || traffic.hasGaps || !isBehind(path, estimate: estimate)
    {
      window.search(elapsed: elapsed / 1e6, roundTrip: roundTrip)
    }
    return false
  }

  /// A probe has not got more in all its time.
  private mutating func isVain(
    _ path: PathMeasurement, _ traffic: Traffic, now: Instant
  ) -> Bool {
    guard traffic.isLimited, let since = limitedSince else {
      limitedSince = traffic.isLimited ? now : nil
      (limitedFrom, limitedMost) = (path.delivery.acknowledged, 0)
      return false
    }
    limitedMost = max(limitedMost, path.delivery.acknowledged)
    let time = constants.limitedTime + constants.limitedRoundTrips * path.loadedRoundTrip
    return Double(now.nanoseconds(since: since)) / 1e9 > time
      && limitedMost < constants.limitedGain * limitedFrom
  }

  /// Less comes out than is sent. What an encoder leaves of the estimate was not sent.
  private func isStuck(
    _ path: PathMeasurement, _ traffic: Traffic, estimate: Double
  ) -> Bool {
    guard traffic.isLimited || window.isSearching && isBehind(path, estimate: estimate) else {
      return false
    }
    // What comes out of a gap says nothing of what was sent into it.
    if traffic.hasGaps, !traffic.isLimited { return true }
    let share = traffic.isLimited ? constants.limitedStuck : constants.stuckRates
    let rates = path.arrivals.rates(
      over: constants.limitedSpan, atLeast: constants.limitedPackets)
    return rates.map { $0.arrival < share * $0.sending } ?? false
  }

  private func isBehind(_ path: PathMeasurement, estimate: Double) -> Bool {
    path.delivery.acknowledged < constants.stuckShare * estimate
  }

  /// In the search more and more is sent; beside others it comes out, alone it only queues.
  private mutating func isAlone(_ path: PathMeasurement, isStuck: Bool, now: Instant) -> Bool {
    guard isStuck else {
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
