import Primitives

/// The window of RFC 9438 (CUBIC), in packets of 1500 bytes: while somebody else keeps the queue
/// full only their own law gets a share beside them.
struct Competition: Sendable, BitwiseCopyable {
  private static let packetBits = 12_000.0
  private static let beta = 0.7
  private static let scale = 0.4

  /// A shorter queue than this, in microseconds, nobody need compete for.
  static let leastDelay = 30_000.0
  /// With a longer one, before anything was lost, the queue has no end that one could find.
  static let mostDelay = 2_500_000.0

  private(set) var window = 4.0
  private var windowAtLoss = 0.0
  private var friendly = 0.0
  private var epoch: Instant?
  private var origin = 0.0
  private var lastReduction = Instant.zero
  /// Until the first loss.
  private(set) var isSearching = true
  /// Since when, in the search, more was sent than came out: then nobody gives way.
  var stuckSince: Instant?
  /// It was tried, and nobody was there.
  var barredUntil = Instant.zero
  /// Since when the queue has been short.
  var shortSince: Instant?
  /// When the last test began whether the queue is our own, what is sent meanwhile, and what
  /// arrived before: bit/s.
  var testBegan: Instant?
  /// In microseconds: the longer the queue, the less it costs.
  var testSpan: Int64 = 0
  var testRate = 0.0
  var rateBefore = 0.0
  var nextTest = Instant.zero
  /// The queue as it was found, in microseconds.
  var delayBefore = 0.0
  /// Tests in a row after which the queue fell.
  var positiveTests = 0

  /// - Parameter roundTrip: With the queue, in seconds.
  mutating func begin(rate: Double, roundTrip: Double, now: Instant) {
    let barred = barredUntil
    self = Competition()
    barredUntil = barred
    window = max(Self.least(4, roundTrip), rate * roundTrip / Self.packetBits)
    windowAtLoss = window
    lastReduction = now
    nextTest = now + .seconds(1)
  }

  func rate(roundTrip: Double) -> Double { window * Self.packetBits / max(roundTrip, 0.01) }

  mutating func grow(elapsed: Double, roundTrip: Double, now: Instant) {
    if isSearching {
      if stuckSince == nil { window *= 1 + 0.5 * min(1, elapsed / roundTrip) }
      return
    }
    let began = epoch ?? now
    if epoch == nil {
      epoch = now
      friendly = window
      origin = Self.cubeRoot(max(0, windowAtLoss - window) / Self.scale)
    }
    let time = Double(now.nanoseconds(since: began)) / 1e9
    let distance = time - origin
    let target = Self.scale * distance * distance * distance + max(windowAtLoss, window)
    let share = min(1, elapsed / roundTrip)
    friendly += 0.53 * share
    if target > window { window += min(target - window, window * 0.5) * share }
    window = max(window, friendly)
  }

  /// Once a round trip.
  mutating func reduce(roundTrip: Double, now: Instant) -> Bool {
    guard Double(now.nanoseconds(since: lastReduction)) / 1e9 > roundTrip else { return false }
    lastReduction = now
    isSearching = false
    windowAtLoss = window < windowAtLoss ? window * (1 + Self.beta) / 2 : window
    window = max(Self.least(2, roundTrip), window * Self.beta)
    epoch = nil
    return true
  }

  /// So many packets, where they are not more than 25 kbit/s each: with a short round trip a few
  /// are more than a slow path carries.
  private static func least(_ packets: Double, _ roundTrip: Double) -> Double {
    packets * min(1, 25_000 * roundTrip / packetBits)
  }

  private static func cubeRoot(_ value: Double) -> Double {
    guard value > 0 else { return 0 }
    var root = max(1, value / 3)
    for _ in 0..<40 { root -= (root * root * root - value) / (3 * root * root) }
    return root
  }
}

/// A queue that others fill.
extension BandwidthEstimator {
  /// In seconds, with the queue.
  private var loadedRoundTrip: Double { (roundTrip.value + standingDelay) / 1e6 }

  /// Of a whole packet on the line: behind one that we have just sent everything waits so long.
  private var packetTime: Double { min(9_600e6 / max(acknowledgedRate, 1), 200_000) }

  /// A drain that should long be over: what we had in the queue has left, and it is as long as
  /// before.
  func isDrainHopeless(now: Instant) -> Bool {
    guard isElastic else { return false }
    // Beside audio and reports, which go on, it empties the slower.
    let share = min(insistentRate / max(drain.capacity, 1), 0.9)
    // Where the capacity falls by itself again and again it proves the less.
    let unrest = min(max((usualScatter - tuning.restlessFrom) / tuning.restlessSpan, 0), 1)
    let patience = 1 + tuning.restlessPatience * unrest
    return drain.waited > (max(2, 1.5 / (1 - share)) * drain.mostDelay + 3 * cycle) * patience
      && standingDelay > max(2 * targetDelay, 0.3 * drain.mostDelay, Competition.leastDelay)
        + packetTime
      && now >= competition.barredUntil
  }

