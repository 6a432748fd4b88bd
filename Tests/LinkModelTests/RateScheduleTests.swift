import LinkModel
import Primitives
import Testing

@Suite struct RateScheduleTests {
  private static func at(_ milliseconds: UInt64) -> Instant {
    Instant(nanoseconds: milliseconds * 1_000_000)
  }

  private static func schedule(_ steps: [(UInt64, Double)]) throws -> RateSchedule {
    try #require(RateSchedule(steps.map { .init(from: at($0.0), bitsPerSecond: $0.1) }))
  }

  @Test func `steps are in order, and the last one lets something through`() {
    let step = RateSchedule.Step(from: Self.at(10), bitsPerSecond: 1e6)
    #expect(RateSchedule([]) == nil)
    #expect(RateSchedule([step, .init(from: .zero, bitsPerSecond: 1)]) == nil)
    #expect(RateSchedule([step, .init(from: Self.at(20), bitsPerSecond: 0)]) == nil)
    #expect(RateSchedule([step]) != nil)
  }

  @Test func `bits are counted over the steps`() throws {
    let schedule = try Self.schedule([(0, 1e6), (2_000, 3e6)])
    #expect(schedule.bits(from: Self.at(1_000), to: Self.at(3_000)) == 4e6)
    #expect(schedule.bits(from: Self.at(3_000), to: Self.at(1_000)) == 0)
    #expect(schedule.rate(at: Self.at(1_999)) == 1e6 && schedule.rate(at: Self.at(2_000)) == 3e6)
  }

  @Test func `a packet is served over a change of the rate`() throws {
    let schedule = try Self.schedule([(0, 1e6), (10, 2e6)])
    let service = schedule.service(of: 10_000, from: Self.at(5))
    // 5000 bits until the change, and as many in half the time behind it.
    #expect(service.start == Self.at(5))
    #expect(service.end.nanoseconds == 12_500_000)
  }

  @Test func `while it stands still nothing leaves, and its queue is as long as before`() throws {
    let schedule = try #require(
      try Self.schedule([(0, 1e6)]).holding(from: Self.at(20), to: Self.at(320)))
    #expect(schedule.rate(at: Self.at(100)) == 0)
    #expect(schedule.nominalRate(at: Self.at(100)) == 1e6)
    let service = schedule.service(of: 1_000, from: Self.at(100))
    #expect(service.start == Self.at(320) && service.end == Self.at(321))
  }

  @Test func `a link takes its rate and its queue from the schedule`() throws {
    var conditions = LinkConditions(delay: .milliseconds(5))
    conditions.schedule = .init(
      try Self.schedule([(0, 1e6), (1_000, 2e6)]), queue: .time(.milliseconds(50)),
      marksAbove: .milliseconds(10))
    var link = SimulatedLink(conditions, random: RandomSource(seed: 1))
    for (start, room) in [(0 as UInt64, 6), (2_000, 12)] {
      var passages: [SimulatedLink.Passage] = []
      for _ in 0..<30 {
        passages.append(link.carry(byteCount: 972, at: Self.at(start), isECNCapable: true))
      }
      // 50 ms of the moment's rate hold so many packets of 1000 bytes.
      #expect(passages.count { $0.fate == .arrives } == room)
      #expect(passages.count { $0.fate == .queueFull } == 30 - room)
      #expect(passages[0].arrival == passages[0].departure + .milliseconds(5))
      #expect(!passages[1].isMarked && passages[room - 1].isMarked)
    }
  }

  @Test func `a policer passes its rate and its burst`() {
    var conditions = LinkConditions(delay: .zero)
    conditions.policer = TokenBucket(bitsPerSecond: 800_000, burst: 10_000)
    var link = SimulatedLink(conditions, random: RandomSource(seed: 1))
    let fates = (0..<1_000 as Range<UInt64>).map { time in
      link.carry(byteCount: 972, at: Self.at(time)).fate
    }
    // 100 bytes a millisecond, and ten packets at first.
    #expect((108...110).contains(fates.count { $0 == .arrives }))
    #expect(fates.prefix(10).allSatisfy { $0 == .arrives })
    var level = TokenBucket.Level()
    let bucket = TokenBucket(bitsPerSecond: 8_000, burst: 1_000)
    let admitted = [(1_000, 0), (500, 400), (500, 500)].map { byteCount, time in
      level.admits(byteCount, at: Self.at(time), by: bucket)
    }
    #expect(admitted == [true, false, true])
  }

  @Test func `jitter is cut, and what it held up may come at once`() {
    var conditions = LinkConditions(delay: .milliseconds(5))
    conditions.jitter = .normal(deviation: .milliseconds(10))
    conditions.mostJitter = .milliseconds(12)
    conditions.rate = .init(1_000_000, queue: .time(.seconds(1)))
    conditions.aggregates = true
    var link = SimulatedLink(conditions, random: RandomSource(seed: 1))
    var together = 0
    var last = Instant.zero
    for index in 0..<500 as Range<UInt64> {
      let passage = link.carry(byteCount: 97, at: Self.at(index * 2))
      #expect(passage.arrival - passage.departure <= .milliseconds(17))
      if passage.arrival == last { together += 1 }
      last = passage.arrival
    }
    #expect(together > 100)
  }
}
