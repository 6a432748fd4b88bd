import Audio
import Primitives
import Testing
import Wire

@Suite struct RedundancyPolicyTests {
  /// Feeds a policy with a report every 200 ms about ten frames each.
  private struct Reporter {
    var policy: RedundancyPolicy
    var report = AudioReportFrame()
    var now = Instant(nanoseconds: 1_000_000_000)
    var allowance = PathConditions.unlimited

    init(_ limits: RedundancyPolicy.Limits = RedundancyPolicy.Limits()) {
      policy = RedundancyPolicy(limits)
    }

    /// - Parameters:
    ///   - lost: of ten frames in each report.
    ///   - bursts: in how many runs.
    mutating func run(seconds: Double, lost: UInt16, bursts: UInt16? = nil) {
      for _ in 0..<Int(seconds * 5) {
        now = now + .milliseconds(200)
        report.framesExpected &+= 10
        report.framesLost &+= lost
        report.lossBursts &+= bursts ?? lost
        _ = policy.handle(report, allowance: allowance, now: now)
      }
    }
  }

  private static func distances(_ plan: RedundancyPlan) -> [Int] {
    (0..<plan.copyCount).map { plan.copy($0).distance }
  }

  @Test func `frames of 10 ms stay where the line carries them`() {
    let limits = RedundancyPolicy.Limits(bitrate: 32_000, frameLength: .milliseconds10)
    var policy = RedundancyPolicy(limits)
    var report = AudioReportFrame()
    var now = Instant(nanoseconds: 1_000_000_000)
    func run(_ allowance: Int) -> Int {
      var length = 0
      for _ in 0..<20 {
        now = now + .milliseconds(200)
        report.framesExpected &+= 20
        _ = policy.handle(report, allowance: allowance, now: now)
        length = policy.plan.frameLength.milliseconds
      }
      return length
    }
    // 32 kbit/s of sound and 44.8 kbit/s of headers.
    #expect([511_000, 300_000, 90_000, 77_000].map { run($0) } == [10, 10, 10, 10])
    #expect(run(76_000) == 20)
    #expect(run(90_000) == 20, "back only where there is room to stay")
    #expect(run(97_000) == 10)
    #expect(run(40_000) == 40 && run(20_000) == 60 && run(300_000) == 10)
    #expect(RedundancyPolicy.wireBitrate(of: policy.plan) <= 300_000)
  }

  @Test func `a clean line costs nothing`() {
    var reporter = Reporter()
    #expect(reporter.policy.plan.copyCount == 1, "until the path is known")
    #expect(RedundancyPolicy.wireBitrate(of: reporter.policy.plan) <= 64_000)
    reporter.run(seconds: 4, lost: 0)
    #expect(reporter.policy.plan == RedundancyPlan())
    reporter.run(seconds: 60, lost: 0)
    #expect(reporter.policy.plan == RedundancyPlan())
  }

  @Test func `two copies from the first loss on, and none four seconds after the last`() {
    var reporter = Reporter()
    reporter.run(seconds: 20, lost: 0)
    reporter.run(seconds: 0.2, lost: 1)
    #expect(reporter.policy.level == .light)
    #expect(Self.distances(reporter.policy.plan) == [1, 3])
    #expect(!reporter.policy.plan.copy(0).isLowRate)
    reporter.run(seconds: 3.8, lost: 0)
    #expect(reporter.policy.level == .light)
    reporter.run(seconds: 0.6, lost: 0)
    #expect(reporter.policy.level == .none)
    #expect(reporter.policy.plan.copyCount == 0)
  }

  @Test func `losses that come back are waited for longer`() {
    var reporter = Reporter()
    reporter.run(seconds: 20, lost: 0)
    var protected = 0
    for _ in 0..<10 {
      if reporter.policy.plan.copyCount > 0 { protected += 1 }
      reporter.run(seconds: 0.2, lost: 1)
      reporter.run(seconds: 7, lost: 0)
    }
    #expect(protected == 8, "from the second on they are waited for for eight seconds")
    reporter.run(seconds: 40, lost: 0)
    reporter.run(seconds: 0.2, lost: 1)
    reporter.run(seconds: 4.4, lost: 0)
    #expect(reporter.policy.level == .none, "after forty seconds none is known of them")
  }

