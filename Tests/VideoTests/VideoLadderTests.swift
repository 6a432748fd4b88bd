import Primitives
import Testing
import Video

@Suite struct VideoLadderTests {
  static func moment(_ milliseconds: Int) -> Instant {
    Instant(nanoseconds: UInt64(milliseconds) * 1_000_000)
  }

  /// Feeds one bitrate every 100 ms; the moments at which the rung changed.
  @discardableResult
  static func feed(
    _ ladder: inout VideoLadder, seconds: Int, from start: Int, _ rate: (Int) -> Int
  ) -> [Int] {
    var changes: [Int] = []
    for step in 0..<(seconds * 10) {
      let time = start + step * 100
      if ladder.handle(bitsPerSecond: rate(time), now: moment(time)) { changes.append(time) }
    }
    return changes
  }

  @Test func `goes from 1920×1080 at 30 down to 160×120 at 8, each rung smaller`() {
    let rungs = VideoLadder.rungs
    #expect(rungs.first?.box == PictureTests.size(1920, 1080) && rungs.first?.framesPerSecond == 30)
    #expect(rungs.last?.box == PictureTests.size(160, 120) && rungs.last?.framesPerSecond == 8)
    for (better, worse) in zip(rungs, rungs.dropFirst()) {
      #expect(better.box.pixelCount > worse.box.pixelCount)
      #expect(better.framesPerSecond >= worse.framesPerSecond)
      #expect(better.leaveBitsPerSecond * 5 == better.enterBitsPerSecond * 4)
      #expect(better.leaveBitsPerSecond > worse.enterBitsPerSecond || worse.enterBitsPerSecond == 0)
    }
    #expect(rungs.last?.leaveBitsPerSecond == 0)
  }

  /// Goal: more bitrate never means a worse picture. Method: any two bitrates, from any history.
  @Test func `is monotonic`() {
    var random = RandomSource(seed: 21)
    for _ in 0..<300 {
      var low = VideoLadder(bitsPerSecond: Int.random(in: 10_000...3_000_000, using: &random))
      var high = low
      let rate = Int.random(in: 10_000...3_000_000, using: &random)
      let more = rate + Int.random(in: 0...1_000_000, using: &random)
      Self.feed(&low, seconds: 60, from: 1000) { _ in rate }
      Self.feed(&high, seconds: 60, from: 1000) { _ in more }
      #expect(high.index <= low.index, "\(rate) and \(more) bit/s")
    }
  }

  /// Goal: no flapping, whatever the border. Method: a rate that swings by ±10 % about each border
  /// for an hour, as fast or slow as chance will have it. From any start there may be one change to
  /// settle, and no more.
  @Test func `never flaps at a border`() {
    var random = RandomSource(seed: 22)
    let borders = VideoLadder.rungs.dropLast().flatMap {
      [$0.enterBitsPerSecond, $0.leaveBitsPerSecond]
    }
    for border in borders {
      var ladder = VideoLadder(bitsPerSecond: border)
      var left = 0
      var factor = 1.0
      let changes = Self.feed(&ladder, seconds: 3600, from: 0) { _ in
        left -= 1
        if left <= 0 {
          left = Int.random(in: 1...300, using: &random)
          factor = Double.random(in: 0.9...1.1, using: &random)
        }
        return Int(Double(border) * factor)
      }
      #expect(changes.count <= 1, "\(border) bit/s: \(changes)")
    }
  }

  @Test func `goes no higher than the source and the host allow`() {
    var ladder = VideoLadder(bitsPerSecond: 20_000_000, best: 1)
    #expect(ladder.rung.box == PictureTests.size(1280, 720))
    Self.feed(&ladder, seconds: 60, from: 0) { _ in 20_000_000 }
    // From here on the host keeps up with no more than 640×480, and later with all again.
    let fell = (0..<100).map {
      ladder.handle(bitsPerSecond: 20_000_000, best: 3, now: Self.moment(60_000 + $0 * 100))
    }
    #expect(fell.first == true && fell.dropFirst().allSatisfy { !$0 } && ladder.index == 3)
    #expect(
      Self.feed(&ladder, seconds: 20, from: 70_000) { _ in 20_000_000 } == [72_000])
    #expect(ladder.rung.box == PictureTests.size(1920, 1080))
  }

  @Test func `falls at once when there is far too little, else after half a second`() {
    var ladder = VideoLadder(bitsPerSecond: 2_000_000)
    #expect(ladder.handle(bitsPerSecond: 300_000, now: Self.moment(0)) == true)
    #expect(ladder.rung.box == PictureTests.size(480, 360))
    var other = VideoLadder(bitsPerSecond: 2_000_000)
    let changes = Self.feed(&other, seconds: 2, from: 0) { _ in 1_100_000 }
    #expect(changes == [500])
  }

  @Test func `rises after two seconds, and later after a relapse`() {
    var ladder = VideoLadder(bitsPerSecond: 100_000, hurries: false)
    #expect(Self.feed(&ladder, seconds: 3, from: 0) { _ in 600_000 } == [2000])
    Self.feed(&ladder, seconds: 1, from: 3000) { _ in 100_000 }
    #expect(Self.feed(&ladder, seconds: 6, from: 4000) { _ in 600_000 } == [8000])
    // It held for 15 s: the next rise is quick again.
    Self.feed(&ladder, seconds: 20, from: 10_000) { _ in 600_000 }
    Self.feed(&ladder, seconds: 1, from: 30_000) { _ in 100_000 }
    #expect(Self.feed(&ladder, seconds: 6, from: 31_000) { _ in 600_000 } == [33_000])
    #expect(ladder.changeCount == 5)
    #expect(VideoLadder.leastBitsPerSecond < VideoLadder.rungs[6].leaveBitsPerSecond)
  }

  @Test func `in the first seconds it follows an estimate that has found its level`() {
    var ladder = VideoLadder(bitsPerSecond: 200_000)
    // It doubles each 200 ms and stays at 2 Mbit/s: no rung on the way is worth a key frame.
    let ramp = { (time: Int) in min(200_000 << (time / 200), 2_000_000) }
    let changes = Self.feed(&ladder, seconds: 3, from: 0, ramp)
    #expect(changes == [800] && ladder.rung.box == PictureTests.size(1280, 720))
    // What had to be left is not entered in a hurry.
    var other = VideoLadder(bitsPerSecond: 200_000)
    let fall = { (time: Int) in time >= 1000 && time < 1600 ? 500_000 : 2_000_000 }
    #expect(Self.feed(&other, seconds: 5, from: 0, fall) == [200, 1000])
    // Later it is patient.
    var late = VideoLadder(bitsPerSecond: 200_000)
    let rise = { (time: Int) in time >= 4000 ? 2_000_000 : 200_000 }
    #expect(Self.feed(&late, seconds: 8, from: 0, rise) == [6000])
  }
}
