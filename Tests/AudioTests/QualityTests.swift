import Audio
import Testing

struct QualityTests {
  @Test func `estimates the clean score of a rate without loss`() {
    let score = MOSEstimate(bitsPerSecond: 32_000, concealedFraction: 0, meanConcealedRun: 0).score
    #expect(abs(score - 4.43) < 0.001)
    let between = MOSEstimate(bitsPerSecond: 28_000, concealedFraction: 0, meanConcealedRun: 0)
    #expect(abs(between.score - 4.385) < 0.001)
    #expect(
      MOSEstimate(bitsPerSecond: 6000, concealedFraction: 0, meanConcealedRun: 0).score == 2.67)
  }

  @Test func `knows that frames without an upper band sound better at the same rate`() {
    func score(_ rate: Int, _ fraction: Double) -> Double {
      MOSEstimate(
        bitsPerSecond: rate, concealedFraction: 0, meanConcealedRun: 0, upperBandFraction: fraction
      ).score
    }
    #expect(abs(score(32_000, 0) - 4.52) < 0.001 && abs(score(20_000, 0) - 4.36) < 0.001)
    #expect(abs(score(32_000, 0.5) - 4.475) < 0.001)
    #expect(score(32_000, 7) == score(32_000, 1) && score(100_000, -1) == score(40_000, 0))
  }

  // The measured scores of libopus with concealment alone at 32 kbit/s.
  @Test(arguments: [(0.048, 2.91), (0.097, 2.19), (0.196, 1.51), (0.299, 1.29)])
  func `comes near the measured scores`(concealed: Double, measured: Double) {
    let score = MOSEstimate(
      bitsPerSecond: 32_000, concealedFraction: concealed, meanConcealedRun: 1.1
    ).score
    #expect(abs(score - measured) < 0.25, "\(score)")
  }

  @Test func `gives percentiles of a whole call`() {
    var histogram = DelayHistogram()
    #expect(histogram.quantile(0.5) == nil)
    for milliseconds in 1...100 { histogram.record(nanoseconds: Int64(milliseconds) * 1_000_000) }
    #expect(histogram.quantile(0.5) == 50.5)
    #expect(histogram.quantile(0.95) == 95.5)
    histogram.record(nanoseconds: -5)
    histogram.record(nanoseconds: .max)
    #expect(histogram.quantile(0) == 0.5)
    #expect(histogram.quantile(1) == 1000.5)
  }

  @Test func `gives percentiles of what was recorded since it was looked at`() {
    var histogram = DelayHistogram(stepMilliseconds: 4)
    for _ in 0..<100 { histogram.record(nanoseconds: 20_000_000) }
    let before = histogram
    #expect(before.since(before).quantile(0.5) == nil && before.since(before).sum == 0)
    for _ in 0..<10 { histogram.record(nanoseconds: 2_400_000_000) }
    let since = histogram.since(before)
    #expect(histogram.quantile(0.5) == 22 && since.quantile(0.5) == 2402)
    #expect(since.count == 10 && since.sum == 24_000_000_000)
    histogram.record(nanoseconds: .max)
    #expect(histogram.quantile(1) == 4002)
  }
}
