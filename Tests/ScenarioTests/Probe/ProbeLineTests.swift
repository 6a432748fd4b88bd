import LastMile
import Primitives
import Simulation
import Testing

/// The shipped prober and reflector alone over lines of all kinds; tools/probe-accuracy has the
/// whole grid.
@Suite struct ProbeLineTests {
  private func conditions(
    _ rate: UInt64, roundTrip: Int64, loss: Double, jitter: Int64, queue: Int64
  ) -> LinkConditions {
    var conditions = LinkConditions(delay: .microseconds(500 * roundTrip))
    conditions.rate = .init(rate, queue: .time(.milliseconds(queue)))
    if loss > 0 { conditions.loss = .random(loss) }
    if jitter > 0 { conditions.jitter = .uniform(upTo: .milliseconds(jitter)) }
    return conditions
  }

  @Test(
    arguments: [
      (300_000, 2_000_000, 20, 0.0, 0), (1_000_000, 5_000_000, 60, 0.01, 20),
      (2_000_000, 300_000, 200, 0.05, 20), (5_000_000, 1_000_000, 60, 0.2, 0),
    ] as [(UInt64, UInt64, Int64, Double, Int64)])
  func `rates are right within 4 percent in the median, and directions never mixed up`(
    up: UInt64, down: UInt64, roundTrip: Int64, loss: Double, jitter: Int64
  ) {
    var errors: [Double] = []
    for seed in 1...5 as ClosedRange<UInt64> {
      var line = ProbeLine(
        ProbedLine.plan,
        up: conditions(up, roundTrip: roundTrip, loss: loss, jitter: jitter, queue: 200),
        down: conditions(down, roundTrip: roundTrip, loss: loss, jitter: jitter, queue: 200),
        seed: seed)
      let report = line.run()
      for (way, truth) in [(report?.uplink, up), (report?.downlink, down)] {
        let rate = way?.bandwidth?.bitsPerSecond ?? 0
        errors.append(abs(rate / Double(truth) - 1))
      }
    }
    errors.sort()
    #expect(errors[errors.count / 2] <= 0.04, "\(errors)")
    #expect((errors.last ?? 1) < 0.5, "\(errors)")
  }

  @Test(
    arguments: [(10, 20, 0.0, 0, 200), (50, 60, 0.01, 0, 30), (100, 20, 0, 0, 200)]
      as [(Int, Int64, Double, Int64, Int64)])
  func `fast lines are measured as slow ones are`(
    megabits: Int, roundTrip: Int64, loss: Double, jitter: Int64, queue: Int64
  ) {
    var plan = ProbePlan()
    plan.expectedUplink = 100_000_000
    plan.expectedDownlink = 100_000_000
    let rate = UInt64(megabits) * 1_000_000 * 95 / 100
    let line = conditions(
      rate, roundTrip: roundTrip, loss: loss, jitter: jitter, queue: queue)
    var probe = ProbeLine(plan, up: line, down: line, seed: UInt64(megabits))
    let report = probe.run()
    for (word, way) in [("up", report?.uplink), ("down", report?.downlink)] {
      let found = way?.bandwidth?.bitsPerSecond ?? 0
      #expect(abs(found / Double(rate) - 1) < 0.05, "\(word): \(found) of \(rate)")
      #expect(way?.bandwidth?.heldByHost == false && (way?.sentShare ?? 0) > 0.9, "\(word)")
    }
    #expect((report?.cost.seconds ?? 9) <= 8 && (report?.cost.bytesSent ?? .max) < 26_300_000)
  }

  @Test func `another end's limit is what is tested, and is said`() {
    var plan = ProbePlan()
    plan.expectedDownlink = 50_000_000
    var limits = ReflectorLimits()
    limits.rate = 5_250_000
    let line = conditions(60_000_000, roundTrip: 20, loss: 0, jitter: 0, queue: 200)
    var probe = ProbeLine(plan, up: line, down: line, seed: 9, limits: limits)
    let report = probe.run()
    #expect(report?.downlink?.otherEndLimit == 5_000_000)
    #expect(report?.downlink?.bandwidth?.limitedByTest == true)
    #expect(abs((report?.downlink?.bandwidth?.bitsPerSecond ?? 0) - 5_000_000) < 100_000)
  }

