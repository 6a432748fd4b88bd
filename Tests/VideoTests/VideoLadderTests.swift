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

  @Test func `goes from 1280×720 at 30 down to 160×120 at 8, each rung smaller`() {
    let rungs = VideoLadder.rungs
    #expect(rungs.first?.box == PictureTests.size(1280, 720) && rungs.first?.framesPerSecond == 30)
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

  @Test func `falls at once when there is far too little, else after half a second`() {
    var ladder = VideoLadder(bitsPerSecond: 2_000_000)
    #expect(ladder.handle(bitsPerSecond: 300_000, now: Self.moment(0)) == true)
    #expect(ladder.rung.box == PictureTests.size(480, 360))
    var other = VideoLadder(bitsPerSecond: 2_000_000)
    let changes = Self.feed(&other, seconds: 2, from: 0) { _ in 1_100_000 }
    #expect(changes == [500])
  }

  @Test func `rises after half a second while the call begins`() {
    var ladder = VideoLadder(bitsPerSecond: 250_000)
    #expect(Self.feed(&ladder, seconds: 2, from: 0) { $0 < 400 ? 250_000 : 600_000 } == [900])
    #expect(Self.feed(&ladder, seconds: 1, from: 2000) { _ in 1_600_000 } == [2500])
    #expect(Self.feed(&ladder, seconds: 1, from: 3000) { _ in 300_000 } == [3000])
    #expect(Self.feed(&ladder, seconds: 5, from: 4000) { _ in 600_000 } == [8000])
  }

  @Test func `rises after two seconds, and later after a relapse`() {
    var ladder = VideoLadder(bitsPerSecond: 100_000)
    Self.feed(&ladder, seconds: 3, from: 0) { _ in 100_000 }
    #expect(Self.feed(&ladder, seconds: 3, from: 3000) { _ in 600_000 } == [5000])
    Self.feed(&ladder, seconds: 1, from: 6000) { _ in 100_000 }
    #expect(Self.feed(&ladder, seconds: 6, from: 7000) { _ in 600_000 } == [11_000])
    // It held for 15 s: the next rise is quick again.
    Self.feed(&ladder, seconds: 20, from: 13_000) { _ in 600_000 }
    Self.feed(&ladder, seconds: 1, from: 33_000) { _ in 100_000 }
    #expect(Self.feed(&ladder, seconds: 6, from: 34_000) { _ in 600_000 } == [36_000])
    #expect(ladder.changeCount == 5)
    #expect(VideoLadder.leastBitsPerSecond < VideoLadder.rungs[5].leaveBitsPerSecond)
  }
}
