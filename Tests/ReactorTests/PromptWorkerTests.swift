import Primitives
import Reactor
import Synchronization
import Testing

struct PromptWorkerTests {
  /// Runs `loop` until the worker has said that it is done, ten seconds at most.
  private func run(_ body: (EventLoop, LoopWake) throws -> PromptWorker) throws {
    let loop = try EventLoop()
    let wake = try LoopWake()
    _ = try wake.attach(to: loop) { loop.stop() }
    let bound = try loop.addTimer { _ in loop.stop() }
    loop.setDeadline(bound, SystemClock.now + .seconds(10))
    let worker = try body(loop, wake)
    loop.run()
    worker.stop()
    worker.join()
  }

  @Test func `it runs at once, and again when the time has come that it named`() throws {
    let times = Mutex<[Instant]>([])
    try run { _, wake in
      try PromptWorker(named: "test-prompt") { now in
        let count = times.withLock { times in
          times.append(now)
          return times.count
        }
        guard count < 3 else {
          wake.signal()
          return nil
        }
        return now + .milliseconds(2)
      }
    }
    let seen = times.withLock { $0 }
    #expect(seen.count >= 3)
    #expect(seen[1] - seen[0] >= .milliseconds(2))
  }

  @Test func `a signal runs it without a time`() throws {
    let count = Mutex(0)
    try run { _, wake in
      let worker = try PromptWorker(named: "test-prompt") { _ in
        let runs = count.withLock { count in
          count += 1
          return count
        }
        if runs == 2 { wake.signal() }
        return nil
      }
      // It has begun, or will see the signal when it begins: at most one more run is owed.
      while count.withLock({ $0 }) == 0 {}
      worker.signal()
      return worker
    }
    #expect(count.withLock { $0 } >= 2)
  }
}
