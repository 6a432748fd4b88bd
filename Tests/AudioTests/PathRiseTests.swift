import Testing

@testable import Audio

/// How much more the path takes now than at its best (`DelayEstimator.pathRise`).
@Suite struct PathRiseTests {
  @Test func `a queue that stands is above the path of two minutes`() {
    var estimator = DelayEstimator()
    for number in 0..<9_000 as Range<Int64> {
      // 300 ms from the twentieth second on.
      estimator.record(
        transit: number < 1_000 ? 5_000_000 : 305_000_000, arrival: number * 20_000_000,
        delayInside: 0, isPrimary: true, frame: 20_000_000)
      if number == 999 { #expect(estimator.pathRise == 0) }
      if number == 1_300 { #expect(estimator.pathRise == 300_000_000) }
      if number == 6_000 { #expect(estimator.pathRise == 300_000_000) }
    }
    #expect(estimator.pathRise == 0, "by now it is the path")
  }
}