  /// For seconds the queue has been longer than we want it, and it overflows although we give way;
  /// or it was so without a break, which a queue of our own never is.
  mutating func isContested(now: Instant) -> Bool {
    if slowDelay < 2 * targetDelay { longSince = now }
    if standingDelay < 1.5 * targetDelay || state == .silent { fullSince = now }
    if losses.lostInReport > 0, losses.recent > 2 * losses.inherent + 0.002,
      standingDelay > 2.5 * targetDelay
    {
      lastOverflow = now
    }
    guard isElastic, !isOverburdened, now >= competition.barredUntil,
      standingDelay > max(2 * targetDelay, 0.6 * slowDelay, Competition.leastDelay) + packetTime
    else { return false }
    let isOverflowing = lastOverflow > longSince && now - lastOverflow < .seconds(4)
    return isOverflowing && now - longSince > .seconds(2)
      || now - fullSince > .seconds(3)
  }

  mutating func beginCompetition(now: Instant) {
    longSince = now
    fullSince = now
    state = .competing
    reason = .competition
    least.isHeld = true
    let rate = max(acknowledgedRate, min(drain.before * 0.4, acknowledgedRate * 2))
    competition.begin(rate: rate, roundTrip: loadedRoundTrip, now: now)
    competition.delayBefore = max(standingDelay, drain.mostDelay)
    estimate = competition.rate(roundTrip: loadedRoundTrip)
  }

  mutating func compete(elapsed: Double, now: Instant) {
    if standingDelay > targetDelay {
      competition.shortSince = nil
    } else if let since = competition.shortSince {
      if now - since > .milliseconds(2_500) { return endCompetition(reason: .room) }
    } else {
      competition.shortSince = now
    }
    guard isElastic else { return endCompetition(reason: .queue) }
    let roundTrip = loadedRoundTrip
    if losses.lostInReport > 0, losses.recent > losses.inherent + 0.001 {
      if competition.reduce(roundTrip: roundTrip, now: now) { reason = .loss }
    } else if acknowledgedRate > 0.2 * estimate {
      // What is not used says nothing of what there is (RFC 9438 §5.8).
      competition.grow(elapsed: elapsed / 1e6, roundTrip: roundTrip, now: now)
    }
    let mostOfOthers = min(3 * competition.delayBefore + 100_000, Competition.mostDelay)
    if competition.isSearching, standingDelay > mostOfOthers {
      // Before anything was lost the queue is several times what it was: we made it.
      return endCompetition(barredFor: 2 * standingDelay, now: now)
    }
    if isAlone(roundTrip: roundTrip, now: now) {
      competition.barredUntil = now + .seconds(20)
      return endCompetition(reason: .queue)
    }
    estimate = competition.rate(roundTrip: roundTrip)
    test(now: now)
  }

  /// In the search more and more is sent; beside others it comes out, alone it only queues.
  private mutating func isAlone(roundTrip: Double, now: Instant) -> Bool {
    guard competition.isSearching, acknowledgedRate < 0.6 * estimate else {
      competition.stuckSince = nil
      return false
    }
    guard let since = competition.stuckSince else {
      competition.stuckSince = now
      return false
    }
    return Double(now.nanoseconds(since: since)) / 1e9 > 2 * roundTrip + 0.1
  }

  /// Every few seconds less is sent for a moment: if the queue falls as it does for one who is
  /// alone, nobody else is there.
  private mutating func test(now: Instant) {
    guard let began = competition.testBegan else {
      if now >= competition.nextTest {
        competition.testBegan = now
        competition.testSpan = Int64(max(2 * cycle, 150_000, min(standingDelay / 2, 500_000)))
        competition.testRate = min(estimate, acknowledgedRate) * 0.6
        competition.rateBefore = provenRate
      }
      return
    }
    let from = Int64(clamping: began.nanoseconds / 1_000)
    let waited = Int64(clamping: now.nanoseconds(since: began) / 1_000)
    let span = competition.testSpan
    if waited < span { estimate = min(estimate, competition.testRate) }
    // What was sent at its end has arrived.
    guard let newest = arrivals.newest, newest.sent >= from &+ span || waited > span &+ 3_000_000
    else { return }
    competition.testBegan = nil
    let isPositive = arrivals.fall(sentFrom: from, to: from &+ span).map(isOurOwn) ?? false
    competition.positiveTests = isPositive ? competition.positiveTests + 1 : 0
    // The rival may have given way just then: twice is no accident.
    competition.nextTest =
      now + (isPositive ? .milliseconds(500) : competition.isSearching ? .seconds(2) : .seconds(6))
    guard competition.positiveTests >= 2 else { return }
    endCompetition(barredFor: 2 * standingDelay + 3_000_000, now: now)
  }

  /// The queue fell by as much as was sent less than the path carries.
  private func isOurOwn(_ fall: ArrivalWindow.Fall) -> Bool {
    let expected = Double(fall.span) - fall.bits * 1e6 / max(competition.rateBefore, 1)
    // Audio goes on all the same, and what it leaves may be too little to see anything by.
    return expected > 0.1 * Double(fall.span) && Double(fall.delay) > 0.75 * expected
  }

  /// - Parameter time: For what is in the queue to leave, in microseconds.
  private mutating func endCompetition(barredFor time: Double, now: Instant) {
    competition.barredUntil = now + .microseconds(Int64(min(time, 10_000_000)))
    endCompetition(reason: .queue)
  }

  private mutating func endCompetition(reason: Reason) {
    state = .holding
    self.reason = reason
    least.isHeld = false
    capacity = max(acknowledgedRate, limits.least)
    estimate = capacity
  }
}
