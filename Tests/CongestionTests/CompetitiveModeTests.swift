import Primitives
import Testing

@testable import Congestion

/// Competitive mode and its parts, each alone.
@Suite struct CompetitiveModeTests {
  private let begin = Instant(nanoseconds: 10_000_000_000)
  private let target = 10_000.0

  /// A path with a round trip of 100 ms and a queue.
  private func path(queue: Double, delivered: Double = 1e6) -> PathMeasurement {
    var path = PathMeasurement()
    path.roundTrip.add(100_000, now: begin)
    path.queue.standing = queue
    path.queue.mean = queue
    path.delivery.acknowledged = delivered
    return path
  }

  @Test func `the window follows RFC 9438`() {
    var window = CubicWindow()
    let begin = Instant(nanoseconds: 1_000_000_000)
    window.begin(rate: 1_200_000, roundTrip: 0.4, now: begin)
    #expect(window.packets == 40 && window.isSearching)
    let isReduced = window.reduce(roundTrip: 0.4, now: begin + .milliseconds(500))
    #expect(isReduced)
    #expect(abs(window.packets - 28) < 1e-9 && !window.isSearching)
    let isReducedTwice = window.reduce(roundTrip: 0.4, now: begin + .milliseconds(600))
    #expect(!isReducedTwice)
    // K = cbrt(40 × 0.3 / 0.4) = 3.1 s later it is where it was.
    var now = begin + .milliseconds(600)
    for _ in 0..<62 {
      now = now + .milliseconds(50)
      window.grow(elapsed: 0.05, roundTrip: 0.4, now: now)
    }
    #expect(abs(window.packets - 40) < 2)
  }

  @Test func `a queue that is never short belongs to somebody else`() {
    var contest = ContestDetector()
    contest.restart(now: begin)
    func isContested(_ seconds: Double, _ queue: Double) -> Bool {
      let now = begin + .milliseconds(Int(seconds * 1_000))
      let path = path(queue: queue)
      contest.handleReport(path, target: target, isSilent: false, now: now)
      return contest.isContested(path, target: target, now: now)
    }
    var found = [isContested(2.9, 60_000), isContested(3.1, 60_000)]
    #expect(found == [false, true])
    // Short once, or no queue that matters: nobody.
    found = [isContested(3.2, 10_000), isContested(3.3, 60_000), isContested(9, 30_000)]
    #expect(found == [false, false, false])
  }

  @Test func `a queue that overflows again and again does so sooner`() {
    var contest = ContestDetector()
    contest.restart(now: begin)
    var path = path(queue: 60_000)
    for number in 0..<4 as Range<UInt64> { path.losses.addLost(number) }
    path.losses.addArrived()
    path.losses.finishReport(isQueued: true)
    contest.handleReport(path, target: target, isSilent: false, now: begin + .seconds(1))
    #expect(!contest.isContested(path, target: target, now: begin + .seconds(2)))
    #expect(contest.isContested(path, target: target, now: begin + .milliseconds(2_001)))
  }

  @Test func `a drain is hopeless when the queue should long be gone`() {
    let contest = ContestDetector()
    let path = path(queue: 100_000)
    var drain = OverloadDrain()
    drain.mostDelay = 100_000
    drain.capacity = 1e6
    for (waited, unpaced, isHopeless) in [
      (574_000, 0, false), (576_000, 0, true), (576_000, 7e5, false), (876_000, 7e5, true),
    ] as [(Double, Double, Bool)] {
      drain.waited = waited
      #expect(contest.isHopeless(drain, path, target: target, unpaced: unpaced) == isHopeless)
    }
    drain.waited = 9e6
    #expect(!contest.isHopeless(drain, self.path(queue: 35_000), target: target, unpaced: 0))
  }

  @Test func `whose a queue is, is undecided while it stands and nothing else is sent`() {
    let contest = ContestDetector()
    var drain = OverloadDrain(shown: 1e6)
    drain.mostDelay = 1e6
    drain.capacity = 1e6
    // What is left beside 0.5 of the path falls by half of that at least, if it is our own.
    for (waited, queue, isUndecided, isHopeless) in [
      (900_000, 980_000, true, false), (900_000, 700_000, false, false),
      (1_870_000, 980_000, true, false), (1_880_000, 980_000, false, true),
      (1_880_000, 520_000, false, false),
    ] as [(Double, Double, Bool, Bool)] {
      drain.waited = waited
      let path = path(queue: queue)
      #expect(contest.isUndecided(drain, path, unpaced: 5e5) == isUndecided)
      #expect(contest.isHopeless(drain, path, target: target, unpaced: 5e5) == isHopeless)
    }
    // Where no more came out than audio takes, there is nothing to see it by.
    drain = OverloadDrain(shown: 8e5)
    (drain.mostDelay, drain.waited) = (1e6, 900_000)
    #expect(!contest.isUndecided(drain, path(queue: 980_000), unpaced: 5e5))
  }

  @Test(arguments: [
    (20_000, 3_600_000, 80_000, true), (17_000, 3_600_000, 80_000, false),
    (20_000, 3_400_000, 80_000, false), (20_000, 3_600_000, 55_000, false),
  ])
  func `with audio alone a queue that stays is somebody else's`(
    gap: Int64, waited: Double, queue: Double, isHopeless: Bool
  ) {
    let contest = ContestDetector()
    var path = path(queue: queue)
    for index in 0..<120 as Range<Int64> {
      path.arrivals.add(
        ArrivedPacket(sent: index * 20_000, arrival: 900_000 + index * gap, byteCount: 130))
    }
    var drain = OverloadDrain()
    (drain.mostDelay, drain.waited) = (100_000, waited)
    let found = contest.isHopeless(
      drain, path, target: target, unpaced: 52_000, isLimited: true)
    #expect(found == isHopeless)
  }

