import Primitives
import Testing

@testable import RendezvousCommand

/// When the log says that Redis is not reached, and that it is.
@Suite struct RedisOutageTests {
  private func at(_ milliseconds: Int64) -> Instant {
    .zero + .milliseconds(1_000_000 + milliseconds)
  }

  @Test func `says so at once, then at growing intervals, and once when it is back`() {
    var outage = RedisOutage()
    let begins = outage.endIsNews(now: at(0))
    #expect(begins, "reached at the start")
    var said: [Int64] = []
    // A node tries four times a second.
    for number in 0..<(4 * 3600) {
      let milliseconds = 100_000 + Int64(number) * 250
      if outage.isNews("refused", now: at(milliseconds)) { said.append(milliseconds / 1000 - 100) }
    }
    #expect(said == [0, 10, 30, 70, 150, 310, 630, 1230, 1830, 2430, 3030])
    let other = outage.isNews("cut off", now: at(3_700_000))
    #expect(other, "another reason")
    let back = [outage.endIsNews(now: at(3_700_250)), outage.endIsNews(now: at(3_700_500))]
    #expect(back == [true, false])
    // It comes and goes.
    let lost = outage.isNews("refused", now: at(3_700_750))
    let found = outage.endIsNews(now: at(3_701_000))
    #expect(!lost && !found)
    let later = outage.isNews("refused", now: at(3_800_000))
    #expect(later, "another outage")
  }

  /// Goal: the last line is true. Method: the same again within a minute, and it lasts.
  @Test func `says so within 10 s where the last line says that it is back`() {
    var outage = RedisOutage()
    for number in 0..<2400 as Range<Int64> { _ = outage.isNews("refused", now: at(number * 250)) }
    let isBack = outage.endIsNews(now: at(600_000))
    #expect(isBack)
    var said: [Int64] = []
    for number in 0..<(4 * 1800) as Range<Int64> {
      let milliseconds = 601_000 + number * 250
      if outage.isNews("refused", now: at(milliseconds)) { said.append(milliseconds / 1000 - 601) }
    }
    #expect(said == [10, 610, 1210])
  }
}
