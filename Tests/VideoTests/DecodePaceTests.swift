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

  /// Goal: a key frame is asked for as soon as a picture was left out, each second while none has
  /// come, and no more once one was decoded.
  @Test func `a key frame is asked for at a pace`() {
    var pace = DecodePace()
    var asked: [Int64] = []
    // 250 pictures a second; a key frame comes 100 ms after it was asked for, the first is lost.
    var keys: [Int64] = []
    for step in Int64(0)..<1500 {
      let now = Self.start + .milliseconds(4 * step)
      let isKey = keys.contains(4 * step)
      _ = pace.admits(isKeyFrame: isKey, now: now)
      guard pace.pollRequest(now: now) else { continue }
      if !asked.isEmpty { keys.append(4 * step + 100) }
      asked.append(4 * step)
    }
    #expect((450...950).contains(asked[0]), "\(asked)")
    #expect(zip(asked, asked.dropFirst()).allSatisfy { $1 - $0 >= 1000 }, "\(asked)")
    #expect(asked[1] - asked[0] == 1000 && asked.count >= 3)
    let end = Self.start + .seconds(20)
    let isDecoded = pace.admits(isKeyFrame: true, now: end)
    let asks = pace.pollRequest(now: end + .seconds(5))
    #expect(isDecoded && !asks && pace.nextRequest == nil)
  }
}
