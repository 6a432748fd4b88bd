import Primitives
import Testing

@testable import LastMile

/// A bottleneck made by arithmetic: a queue of a length, random loss behind it, jitter after it.
private struct Bottleneck {
  /// ns for a packet, ns that one may wait.
  var service: Double
  var length: Double
  var loss = 0.0
  var jitter = 0.0
  var random: RandomSource

  /// 0..<1.
  private mutating func dice() -> Double { Double(random.next() >> 11) / Double(1 << 53) }

  mutating func packets(_ count: Int, every step: Double) -> [QueueReplay.Packet] {
    var free = 0.0
    return (0..<count).map { index in
      let sent = Double(index) * step
      let start = max(sent, free)
      guard start - sent <= length else { return .init(sent: sent, arrival: .nan) }
      free = start + service
      let noise = dice() * jitter
      let isLost = dice() < loss
      return .init(sent: sent, arrival: isLost ? .nan : free + 30e6 + noise)
    }
  }
}

@Suite struct QueueReplayTests {
  /// A fifth is lost behind a queue of 30 ms, into which a sixth too much goes: nothing but the
  /// replay tells the two apart.
  @Test(arguments: [0.0, 10e6])
  func `what overflows is told from what the line loses`(jitter: Double) throws {
    var errors: [Double] = []
    for seed in 1...8 as ClosedRange<UInt64> {
      var line = Bottleneck(
        service: 5e6, length: 30e6, loss: 0.2, jitter: jitter, random: RandomSource(seed: seed))
      let packets = line.packets(100, every: 6e6) + shifted(line.packets(400, every: 4.3e6))
      let replay = try #require(
        QueueReplay(
          packets, services: 4e6...7e6, gap: nil, longestWait: 31e6, calm: (20, 100)))
      errors.append(abs(replay.service / 5e6 - 1))
      #expect(replay.shortest < replay.service && replay.service < replay.longest)
    }
    errors.sort()
    #expect(errors[4] < 0.02 && errors[7] < 0.1, "\(errors)")
  }

  @Test func `a queue that never is full is found too`() throws {
    var line = Bottleneck(
      service: 5e6, length: 1e9, loss: 0.05, jitter: 5e6, random: RandomSource(seed: 3))
    let packets = line.packets(300, every: 4.8e6)
    let replay = try #require(
      QueueReplay(packets, services: 4.6e6...5.6e6, gap: nil, longestWait: 60e6, calm: (5, 100)))
    #expect(abs(replay.service / 5e6 - 1) < 0.005)
    #expect(replay.longest / replay.shortest < 1.02)
  }

  @Test func `too little is nothing`() {
    var line = Bottleneck(service: 5e6, length: 30e6, random: RandomSource(seed: 1))
    let few = line.packets(20, every: 4e6)
    #expect(
      QueueReplay(few, services: 4e6...6e6, gap: nil, longestWait: 30e6, calm: (0, 0)) == nil)
  }

  private func shifted(_ packets: [QueueReplay.Packet]) -> [QueueReplay.Packet] {
    packets.map { .init(sent: $0.sent + 1e9, arrival: $0.arrival + 1e9) }
  }
}

@Suite struct ClockDriftTests {
  /// Echoes before and after a load, 6 s apart: to a clock that runs fast by so many parts per
  /// million, up or down, over a path that takes so much longer at the end.
  private func echoes(fast: Double, slower: Int64 = 0, jitter: Int64 = 0) -> [TestPackets.Entry] {
    var random = RandomSource(seed: 9)
    return (0..<120).map { index in
      let sent = Int64(index % 60) * 10_000_000 + (index < 60 ? 0 : 6_000_000_000)
      let noise = jitter > 0 ? Int64(random.next() % UInt64(jitter)) : 0
      let late = index < 60 ? 0 : slower
      let drift = Int64(Double(sent) * fast / 1e6)
      return TestPackets.Entry(
        sent: sent, arrival: sent + drift + 30_000_000 + late + noise, byteCount: 112,
        part: index < 60 ? .idle : .last, train: 0)
    }
  }

  @Test func `a fast clock makes one way longer and the other shorter`() throws {
    let drift = try #require(ClockDrift(up: echoes(fast: 40), down: echoes(fast: -40)))
    #expect(abs(drift.partsPerMillion - 40) <= drift.uncertainty && drift.uncertainty < 5)
  }

  @Test func `a path that grew longer is no drift`() throws {
    let drift = ClockDrift(
      up: echoes(fast: 0, slower: 100_000), down: echoes(fast: 0, slower: 100_000))
    #expect(abs(try #require(drift).partsPerMillion) < 1)
    #expect(ClockDrift(up: echoes(fast: 0, slower: 900_000), down: echoes(fast: 0)) == nil)
  }

  @Test func `jitter hides it, and so does a test without an end`() {
    let rough = echoes(fast: 20, jitter: 20_000_000)
    #expect(ClockDrift(up: rough, down: rough) == nil)
    let early = echoes(fast: 20).filter { $0.part == .idle }
    #expect(ClockDrift(up: early, down: early) == nil)
  }
}

