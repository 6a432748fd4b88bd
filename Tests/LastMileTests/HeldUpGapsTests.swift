import Primitives
import Testing

@testable import LastMile

@Suite struct HeldUpGapsTests {
  /// Packets of 1200 bytes, one each `step` ms, through jitter and then a line that takes 4 ms for
  /// each: nothing comes sooner behind what was late. Of each `lost`, one is lost.
  private func packets(
    step: Double, jitter: () -> Double, work: (Int) -> Double = { _ in 0 }, lost: Int = .max,
    size: UInt16 = 1200, part: TestPackets.Part = .loaded
  ) -> [TestPackets.Entry] {
    var free = 0.0
    return (0..<500).map { index in
      let sent = Double(index) * step
      let service = 4 * Double(size) / 1200
      free = max(free, sent + jitter()) + service + work(index)
      let isLost = index % lost == lost - 1
      return TestPackets.Entry(
        sent: Int64(sent * 1e6), arrival: isLost ? .min : Int64((free + 20) * 1e6),
        byteCount: size, part: part, train: 0)
    }
  }

  private func idle(_ jitter: () -> Double) -> [TestPackets.Entry] {
    Array(packets(step: 40, jitter: jitter, size: 112, part: .idle).prefix(60))
  }

  @Test(arguments: [1, 2, 3, 4] as [UInt64])
  func `jitter that holds packets up leaves gaps of one length`(seed: UInt64) throws {
    var random = RandomSource(seed: seed)
    let shapes: [() -> Double] = [
      { 20 * random.unit() }, { -6 * Logarithm.of(1 - random.unit()) },
      { 9 * (random.unit() + random.unit()) },
    ]
    for shape in shapes {
      for lost in [Int.max, 10] {
        let loaded = packets(step: 4.05, jitter: shape, lost: lost)
        let held = try #require(HeldUpGaps(loaded, most: 4.6e6))
        #expect(abs(held.service / 4e6 - 1) <= held.error + 1e-4, "\(held)")
        let quiet = idle(shape)
        #expect(held.isJitter(loaded, idle: quiet) && held.isMost(of: quiet))
      }
    }
  }

  @Test func `somebody's packets are no jitter of the line`() throws {
    var random = RandomSource(seed: 5)
    // A quarter of the line, whatever the delay is.
    let work: (Int) -> Double = { _ in random.next() % 4 == 0 ? 5 : 0 }
    let loaded = packets(step: 5.2, jitter: { 0 }, work: work)
    let held = try #require(HeldUpGaps(loaded, most: 6e6))
    #expect(abs(held.service / 4e6 - 1) < 0.01)
    let quiet = idle { random.next() % 4 == 0 ? 5 * random.unit() : 0 }
    #expect(!held.isJitter(loaded, idle: quiet) && !held.isMost(of: quiet))
  }

  @Test func `what comes at once or overtakes tells nothing of the service`() {
    var random = RandomSource(seed: 6)
    var free = 0.0
    let aggregated = packets(step: 4, jitter: { 0 }).map { entry in
      var entry = entry
      free = max(free, Double(entry.arrival) + 20e6 * random.unit())
      entry.arrival = Int64(free)
      return entry
    }
    #expect(HeldUpGaps(aggregated, most: 4.6e6) == nil)
    let overtaken = packets(step: 4, jitter: { 0 }).map { entry in
      var entry = entry
      entry.arrival += Int64(20e6 * random.unit())
      return entry
    }
    #expect(HeldUpGaps(overtaken, most: 4.6e6) == nil)
    #expect(HeldUpGaps([], most: 4.6e6) == nil)
    #expect(HeldUpGaps(aggregated, most: .infinity) == nil)
  }
}
