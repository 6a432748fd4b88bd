import Testing

@testable import Earshot

@Suite struct LineReportTests {
  private static func report(loss: Int) -> LineReport {
    var report = LineReport(plan: ProbePlan(), ending: .finished)
    report.state = .complete
    let delay = DelaySummary(minimumMs: 18, p50Ms: 20, p95Ms: 22, p99Ms: 25, sampleCount: 50)
    report.idleRoundTrip = RoundTripReport(delay: delay, sent: 50, answered: 50)
    var direction = DirectionReport(sent: 1000, received: 1000 - loss)
    direction.loss = ShareEstimate(hits: loss, of: 1000)
    direction.bandwidth = BandwidthEstimate(
      bitsPerSecond: 2_000_000, low: 1_950_000, high: 2_050_000, limitedByTest: false)
    report.uplink = direction
    report.downlink = direction
    return report
  }

  @Test func `speech is predicted by the model that judges calls`() throws {
    let clean = try #require(Self.report(loss: 0).rating.speech)
    #expect((4.3...4.6).contains(clean.mos))
    #expect(clean.basis.hasPrefix("listening quality, PESQ-WB scale"))
    let lossy = try #require(Self.report(loss: 200).rating.speech)
    // A fifth is repaired as calls do: 4.2 in Benchmarks/audio/adaptive.md. A half is not.
    #expect((clean.mos - 0.5..<clean.mos - 0.1).contains(lossy.mos))
    #expect((lossy.uplinkResidualLoss ?? 1) < 0.01)
    let hopeless = try #require(Self.report(loss: 500).rating.speech)
    #expect(hopeless.mos < clean.mos - 1)
  }

  @Test func `a call and a probe grade alike`() {
    for lost in 0..<30 as Range<UInt64> {
      var numbers = CallStatistics(atMs: 0)
      numbers.fates.received.sound = .init(expected: 100, lost: lost)
      numbers.received.jitterMs = 10
      numbers.rttMs = CallStatistics.Milliseconds(p50: 100, p95: 110)
      numbers.grade()
      let grade = LineGrade.of(loss: Double(lost) / 100, roundTripMs: 100, jitterMs: 10)
      #expect(numbers.qualityRx == grade.rawValue)
    }
  }
}