@Suite struct LimitingDelayTests {
  @Test func `without jitter it is the least delay, with jitter a little less`() {
    var packets = TestPackets()
    func add(_ delays: [Int64]) {
      for delay in delays {
        packets.append(
          TestPackets.Entry(sent: 0, arrival: delay, byteCount: 112, part: .idle, train: 0))
      }
    }
    #expect(packets.limitingDelay { _ in true } == nil)
    add([500, 500, 500, 500, 500])
    #expect(packets.limitingDelay { _ in true } == 500)
    add([400, 420, 440, 460])
    #expect(packets.limitingDelay { _ in true } == 375)
  }
}

@Suite struct LogarithmTests {
  @Test func `they undo each other, and know their ends`() {
    for x in [1e-12, 0.3, 1, 1.5, 2, 7e3, 4e8, 1e18] {
      #expect(abs(Logarithm.exponential(Logarithm.of(x)) / x - 1) < 1e-10)
    }
    #expect(abs(Logarithm.of(10) - 2.302_585_092_994_046) < 1e-12)
    #expect(abs(Logarithm.exponential(1) - 2.718_281_828_459_045) < 1e-12)
    #expect(Logarithm.of(0) == -.infinity && Logarithm.exponential(-1000) == 0)
  }
}

@Suite struct ForeignQueueTests {
  private func idle(_ delay: (Int) -> Double) -> [TestPackets.Entry] {
    (0..<100).map { index in
      let sent = Int64(index) * 10_000_000
      return TestPackets.Entry(
        sent: sent, arrival: sent + Int64(delay(index) * 1e6), byteCount: 112, part: .idle, train: 0
      )
    }
  }

  @Test func `a queue that rises and falls is somebody's, jitter is nobody's`() {
    var random = RandomSource(seed: 2)
    let jitter = idle { _ in 30 + Double(random.next() % 40) }
    #expect(!ForeignQueue.isSeen(in: jitter))
    #expect(!ForeignQueue.isSeen(in: idle { _ in 30 }))
    #expect(ForeignQueue.isSeen(in: idle { 30 + Double($0 % 50) }))
    #expect(!ForeignQueue.isSeen(in: Array(idle { 30 + Double($0 % 50) }.prefix(40))))
  }
}

@Suite struct ForeignGapsTests {
  /// Packets sent every 2 ms through a line that needs 4 ms for each, and for every one of somebody
  /// else's before it as much as `foreign` says; then delayed by `jitter`. All in ms.
  private func loaded(
    count: Int = 400, foreign: (Int) -> Double, jitter: () -> Double
  ) -> [TestPackets.Entry] {
    var free = 0.0
    return (0..<count).map { index in
      let sent = Double(index) * 2
      free = max(free, sent) + foreign(index) + 4
      return TestPackets.Entry(
        sent: Int64(sent * 1e6), arrival: Int64((free + 20 + jitter()) * 1e6), byteCount: 1200,
        part: .loaded, train: 0)
    }
  }

  @Test func `packets between ours are somebody's`() {
    var random = RandomSource(seed: 3)
    for share: UInt64 in [30, 50, 70] {
      let crossed = loaded(foreign: { _ in random.next() % 100 < share ? 5 : 0 }, jitter: { 0 })
      #expect(ForeignGaps.isSeen(in: crossed, base: 24e6))
    }
    let few = loaded(count: 45, foreign: { _ in random.next() % 2 == 0 ? 12 : 0 }, jitter: { 0 })
    #expect(ForeignGaps.isSeen(in: few, base: 24e6))
    let inTurns = loaded(foreign: { $0 % 2 == 0 ? 5 : 0 }, jitter: { 0 })
    #expect(ForeignGaps.isSeen(in: inTurns, base: 24e6))
    let seldom = loaded(foreign: { $0 % 16 == 3 ? 12 : 0 }, jitter: { 0 })
    #expect(ForeignGaps.isSeen(in: seldom, base: 24e6))
  }

  @Test func `jitter of every size and shape is nobody's`() {
    var random = RandomSource(seed: 4)
    func uniform() -> Double { Double(random.next() >> 11) / Double(1 << 53) }
    for size in [0.0, 0.1, 0.3, 0.5, 1, 1.5, 2, 3, 5, 10, 20] {
      let shapes: [() -> Double] = [
        { size * uniform() },
        { -size * Logarithm.of(1 - uniform()) },
        { size * (uniform() + uniform() + uniform() + uniform()) },
      ]
      for shape in shapes {
        let packets = loaded(foreign: { _ in 0 }, jitter: shape)
        #expect(!ForeignGaps.isSeen(in: packets, base: 24e6), "jitter of \(size) ms")
        let few = loaded(count: 45, foreign: { _ in 0 }, jitter: shape)
        #expect(!ForeignGaps.isSeen(in: few, base: 24e6), "jitter of \(size) ms, few packets")
      }
    }
  }

  @Test func `packets that come in bundles, as over Wi-Fi, are nobody's`() {
    let bundles = loaded(foreign: { _ in 0 }, jitter: { 0 }).map { entry in
      var entry = entry
      entry.arrival =
        (entry.arrival / 20_000_000 + 1) * 20_000_000 + entry.arrival % 20_000_000 / 50
      return entry
    }
    #expect(!ForeignGaps.isSeen(in: bundles, base: 24e6))
  }
}
