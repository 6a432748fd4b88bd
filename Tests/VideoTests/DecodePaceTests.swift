import Primitives
import Testing
import Video

/// What of a peer's pictures is decoded where there are too many.
@Suite struct DecodePaceTests {
  private static let start = Instant(nanoseconds: 1_000_000_000)

  /// Key frames alone, each of which costs the most, and what a sender may really make.
  @Test(arguments: [(60, 60), (119, 119), (1000, 120)])
  func `at most 120 pictures a second are decoded`(perSecond: Int, decoded: Int) {
    var pace = DecodePace()
    var admitted = 0
    for picture in 0..<10 * perSecond {
      let now = Self.start + .nanoseconds(1_000_000_000 / Int64(perSecond) * Int64(picture))
      if pace.admits(isKeyFrame: true, now: now) { admitted += 1 }
    }
    #expect(abs(admitted - 10 * decoded) <= DecodePace.perSecond)
  }

  @Test func `what depends on a picture that was left out is left out too`() {
    var pace = DecodePace()
    var admitted = 0
    for _ in 0..<200 where pace.admits(isKeyFrame: false, now: Self.start) { admitted += 1 }
    #expect(admitted == DecodePace.perSecond)
    let later = Self.start + .seconds(1)
    let depending = pace.admits(isKeyFrame: false, now: later)
    let key = pace.admits(isKeyFrame: true, now: later)
    let next = pace.admits(isKeyFrame: false, now: later)
    #expect(!depending && key && next)
  }
}
