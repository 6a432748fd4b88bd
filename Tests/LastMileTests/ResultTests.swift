import LastMile
import Primitives
import Testing

@Suite struct ShareEstimateTests {
  @Test func `agrees with Wilson's interval as published`() {
    // Newcombe 1998, table I, method 3: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    let published = [
      (81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0, 0.1611),
      (1, 29, 0.0061, 0.1718),
    ]
    for (hits, trials, low, high) in published {
      let estimate = ShareEstimate(hits: hits, of: trials)
      #expect(abs((estimate?.low ?? -1) - low) < 0.0001)
      #expect(abs((estimate?.high ?? -1) - high) < 0.0001)
    }
  }

  @Test func `has no value without trials`() {
    #expect(ShareEstimate(hits: 0, of: 0) == nil)
    #expect(ShareEstimate(hits: 2, of: 1) == nil)
  }
}

@Suite struct DelaySummaryTests {
  @Test func `takes the nearest rank`() {
    let summary = DelaySummary(nanoseconds: (1...100).map { Int64($0) * 1_000_000 })
    var expected = DelaySummary(
      minimumMs: 1, p50Ms: 50, p95Ms: 95, p99Ms: 99, sampleCount: 100)
    expected.meanMs = 50.5
    #expect(summary == expected)
    #expect(DelaySummary(nanoseconds: []) == nil)
  }
}

@Suite struct ProbePlanTests {
  @Test func `knows its ranges`() {
    var plan = ProbePlan()
    #expect(plan.isValid)
    plan.expectedUplink = 99_999
    #expect(!plan.isValid)
    plan.expectedUplink = 5_000_000
    #expect(plan.isValid)
    plan.probesUplink = false
    plan.probesDownlink = false
    #expect(!plan.isValid)
  }
}
