import Congestion
import Testing

@Suite struct RoundTripEstimatorTests {
  static let millisecond: UInt64 = 1_000_000

  @Test func `begins as RFC 9002 says`() {
    var estimator = RoundTripEstimator()
    #expect(estimator.probeTimeout == 300 * Self.millisecond)
    estimator.add(80 * Self.millisecond)
    #expect(estimator.smoothed == 80 * Self.millisecond)
    #expect(estimator.variation == 40 * Self.millisecond)
    #expect(estimator.minimum == 80 * Self.millisecond)
    // 80 + 4 × 40 + 25
    #expect(estimator.probeTimeout == 265 * Self.millisecond)
    #expect(estimator.lossDelay == 90 * Self.millisecond)
  }

  /// The pseudocode of RFC 9002 §A.7 (UpdateRtt), in floating point.
  @Test func `follows the pseudocode of RFC 9002`() {
    let samples: [Double] = [100, 120, 80, 300, 100, 100, 95, 40, 41, 1000, 60]
    var estimator = RoundTripEstimator()
    var smoothed = samples[0]
    var variation = samples[0] / 2
    var minimum = samples[0]
    for (index, sample) in samples.enumerated() {
      estimator.add(UInt64(sample) * Self.millisecond)
      if index > 0 {
        minimum = min(minimum, sample)
        variation = 3.0 / 4 * variation + 1.0 / 4 * abs(smoothed - sample)
        smoothed = 7.0 / 8 * smoothed + 1.0 / 8 * sample
      }
      #expect(abs(Double(estimator.smoothed) / 1e6 - smoothed) < 0.001)
      #expect(abs(Double(estimator.variation) / 1e6 - variation) < 0.001)
      #expect(estimator.minimum == UInt64(minimum) * Self.millisecond)
      #expect(estimator.latest == UInt64(sample) * Self.millisecond)
      let timeout = smoothed + max(4 * variation, 1) + 25
      #expect(abs(Double(estimator.probeTimeout) / 1e6 - timeout) < 0.01)
      #expect(abs(Double(estimator.lossDelay) / 1e6 - 9.0 / 8 * max(smoothed, sample)) < 0.01)
    }
  }

  @Test func `a steady path leaves a millisecond of variation`() {
    var estimator = RoundTripEstimator()
    for _ in 0..<100 { estimator.add(20 * Self.millisecond) }
    #expect(estimator.probeTimeout == 46 * Self.millisecond)
  }

  @Test func `percentiles are right to seven percent`() throws {
    var histogram = DurationHistogram()
    #expect(histogram.percentile(0.5) == nil)
    for step in 1...1000 as ClosedRange<UInt64> { histogram.add(step * Self.millisecond) }
    for (share, expected) in [(0.05, 50.0), (0.5, 500), (0.95, 950), (1, 1000)] {
      let found = Double(try #require(histogram.percentile(share))) / 1e6
      #expect(abs(found - expected) / expected < 0.07, "\(share): \(found)")
    }
    histogram.add(0)
    histogram.add(.max)
    #expect(try #require(histogram.percentile(0)) == 125_000)
    #expect(try #require(histogram.percentile(1)) > 60_000_000_000)
  }
}
