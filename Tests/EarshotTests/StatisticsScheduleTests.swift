import Primitives
import Testing

@testable import Earshot

@Suite struct StatisticsScheduleTests {
  /// Goal: each call's numbers are due every two seconds from its own beginning.
  @Test func `other calls change nothing`() {
    var schedule = StatisticsSchedule<Int>()
    var random = RandomSource(seed: 7)
    var now = Instant.zero + .seconds(5)
    schedule.begin(1, now: now)
    let began = now
    var times: [Int64] = []
    for _ in 0..<2_000 {
      now = now + .milliseconds(10)
      let other = 2 + Int(random.next() % 5)
      if random.next() % 5 == 0 { schedule.begin(other, now: now) }
      if random.next() % 5 == 0 { schedule.end(other) }
      if schedule.popDue(at: now).contains(1) { times.append((now - began).milliseconds) }
    }
    #expect(times == (1...10).map { $0 * 2_000 })
  }

  @Test func `a late turn moves none of the later ones`() {
    var schedule = StatisticsSchedule<Int>()
    schedule.begin(1, now: .zero)
    schedule.begin(1, now: .zero + .seconds(1))
    #expect(schedule.next == .zero + .seconds(2))
    #expect(schedule.popDue(at: .zero + .milliseconds(1_999)).isEmpty)
    #expect(schedule.popDue(at: .zero + .milliseconds(2_150)) == [1])
    #expect(schedule.next == .zero + .seconds(4))
    // Of those missed while the host slept one is made up.
    #expect(schedule.popDue(at: .zero + .milliseconds(9_100)) == [1])
    #expect(schedule.next == .zero + .seconds(10))
    schedule.end(1)
    #expect(schedule.next == nil)
  }
}
