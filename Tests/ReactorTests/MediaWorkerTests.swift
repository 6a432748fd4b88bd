import Primitives
import Synchronization
import Testing

@testable import Reactor

struct MediaWorkerTests {
  private func schedule() -> TickSchedule {
    TickSchedule(start: Instant(nanoseconds: 1000), period: 100, catchUpLimit: 3)
  }
  private func at(_ nanoseconds: UInt64) -> Instant { Instant(nanoseconds: nanoseconds) }

  @Test func `a punctual thread gets every tick, at multiples of the period`() {
    var schedule = schedule()
    #expect(schedule.next(now: at(999)).0 == nil)
    for index: UInt64 in 0..<10 {
      let (tick, skipped) = schedule.next(now: at(1000 + 100 * index + 7))
      #expect(tick?.index == index)
      #expect(tick?.due == at(1000 + 100 * index))
      #expect(skipped == 0)
      #expect(schedule.next(now: at(1000 + 100 * index + 99)).0 == nil)
    }
  }

  @Test func `a late thread catches up at most so many ticks and skips the rest`() {
    var punctual = schedule()
    // Two periods late: ticks 0, 1 and 2 follow without a pause.
    #expect((0..<3).map { _ in punctual.next(now: at(1299)).0?.index } == [0, 1, 2])
    #expect(punctual.next(now: at(1299)).0 == nil)

    var late = schedule()
    // Three periods late is one too many: tick 0 is skipped.
    let (first, skipped) = late.next(now: at(1300))
    #expect(first?.index == 1 && skipped == 1)
    #expect((0..<2).map { _ in late.next(now: at(1300)).0?.index } == [2, 3])
    #expect(late.next(now: at(1300)).0 == nil)
    #expect(late.due == at(1400))
  }

  @Test func `what a tick has done ahead is not ticked again`() {
    var schedule = schedule()
    #expect(schedule.next(now: at(1000)).0?.index == 0)
    schedule.skip(3)
    #expect(schedule.next(now: at(1399)).0 == nil)
    let (tick, skipped) = schedule.next(now: at(1400))
    #expect(tick?.index == 4 && tick?.due == at(1400) && skipped == 0)
  }

  /// A deadline that is set there must wake the loop.
  @Test func `runs the loop's closure in place while the loop sleeps`() throws {
    let loop = try EventLoop()
    let wake = try LoopWake()
    let marks = Guarded<Set<UInt>>([])
    let isDue = Guarded(false)
    let own = currentThreadMark()
    let due = try loop.addTimer { _ in
      isDue.withLock { $0 = true }
      loop.stop()
    }
    _ = try wake.attach(to: loop) {
      marks.withLock { _ = $0.insert(currentThreadMark()) }
      if currentThreadMark() == own { loop.setDeadline(due, SystemClock.now) }
    }
    let bound = try loop.addTimer { _ in loop.stop() }
    let end = SystemClock.now + .seconds(10)
    loop.setDeadline(bound, end)
    try loop.start()
    while !marks.withLock({ $0.contains(own) }), SystemClock.now < end { wake.run() }
    #expect(!loop.isCurrent)
    loop.join()
    #expect(marks.withLock { $0.contains(own) })
    #expect(isDue.withLock { $0 })
  }

  @Test func `ticks on its thread wake the loop through a ring`() throws {
    let loop = try EventLoop()
    let ring = SPSCRing(slotCount: 64, slotByteCount: 16)
    let wake = try LoopWake()
    var indices: [UInt64] = []
    _ = try wake.attach(to: loop) {
      while let index = ring.pop({ _, label in label.first }) { indices.append(index) }
      if indices.count >= 10 { loop.stop() }
    }
    var options = MediaWorker.Options()
    options.period = .milliseconds(1)
    options.catchUpLimit = 1000
    let start = SystemClock.now
    let worker = try MediaWorker(options) { tick in
      let frame: [UInt8] = [1, 2, 3]
      if ring.push(frame.span, SPSCRing.Label(tick.index)) { wake.signal() }
    }
    let bound = try loop.addTimer { _ in loop.stop() }
    loop.setDeadline(bound, start + .seconds(10))
    loop.run()
    worker.stop()
    worker.join()
    #expect(indices.prefix(10) == ArraySlice(0..<10))
    #expect(SystemClock.now - start >= .milliseconds(9))
    #expect(worker.skippedTicks == 0)
  }

  @Test func `stops at once although the next tick is far away`() throws {
    var options = MediaWorker.Options()
    options.period = .seconds(600)
    let ticked = Latch()
    let worker = try MediaWorker(options) { _ in ticked.open() }
    #expect(ticked.wait())
    let before = SystemClock.now
    worker.stop()
    worker.join()
    #expect(SystemClock.now - before < .seconds(10))
  }
}
