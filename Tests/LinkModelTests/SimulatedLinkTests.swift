import LinkModel
import Primitives
import Testing

/// Goal: the lines do what their conditions say, in figures. Bounds are five deviations wide.
@Suite struct SimulatedLinkTests {
  private static let packets = 40_000

  private func passages(
    _ conditions: LinkConditions, every gap: Duration = .milliseconds(1), byteCount: Int = 100,
    count: Int = packets
  ) -> [SimulatedLink.Passage] {
    var link = SimulatedLink(conditions, random: RandomSource(seed: 1))
    return (0..<count).map { index in
      let now = Instant.zero + gap * index
      var passage = link.carry(byteCount: byteCount, at: now, isECNCapable: true)
      passage.arrival = Instant(nanoseconds: passage.arrival.nanoseconds(since: now))
      return passage
    }
  }

  private func meanMilliseconds(_ passages: [SimulatedLink.Passage]) -> Double {
    passages.reduce(0) { $0 + Double($1.arrival.nanoseconds) } / Double(passages.count) / 1e6
  }

  @Test func `a clean line delays by its propagation and nothing else`() {
    for passage in passages(LinkConditions(delay: .milliseconds(25)), count: 100) {
      #expect(passage.fate == .arrives)
      #expect(passage.arrival.nanoseconds == 25_000_000)
      #expect(passage.duplicate == nil && passage.corruption == 0 && !passage.isMarked)
    }
  }

  @Test func `jitter has the mean of its distribution`() {
    var conditions = LinkConditions(delay: .milliseconds(10))
    conditions.keepsOrder = false
    conditions.jitter = .uniform(upTo: .milliseconds(8))
    #expect(abs(meanMilliseconds(passages(conditions)) - 14) < 0.06)
    conditions.jitter = .exponential(mean: .milliseconds(8))
    #expect(abs(meanMilliseconds(passages(conditions)) - 18) < 0.2)
    conditions.jitter = .normal(deviation: .milliseconds(8))
    #expect(abs(meanMilliseconds(passages(conditions)) - 16.38) < 0.13)  // σ √(2/π)
  }

  @Test func `jitter that keeps order never lets one datagram overtake another`() {
    var conditions = LinkConditions(delay: .milliseconds(10))
    conditions.jitter = .exponential(mean: .milliseconds(30))
    for keeps in [true, false] {
      conditions.keepsOrder = keeps
      var link = SimulatedLink(conditions, random: RandomSource(seed: 5))
      var last = Instant.zero
      var overtakings = 0
      for index in 0..<1_000 {
        let passage = link.carry(byteCount: 100, at: .zero + .milliseconds(index))
        if passage.arrival < last { overtakings += 1 }
        last = passage.arrival
      }
      #expect((overtakings == 0) == keeps)
    }
  }

  @Test func `random loss, duplication and corruption happen as often as asked for`() {
    var conditions = LinkConditions(delay: .zero)
    conditions.loss = .random(0.1)
    conditions.duplication = 0.05
    conditions.corruption = 0.02
    let all = passages(conditions)
    let arrived = all.filter { $0.fate == .arrives }
    let count = Double(Self.packets)
    #expect(abs(Double(all.count - arrived.count) / count - 0.1) < 0.0075)
    let share = Double(arrived.count)
    #expect(abs(Double(arrived.filter { $0.duplicate != nil }.count) / share - 0.05) < 0.006)
    #expect(abs(Double(arrived.filter { $0.corruption != 0 }.count) / share - 0.02) < 0.004)
  }

  @Test func `loss in bursts has the asked share and length`() {
    var conditions = LinkConditions(delay: .zero)
    conditions.loss = .bursts(.bursts(losing: 0.1, ofLength: 4))
    let lost = passages(conditions).map { $0.fate == .lost }
    let count = lost.count { $0 }
    let bursts = zip(lost, [false] + lost).count { $0 && !$1 }
    #expect(abs(Double(count) / Double(Self.packets) - 0.1) < 0.02)
    #expect(abs(Double(count) / Double(bursts) - 4) < 0.4)
  }

  @Test func `spells of loss have their lengths in time, however little is sent`() {
    var conditions = LinkConditions(delay: .zero)
    conditions.loss = .spells(
      LossySpells(meanClear: .milliseconds(900), meanLossy: .milliseconds(100)))
    for gap in [Duration.milliseconds(5), .milliseconds(400)] {
      let lost = passages(conditions, every: gap).count { $0.fate == .lost }
      #expect(abs(Double(lost) / Double(Self.packets) - 0.1) < 0.03, "\(lost), every \(gap)")
    }
    // A packet 400 ms after a lost one does not share its fate.
    let sparse = passages(conditions, every: .milliseconds(400)).map { $0.fate == .lost }
    let both = zip(sparse, sparse.dropFirst()).count { $0 && $1 }
    #expect(Double(both) < 0.2 * Double(sparse.count { $0 }))
  }

  @Test func `a slow line queues, marks what waits long, and drops what finds no room`() {
    var conditions = LinkConditions(delay: .milliseconds(10))
    conditions.rate = .init(
      100_000, queue: .time(.milliseconds(200)), marksAbove: .milliseconds(50))
    // 972 + 28 bytes every 40 ms is twice what 100 kbit/s carries: 80 ms each.
    let all = passages(conditions, every: .milliseconds(40), byteCount: 972, count: 500)
    let arrived = all.filter { $0.fate == .arrives }
    #expect(arrived.first?.arrival.nanoseconds == 90_000_000)
    #expect(arrived.allSatisfy { $0.arrival.nanoseconds <= 290_000_000 })
    #expect(abs(arrived.count - 253) <= 3)
    #expect(all.count { $0.fate == .queueFull } == 500 - arrived.count)
    #expect(arrived.filter(\.isMarked).count > 200 && arrived.first?.isMarked == false)
  }

  @Test func `a queue in bytes holds that many bytes`() {
    var conditions = LinkConditions(delay: .zero)
    conditions.rate = .init(8_000, queue: .bytes(5_000))  // 1 B a millisecond
    let all = passages(conditions, every: .zero, byteCount: 972, count: 20)
    #expect(all.count { $0.fate == .arrives } == 5)
  }

  @Test func `nothing passes during a blackout, everything before and after`() {
    var conditions = LinkConditions(delay: .zero)
    conditions.blackouts = [
      .init(from: .zero + .milliseconds(100), to: .zero + .milliseconds(200))
    ]
    let fates = passages(conditions, count: 300).map(\.fate)
    #expect(fates[0..<100].allSatisfy { $0 == .arrives })
    #expect(fates[100..<200].allSatisfy { $0 == .blackedOut })
    #expect(fates[200...].allSatisfy { $0 == .arrives })
  }

  @Test func `corruption flips one to four bits, and the same ones for the same word`() {
    for word in UInt64(1)...200 {
      var first = [UInt8](repeating: 0, count: 50)
      var second = first
      SimulatedLink.flipBits(of: &first, word)
      SimulatedLink.flipBits(of: &second, word)
      #expect(first == second)
      #expect(first.reduce(0) { $0 + $1.nonzeroBitCount } <= 4)
    }
  }
}