  /// Losses in every ten frames, runs of them, and how soon which copies are there.
  @Test(
    arguments: [
      (lost: 2, bursts: 2, seconds: 1.0, distances: [1, 2, 3]),
      (lost: 3, bursts: 2, seconds: 0.8, distances: [1, 2, 3]),
      (lost: 1, bursts: 1, seconds: 3.2, distances: [1, 2]),
      (lost: 3, bursts: 1, seconds: 0.4, distances: [2, 4, 7]),
    ] as [(UInt16, UInt16, Double, [Int])])
  func `what came before an onset does not hide what it is`(
    lost: UInt16, bursts: UInt16, seconds: Double, distances: [Int]
  ) {
    for calm in [5.0, 20, 300] {
      var reporter = Reporter()
      reporter.run(seconds: calm, lost: 0)
      reporter.run(seconds: 0.2, lost: 1)
      #expect(Self.distances(reporter.policy.plan) == [1, 3])
      reporter.run(seconds: seconds, lost: lost, bursts: bursts)
      #expect(Self.distances(reporter.policy.plan) == distances)
    }
  }

  /// Of every ten frames so many are lost in so many runs, for ten seconds.
  @Test(arguments: [(1, 1), (2, 2), (3, 3), (3, 1), (5, 2)] as [(UInt16, UInt16)])
  func `plain within five seconds of the end`(lost: UInt16, bursts: UInt16) {
    var reporter = Reporter()
    reporter.run(seconds: 20, lost: 0)
    reporter.run(seconds: 10, lost: lost, bursts: bursts)
    #expect(reporter.policy.plan.copyCount >= 2)
    reporter.run(seconds: 4.8, lost: 0)
    #expect(reporter.policy.plan == RedundancyPlan())
  }

  @Test(arguments: [1, 2, 3, 5] as [UInt16]) func `stays within its budget`(lost: UInt16) {
    for payload in [nil, 20_000, 48_000, 64_000] as [Int?] {
      for bursts in [lost, max(1, lost / 3)] {
        var limits = RedundancyPolicy.Limits()
        limits.payloadBitrate = payload
        var reporter = Reporter(limits)
        reporter.run(seconds: 15, lost: lost, bursts: bursts)
        let plan = reporter.policy.plan
        let headers = plan.copyCount * 2 * 8 * 50
        let most = payload ?? (lost == 1 ? 70_400 : 96_000)
        #expect(plan.payloadBitrate + headers <= most)
        #expect(plan.bitrate <= 32_000)
      }
    }
  }

  @Test func `rare losses get a parity, more of them copies, and back`() {
    var reporter = Reporter()
    for _ in 0..<30 {
      reporter.run(seconds: 0.2, lost: 1)
      reporter.run(seconds: 0.2, lost: 0)
    }
    let rare = reporter.policy.plan
    #expect(rare.copyCount == 1 && rare.copy(0).distance == 1 && rare.copy(0).parityDistance == 3)
    #expect(rare.bitrate == 32_000 && rare.payloadBitrate <= 70_400)
    #expect(!rare.usesLowRateCopies, "nothing is encoded twice")
    reporter.run(seconds: 8, lost: 1)
    #expect(Self.distances(reporter.policy.plan) == [1, 2])
    #expect(reporter.policy.plan.copiesFollowFrames)
    for _ in 0..<30 {
      reporter.run(seconds: 0.2, lost: 1)
      reporter.run(seconds: 0.2, lost: 0)
    }
    #expect(reporter.policy.plan == rare)
  }

  @Test func `losses in runs get copies that are spread`() {
    var reporter = Reporter()
    reporter.run(seconds: 10, lost: 1)
    #expect(Self.distances(reporter.policy.plan) == [1, 2])
    reporter.run(seconds: 0.2, lost: 3, bursts: 1)
    reporter.run(seconds: 4, lost: 0)
    for _ in 0..<8 {
      reporter.run(seconds: 0.2, lost: 3, bursts: 1)
      reporter.run(seconds: 0.4, lost: 0)
    }
    #expect(reporter.policy.isBursty)
    #expect(Self.distances(reporter.policy.plan) == [2, 4, 7])
  }