  @Test(arguments: [true, false]) func `a test sees whether the queue is our own`(isOwn: Bool) {
    var test = RivalTest()
    var path = path(queue: 200_000)
    path.delivery.recent = 1e6
    test.begin(now: begin)
    var limits: [Double?] = []
    // A packet of 1000 bytes each 8 ms is what the line carries; in a test 0.6 of it are sent.
    var sent = begin
    var queue: Int64 = 400_000
    for _ in 0..<900 {
      let limit = test.limit(1e6, path, isSearching: false, now: sent)
      limits.append(limit)
      guard let limit else { break }
      let gap = Int64(8_000 * 1e6 / limit)
      sent = sent + .microseconds(gap)
      if isOwn { queue = max(0, queue - (gap - 8_000)) }
      let moment = Int64(sent.nanoseconds / 1_000)
      path.arrivals.add(ArrivedPacket(sent: moment, arrival: moment + queue, byteCount: 1_000))
    }
    #expect(limits.contains(0.6e6))
    #expect(limits.contains(nil) == isOwn)
  }

  @Test func `it ends when the queue stays short, and when there is nothing to compete with`() {
    var mode = CompetitiveMode()
    let first = mode.begin(path(queue: 100_000), after: OverloadDrain(), now: begin)
    #expect(abs(first - 1e6) < 1)
    func step(_ milliseconds: Int, _ queue: Double, isElastic: Bool = true)
      -> CompetitiveMode.Step
    {
      mode.handleReport(
        path(queue: queue), estimate: 1e6, target: target, traffic: .init(isElastic: isElastic),
        elapsed: 50_000, now: begin + .milliseconds(milliseconds))
    }
    let steps = [step(50, 9_000), step(2_550, 9_000), step(2_551, 9_000)]
    #expect(steps.last == .ends(.room) && !steps.dropLast().contains(.ends(.room)))
    #expect(step(2_600, 100_000, isElastic: false) == .ends(.queue))
  }

  @Test func `a search that only makes the queue longer is barred`() {
    var mode = CompetitiveMode()
    _ = mode.begin(path(queue: 100_000), after: OverloadDrain(), now: begin)
    let step = mode.handleReport(
      path(queue: 401_000), estimate: 1e6, target: target, elapsed: 50_000,
      now: begin + .milliseconds(50))
    #expect(step == .ends(.queue))
    #expect(mode.isBarred(now: begin + .milliseconds(851)))
    #expect(!mode.isBarred(now: begin + .milliseconds(852)))
  }

  /// 5e5 bit/s of an estimate of 1e6 arrive: half of what was sent, or all of it.
  @Test(arguments: [8_000, 16_000] as [Int64])
  func `where less comes out than is sent nobody gives way`(sendingGap: Int64) {
    var mode = CompetitiveMode()
    _ = mode.begin(path(queue: 100_000), after: OverloadDrain(), now: begin)
    var path = path(queue: 100_000, delivered: 5e5)
    for index in 0..<80 as Range<Int64> {
      path.arrivals.add(
        ArrivedPacket(
          sent: index * sendingGap, arrival: 2_000_000 + index * 16_000, byteCount: 1_000))
    }
    var step: CompetitiveMode.Step?
    for report in 1...12 {
      step = mode.handleReport(
        path, estimate: 1e6, target: target, elapsed: 50_000,
        now: begin + .milliseconds(50 * report))
      if step == .ends(.queue) { break }
    }
    // An encoder that makes less than it may is not alone.
    let isAlone = sendingGap == 8_000
    #expect((step == .ends(.queue)) == isAlone)
    #expect(mode.isBarred(now: begin + .seconds(20)) == isAlone)
  }

  @Test func `it ends when packets arrive much faster than they were sent`() {
    for (gap, isGone) in [(10_000, true), (15_000, false)] as [(Int64, Bool)] {
      var mode = CompetitiveMode()
      _ = mode.begin(path(queue: 300_000), after: OverloadDrain(), now: begin)
      var path = path(queue: 150_000)
      for index in 0..<80 as Range<Int64> {
        path.arrivals.add(
          ArrivedPacket(sent: index * 20_000, arrival: 2_000_000 + index * gap, byteCount: 1_000))
      }
      let step = mode.handleReport(
        path, estimate: 1e6, target: target, elapsed: 50_000, now: begin + .milliseconds(50))
      #expect((step == .ends(.room)) == isGone)
    }
  }

  @Test(arguments: [70_000.0, 80_000]) func `a probe that gets no more than it had is given up`(
    later: Double
  ) {
    var mode = CompetitiveMode()
    let first = mode.begin(
      path(queue: 200_000, delivered: 50_000), after: OverloadDrain(), isLimited: true, now: begin)
    #expect(abs(first - 100_000) < 1)
    var ended: Int?
    for report in 1...200 where ended == nil {
      let step = mode.handleReport(
        path(queue: 200_000, delivered: report > 20 ? later : 50_000), estimate: 8e4,
        target: target, traffic: .init(isLimited: true), elapsed: 50_000,
        now: begin + .milliseconds(50 * report))
      if step == .ends(.queue) { ended = report * 50 }
    }
    // 4 s and five round trips of 300 ms, from the first report on.
    #expect(ended == (later < 75_000 ? 5_600 : nil))
    #expect(mode.isBarred(now: begin + .seconds(20)) == (ended != nil))
  }
}
