import Primitives
import Testing
import Video

@Suite struct RecentMostTests {
  @Test func `a dip of a fifth of a second does not show, one that lasts does`() {
    var recent = RecentMost()
    let values = (0..<60).map { index in
      // 30 values a second: a dip of 6, and a fall for good from 30 on.
      let value = (10..<16).contains(index) || index >= 30 ? 100 : 1000
      return recent.handle(value, now: VideoLadderTests.moment(index * 1000 / 30))
    }
    #expect(values[0..<30].allSatisfy { $0 == 1000 })
    let fall = values.firstIndex(of: 100)
    #expect(fall.map { (37...46).contains($0) } == true, "a quarter to half a second after")
    #expect(values[46...].allSatisfy { $0 == 100 })
  }

  @Test func `a rise shows at once, and old values are forgotten in a pause`() {
    var recent = RecentMost()
    #expect(recent.handle(5, now: VideoLadderTests.moment(0)) == 5)
    #expect(recent.handle(9, now: VideoLadderTests.moment(10)) == 9)
    #expect(recent.handle(2, now: VideoLadderTests.moment(20)) == 9)
    #expect(recent.handle(3, now: VideoLadderTests.moment(5000)) == 3)
  }
}
