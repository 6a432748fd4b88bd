import Primitives
import Testing

@testable import Peer

/// VIDEO_TEST: what is told, and for how long it holds.
@Suite struct ReturnTestTests {
  @Test func `a test is told at its beginning, each second, at each new rate and at its end`() {
    var test = ReturnTest()
    var told: [(Int64, UInt32)] = []
    for step in 0..<50 {
      let now = Instant.zero + .milliseconds(Int64(step) * 100)
      let wanted: Double? = (10..<30).contains(step) ? (step < 25 ? 209_000.4 : 571_500) : nil
      if let rate = test.poll(wanted, now: now) { told.append((Int64(step) * 100, rate)) }
    }
    #expect(told.map(\.0) == [1_000, 2_000, 2_500, 3_000])
    #expect(told.map(\.1) == [209_000, 209_000, 571_500, 0])
  }

  @Test func `a test that is not asked for again ends after three seconds`() {
    var test = ReturnTest()
    let now = Instant.zero + .seconds(7)
    #expect(test.asked(now: now) == nil)
    test.handle(200_000, now: now)
    #expect(test.asked(now: now + .milliseconds(2_999)) == 200_000)
    #expect(test.asked(now: now + .seconds(3)) == nil)
    test.handle(200_000, now: now)
    test.handle(0, now: now)
    #expect(test.asked(now: now) == nil)
  }

  @Test func `no rate is too large to be told`() {
    var test = ReturnTest()
    #expect(test.poll(.infinity, now: .zero) == 4_000_000_000)
    #expect(test.poll(-1, now: .zero) == 0)
    #expect(test.poll(nil, now: .zero) == nil)
  }
}