  @Test(arguments: [0, 1, 4] as [UInt16])
  func `takes what it is allowed, whatever is lost`(lost: UInt16) {
    var reporter = Reporter()
    for allowance in [511_000, 60_000, 30_000, 20_000, 60_000, 511_000] {
      reporter.allowance = allowance
      reporter.run(seconds: 5, lost: lost)
      let plan = reporter.policy.plan
      #expect(RedundancyPolicy.wireBitrate(of: plan) <= allowance, "\(allowance): \(plan)")
    }
    reporter.run(seconds: 15, lost: 0)
    #expect(reporter.policy.plan == RedundancyPlan())
  }

  @Test func `less is obeyed at once, more with the next report`() {
    var reporter = Reporter()
    reporter.run(seconds: 4, lost: 0)
    let whole = reporter.policy.plan
    let isTold = reporter.policy.limit(to: 60_000)
    #expect(!isTold && reporter.policy.plan == whole, "the plan takes no more")
    let isLess = reporter.policy.limit(to: 30_000)
    #expect(isLess && RedundancyPolicy.wireBitrate(of: reporter.policy.plan) <= 30_000)
    let isMore = reporter.policy.limit(to: 200_000)
    #expect(!isMore)
    reporter.run(seconds: 0.2, lost: 0)
    #expect(reporter.policy.plan == whole)
  }

  @Test func `longer packets when headers would take the most`() {
    var policy = RedundancyPolicy(RedundancyPolicy.Limits())
    var report = AudioReportFrame()
    var chosen: [FrameLength] = []
    let wires = [60_000, 40_000, 24_000, 30_000, 40_000, 50_000, 70_000]
    for (number, wire) in wires.enumerated() {
      report.framesExpected &+= 10
      _ = policy.handle(
        report, allowance: wire, now: Instant(nanoseconds: UInt64(number + 1) * 1_000_000_000))
      chosen.append(policy.plan.frameLength)
      #expect(RedundancyPolicy.wireBitrate(of: policy.plan) <= wire)
    }
    #expect(
      chosen == [
        .milliseconds20, .milliseconds40, .milliseconds60, .milliseconds60, .milliseconds40,
        .milliseconds40, .milliseconds20,
      ])
  }

  /// Copies do not help against an outage, so there are none because of one.
  @Test(arguments: [125, 500, 900] as [UInt16])
  func `an outage that is told draws no copies`(frames: UInt16) {
    var reporter = Reporter()
    reporter.run(seconds: 30, lost: 0)
    let plan = reporter.policy.plan
    reporter.report.framesExpected &+= frames
    reporter.report.framesLost &+= frames
    reporter.report.framesUnrepaired &+= frames
    reporter.run(seconds: 1, lost: 0)
    #expect(reporter.policy.plan == plan && plan.copyCount == 0)
    // A run of losses is no outage.
    reporter.report.framesExpected &+= 60
    reporter.report.framesLost &+= 60
    reporter.report.lossBursts &+= 1
    reporter.report.longestBurst = 60
    reporter.run(seconds: 0.2, lost: 0)
    #expect(reporter.policy.plan.copyCount >= 2)
  }

  @Test func `reports may be lost, repeated or wrap`() {
    var history = LossHistory()
    var report = AudioReportFrame()
    report.framesExpected = 65_530
    report.framesLost = 65_535
    var now = Instant(nanoseconds: 1_000_000_000)
    _ = history.appendReport(report, now: now)
    report.framesExpected &+= 20
    report.framesLost &+= 4
    now = now + .seconds(1)
    let share = history.appendReport(report, now: now)
    #expect(share.expected == 20 && share.lost == 4)
    let repeated = history.appendReport(report, now: now)
    #expect(repeated.expected == 0)
    report.framesExpected &-= 20
    #expect(history.appendReport(report, now: now).expected == 0)
    #expect(history.recent(frames: 100, within: 5_000_000_000, now: now).lost == 4)
  }
}
