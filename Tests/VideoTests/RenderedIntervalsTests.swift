import Primitives
import Testing

@testable import Video

@Suite struct RenderedIntervalsTests {
  @Test func `the mean is of the last thirty, the present one included`() {
    var intervals = RenderedIntervals()
    for _ in 0..<4 {
      #expect(!intervals.isFreeze(.seconds(9)), "too few are known")
      intervals.append(.seconds(1))
    }
    #expect(intervals.isFreeze(.seconds(6)), "three times the mean of 2 s")
    #expect(!intervals.isFreeze(.milliseconds(5900)))
    for _ in 0..<29 { intervals.append(.milliseconds(40)) }
    // 29 of 40 ms and the present one.
    #expect(!intervals.isFreeze(.milliseconds(195)) && intervals.isFreeze(.milliseconds(196)))
  }
}
