import LastMile
import Primitives
import Testing
import Wire

/// A prober alone: what it asks, and how it ends.
@Suite struct ProberTests {
  private static let start = Instant(nanoseconds: 5_000_000_000)

  private func prober(_ change: (inout ProbePlan) -> Void = { _ in }) -> Prober {
    var plan = ProbePlan()
    change(&plan)
    return Prober(plan, run: 7, overhead: 28, path: PathFacts(), now: Self.start)
  }

  /// The first frame of each packet that is due.
  private func drain(_ prober: inout Prober, now: Instant) -> [Frame] {
    var frames: [Frame] = []
    var hasWritten = true
    while hasWritten {
      var bytes: [UInt8] = []
      bytes.append(addingCapacity: Datagram.maximumByteCount) { output in
        hasWritten = prober.writeFrames(into: &output, tagByteCount: 25, now: now)
      }
      var reader = FrameReader(bytes.span)
      if hasWritten, let frame = try? reader.next() { frames.append(frame) }
    }
    return frames
  }

  private func ending(_ prober: inout Prober) -> LineReport.Ending? {
    var ending: LineReport.Ending?
    while let event: ProbeProgress = prober.pollEvent() {
      if case .finished(let report) = event { ending = report.ending }
    }
    return ending
  }

  @Test func `it asks every 100 ms, and gives up after two seconds`() {
    var prober = prober()
    var asked = 0
    var now = Self.start
    while prober.ending == nil, now < Self.start + .seconds(10) {
      prober.handleTimeout(now: now)
      asked += drain(&prober, now: now).count
      now = now + .milliseconds(5)
    }
    #expect((18...24).contains(asked), "\(asked)")
    #expect(ending(&prober) == .noAnswer)
    #expect(now <= Self.start + .milliseconds(2_100))
  }

  @Test(
    arguments: [
      (.busy, .busy), (.notAllowed, .notAllowed), (.callInProgress, .callInProgress),
      (.budgetSpent, .budgetSpent),
    ] as [(ProbeAnswerFrame.Status, LineReport.Ending)])
  func `a refusal is the end, in its own word`(
    status: ProbeAnswerFrame.Status, expected: LineReport.Ending
  ) {
    var prober = prober()
    _ = drain(&prober, now: Self.start)
    prober.handle(ProbeAnswerFrame(run: 8, number: 1, status: status), now: Self.start)
    #expect(prober.ending == nil, "of another run")
    prober.handle(ProbeAnswerFrame(run: 7, number: 1, status: status), now: Self.start)
    #expect(ending(&prober) == expected)
  }

  @Test func `echoes take a third of the lowest expected rate at most`() {
    var prober = prober { $0.expectedUplink = 100_000 }
    _ = drain(&prober, now: Self.start)
    prober.handle(ProbeAnswerFrame(run: 7, number: 1, status: .accepted), now: Self.start)
    var echoes = 0
    for step in 0..<1000 as Range<Int64> {
      echoes += drain(&prober, now: Self.start + .milliseconds(step)).count
    }
    #expect(echoes * (84 + 28) * 8 <= 40_000)
    #expect(echoes > 20)
  }

  @Test func `a direction that was not probed has no report`() {
    var prober = prober { $0.probesDownlink = false }
    prober.cancel(now: Self.start)
    var last: LineReport?
    while let event = prober.pollEvent() {
      if case .finished(let report) = event { last = report }
    }
    let none: DirectionReport? = nil
    #expect(last?.downlink == none && last?.state == .unavailable)
    #expect(drain(&prober, now: Self.start).count == 1, "the other end is told")
  }
}

@Suite struct ReflectorRunTests {
  @Test func `an answer says what will be done`() {
    let request = ProbeRequestFrame(
      run: 3, number: 1, payloadByteCount: 1200, byteBudget: 9_000_000)
    var run = ReflectorRun(request, limits: .peer, overhead: 28, now: .zero)
    var bytes: [UInt8] = []
    bytes.append(addingCapacity: 1200) { output in
      _ = run.writeFrames(into: &output, tagByteCount: 25, now: .zero)
    }
    var reader = FrameReader(bytes.span)
    let expected = ProbeAnswerFrame(
      run: 3, number: 1, status: .accepted, rateLimit: 36_000_000, byteLimit: 9_000_000,
      timeLimit: 320)
    #expect((try? reader.next()) == .probeAnswer(expected))
    #expect(run.bytesSent == UInt64(bytes.count + 53))
  }
}
