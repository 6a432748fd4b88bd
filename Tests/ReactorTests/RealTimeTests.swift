import Glibc
import Primitives
import Synchronization
import Testing

@testable import Reactor

struct RealTimeTests {
  private static let start = Instant(nanoseconds: 1_000_000_000)

  /// What a budget says of `milliseconds` of turns of 1 ms, each `busy` ns on the core.
  private func verdicts(
    _ budget: inout RealTimeBudget, from: Instant, milliseconds: Int, busy: UInt64,
    used: inout UInt64
  ) -> [(RealTimeBudget.Verdict, Instant)] {
    var found: [(RealTimeBudget.Verdict, Instant)] = []
    for step in 1...milliseconds {
      let now = from + .milliseconds(Int64(step))
      used += busy
      let total = used
      let verdict = budget.verdict(after: 1_000_000, now: now) { total }
      if verdict != .stay { found.append((verdict, now)) }
    }
    return found
  }

  @Test func `a flood has its thread ordinary nineteen parts of twenty`() {
    var used: UInt64 = 0
    var budget = RealTimeBudget(now: Self.start, used: 0)
    let changes = verdicts(
      &budget, from: Self.start, milliseconds: 10_000, busy: 1_000_000, used: &used)
    var inRealTime: Int64 = 0
    var since: Instant? = Self.start
    for (verdict, at) in changes {
      if verdict == .leave, let began = since {
        inRealTime += (at - began).milliseconds
        since = nil
      } else if verdict == .enter {
        since = at
      }
    }
    #expect(changes.count >= 18)
    #expect(inRealTime <= 550, "\(inRealTime) ms of 10 s")
  }

  @Test func `a third of a core, and a turn that waits for a disk, cost nothing`() {
    var used: UInt64 = 0
    var budget = RealTimeBudget(now: Self.start, used: 0)
    #expect(
      verdicts(&budget, from: Self.start, milliseconds: 5000, busy: 330_000, used: &used).isEmpty)
    let verdict = budget.verdict(after: 900_000_000, now: Self.start + .seconds(6)) { used }
    #expect(verdict == .stay)
  }

  @Test func `the loop is of the class it says, and what it starts is ordinary`() throws {
    var options = EventLoop.Options()
    options.wantsRealTime = true
    let loop = try EventLoop(options)
    let seen = Mutex<(loop: Int32, child: Int32)>((-1, -1))
    let done = Latch()
    let timer = try loop.addTimer { _ in
      seen.withLock { $0.loop = sched_getscheduler(0) & 0xFF }
      var ordinary = MediaWorker.Options()
      ordinary.period = .seconds(600)
      ordinary.wantsRealTime = false
      let worker = try? MediaWorker(ordinary) { _ in
        seen.withLock { $0.child = sched_getscheduler(0) & 0xFF }
        done.open()
      }
      #expect(done.wait())
      worker?.stop()
      worker?.join()
      loop.stop()
    }
    loop.setDeadline(timer, SystemClock.now)
    loop.run()
    let (own, child) = seen.withLock { $0 }
    #expect((own == SCHED_FIFO) == loop.hasRealTimePriority)
    #expect(child == SCHED_OTHER)
  }
}
