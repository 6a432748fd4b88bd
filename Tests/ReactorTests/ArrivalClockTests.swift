import Primitives
import Testing

@testable import Reactor

struct ArrivalClockTests {
  let clock = ArrivalClock(now: Instant(nanoseconds: 50_000_000_000), wall: 9_000_000_000_000)

  @Test func `a datagram arrived as long ago as its stamp is old`() {
    let arrival = clock.instant(ofStamp: 9_000_000_000_000 - 700_000)
    #expect(arrival == Instant(nanoseconds: 50_000_000_000 - 700_000))
  }

  @Test func `a stamp from the future or from before a stepped clock counts as now`() {
    for stamp: UInt64 in [9_000_000_000_001, 9_000_000_000_000 - 1_000_000_000, 0, .max] {
      #expect(clock.instant(ofStamp: stamp) == Instant(nanoseconds: 50_000_000_000))
    }
  }
}
