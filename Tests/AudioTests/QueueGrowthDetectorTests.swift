import Audio
import Primitives
import Testing

struct QueueGrowthDetectorTests {
  /// Frames of 20 ms, each `delay` (ns) after it was sent.
  ///
  /// - Returns: how many frames arrived while a queue was said to have grown.
  private static func grown(_ count: Int, delay: (Int) -> Int64) -> Int {
    var watch = QueueGrowthDetector()
    var frames = 0
    var latest: UInt64 = 0
    for number in 0..<count {
      let sent = 1_000_000_000 + UInt64(number) * 20_000_000
      latest = max(latest, sent + UInt64(max(0, delay(number))))
      watch.recordFrame(mediaTime: UInt16(truncatingIfNeeded: 65_000 + number * 2), arrival: latest)
      if watch.isGrown { frames += 1 }
    }
    return frames
  }

  /// 45 ms a packet where 20 are sent, at most 300 ms of queue; then it drains.
  @Test func `sees a queue, and its end`() {
    let frames = Self.grown(1000) { number in
      switch number {
      case ..<200: 0
      case ..<400: min(Int64(number - 200) * 25_000_000, 300_000_000)
      default: max(0, 300_000_000 - Int64(number - 400) * 15_000_000)
      }
    }
    #expect((140...200).contains(frames), "\(frames)")
  }

  /// Media time wraps in a silence of that length; the queue of before is not one of now.
  @Test(arguments: [10, 400, 655, 1200] as [UInt64])
  func `a queue is seen after a long silence, and not because of it`(seconds: UInt64) {
    var watch = QueueGrowthDetector()
    func note(_ number: UInt64, _ delay: UInt64) {
      watch.recordFrame(
        mediaTime: UInt16(truncatingIfNeeded: number * 2),
        arrival: 1_000_000_000 + number * 20_000_000 + delay)
    }
    let grows = { (number: UInt64) in min(number * 10_000_000, 300_000_000) }
    for number in UInt64(0)..<100 { note(number, grows(number)) }
    #expect(watch.isGrown)
    let first = seconds * 50 + 100
    note(first, 0)
    #expect(!watch.isGrown)
    for number in UInt64(1)..<100 { note(first + number, grows(number)) }
    #expect(watch.isGrown)
  }

  @Test(arguments: [50, 150, 300] as [Int64])
  func `takes no jitter for one, in order or not`(percentile: Int64) {
    for seed in 1...5 as ClosedRange<UInt64> {
      let delays = Chance.exponential(
        percentile95: percentile * 1_000_000, seed: seed, count: 3000)
      #expect(Self.grown(3000) { delays[$0] } == 0, "EARSHOT_SEED=\(seed)")
      // As they come, some overtaken.
      var watch = QueueGrowthDetector()
      let order = delays.indices.map { (number: $0, time: Int64($0) * 20_000_000 + delays[$0]) }
      for (number, time) in order.sorted(by: { $0.time < $1.time }) {
        watch.recordFrame(mediaTime: UInt16(number * 2), arrival: UInt64(time))
        #expect(!watch.isGrown, "EARSHOT_SEED=\(seed)")
      }
    }
  }

  @Test func `takes no stall, no other path and no clock that runs off for one`() {
    // 250 ms each second, all that was held up at once.
    #expect(Self.grown(1500) { Int64(max(0, 12 - $0 % 50)) * 20_000_000 } == 0)
    #expect(Self.grown(1500) { $0 < 500 ? 0 : $0 < 1000 ? 400_000_000 : 80_000_000 } == 0)
    #expect(Self.grown(60_000) { Int64($0) * 6000 } == 0)
  }

  @Test func `bears what never was`() {
    var random = RandomSource(seed: 5)
    var watch = QueueGrowthDetector()
    for _ in 0..<20_000 {
      watch.recordFrame(
        mediaTime: UInt16(random.unit() * 65_535),
        arrival: UInt64(random.unit() * (random.unit() < 0.5 ? 1.8e19 : 1e10)))
    }
  }
}