  @Test func `a test whose time is over before the line is full says at least`() {
    var plan = ProbePlan()
    plan.expectedUplink = 20_000_000
    plan.expectedDownlink = 20_000_000
    plan.seconds = 4
    let line = conditions(15_000_000, roundTrip: 300, loss: 0, jitter: 0, queue: 200)
    var probe = ProbeLine(plan, up: line, down: line, seed: 11)
    let report = probe.run()
    for way in [report?.uplink, report?.downlink] {
      let found = way?.bandwidth
      #expect((found?.bitsPerSecond ?? 15_000_000) < 8_000_000, "else nothing is shown")
      #expect(found?.ranOutOfTime == true && found?.isLowerBound == true)
      #expect(found?.heldByHost == false && found?.limitedByTest == false)
      #expect(found?.high == 20_000_000)
    }
    let rating = report.map { LineRating($0, listeningBasis: "none") { _ in 4 } }
    #expect(rating?.sentence.contains("at least") == true)
    #expect(rating?.sentence.contains("a longer --duration") == true)
    #expect(rating?.fitness.hd != .yes)
    plan.seconds = 30
    var longer = ProbeLine(plan, up: line, down: line, seed: 11)
    let whole = longer.run()?.downlink?.bandwidth
    #expect(whole?.ranOutOfTime == false)
    #expect(abs((whole?.bitsPerSecond ?? 0) / 15_000_000 - 1) < 0.05)
  }

  @Test(arguments: [1_000_000, 2_000_000] as [UInt64])
  func `the shortest test finds a usual line`(rate: UInt64) {
    var plan = ProbePlan()
    plan.seconds = 4
    let line = conditions(rate, roundTrip: 60, loss: 0, jitter: 0, queue: 300)
    var probe = ProbeLine(plan, up: line, down: line, seed: rate)
    let report = probe.run()
    for way in [report?.uplink, report?.downlink] {
      #expect(abs((way?.bandwidth?.bitsPerSecond ?? 0) / Double(rate) - 1) < 0.05)
      #expect(way?.bandwidth?.ranOutOfTime == false)
    }
  }

  @Test(arguments: [40_000, 60_000] as [UInt64])
  func `a narrow line is idle while nothing but echoes is sent`(rate: UInt64) {
    let narrow = conditions(rate, roundTrip: 60, loss: 0, jitter: 0, queue: 300)
    var line = ProbeLine(ProbePlan(), up: narrow, down: narrow, seed: rate)
    let report = line.run()
    // An echo, and its answer, at the line's rate.
    let least = 60 + 2 * Double(8 * 112) / Double(rate) * 1000
    #expect((report?.idleRoundTrip?.delay.p50Ms ?? 1000) < least + 10)
    for way in [report?.uplink, report?.downlink] {
      #expect((way?.loss?.share ?? 1) < 0.02)
      // Trains of 250 kbit/s overflow the queue of the narrower one.
      let most = rate < 50_000 ? 0.3 : 0.15
      #expect(abs((way?.bandwidth?.bitsPerSecond ?? 0) / Double(rate) - 1) < most)
    }
  }

  @Test func `requests that stop reaching the reflector end everything there`() {
    let clean = conditions(2_000_000, roundTrip: 60, loss: 0, jitter: 0, queue: 200)
    var line = ProbeLine(ProbedLine.plan, up: clean, down: clean, seed: 3)
    let cut = Instant(nanoseconds: 4_000_000_000)
    line.isCutOffAt = cut
    _ = line.run()
    let late = line.reflected.filter { $0.at > cut + .milliseconds(250) }
    #expect(late.allSatisfy { $0.byteCount < 1_100 }, "reports at most, no train")
    #expect(line.report != nil)
  }

  @Test func `a silent other end is unavailable within two seconds`() throws {
    let clean = conditions(2_000_000, roundTrip: 60, loss: 0, jitter: 0, queue: 200)
    var line = ProbeLine(ProbedLine.plan, up: clean, down: clean, seed: 4)
    line.isSilent = true
    _ = line.run()
    let report = try #require(line.report)
    #expect(report.state == .unavailable && report.cost.seconds < 2.1)
    #expect(line.reflected.isEmpty)
  }

  @Test func `a machine's own times are never compared with the other's`() throws {
    // Two clocks a day apart, 50 ppm off each other: seeds decide.
    let clean = conditions(2_000_000, roundTrip: 60, loss: 0, jitter: 0, queue: 200)
    for seed in 10...16 as ClosedRange<UInt64> {
      var line = ProbeLine(ProbedLine.plan, up: clean, down: clean, seed: seed)
      _ = line.run()
      let trip = try #require(line.report?.idleRoundTrip)
      #expect(abs(trip.delay.minimumMs - 60.8) < 1.6)
    }
  }
}
