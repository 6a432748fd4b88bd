import Primitives
import Synchronization
import Testing

@testable import Reactor

/// An actor that lives on an event loop.
private actor Resident {
  nonisolated let loop: EventLoop
  private var count = 0

  init(on loop: EventLoop) { self.loop = loop }

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe loop.asUnownedSerialExecutor()
  }

  func step() -> (count: Int, isOnLoop: Bool) {
    count += 1
    return (count, loop.isCurrent)
  }

  /// From a source or a timer, without a job.
  nonisolated func stepFromLoop() -> Int {
    assumeIsolated { resident in
      resident.count += 1
      return resident.count
    }
  }
}

struct EventLoopTests {
  @Test func `an actor on the loop runs on its thread, jobs and callbacks alike`() async throws {
    let loop = try EventLoop()
    let resident = Resident(on: loop)
    let seen = Mutex(0)
    let fired = Latch()
    let timer = try loop.addTimer { _ in
      seen.withLock { $0 = resident.stepFromLoop() }
      fired.open()
    }
    loop.setDeadline(timer, SystemClock.now)
    try loop.start()
    #expect(fired.wait())
    #expect(seen.withLock { $0 } == 1)
    for expected in 2..<102 {
      let step = await resident.step()
      #expect(step.count == expected)
      #expect(step.isOnLoop)
    }
    #expect(!loop.isCurrent)
    #expect(loop.turnCount > 0)
    loop.stop()
    loop.join()
  }

  @Test func `a task that prefers the loop stays on it`() async throws {
    let loop = try EventLoop()
    try loop.start()
    let task = Task(executorPreference: loop) {
      let before = loop.isCurrent
      await Task.yield()
      return before && loop.isCurrent
    }
    #expect(await task.value)
    loop.stop()
    loop.join()
  }

  @Test func `an actor still answers after its loop has ended`() async throws {
    let loop = try EventLoop()
    let resident = Resident(on: loop)
    try loop.start()
    #expect(await resident.step().count == 1)
    loop.stop()
    loop.join()
    let counts = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<50 { group.addTask { await resident.step().count } }
      return await group.reduce(into: Set<Int>()) { $0.insert($1) }
    }
    #expect(counts == Set(2...51))
  }

  @Test func `timers fire in the turn they are due, never before, and can be moved`() throws {
    let loop = try EventLoop()
    let start = SystemClock.now
    var order: [String] = []
    let moved = try loop.addTimer { _ in order.append("moved") }
    let stopped = try loop.addTimer { _ in order.append("stopped") }
    let last = try loop.addTimer { now in
      #expect(now >= start + .milliseconds(6))
      order.append("last")
      loop.stop()
    }
    let early = try loop.addTimer { now in
      #expect(now >= start + .milliseconds(2))
      order.append("early")
      loop.setDeadline(moved, start + .milliseconds(4))
      loop.setDeadline(stopped, nil)
    }
    loop.setDeadline(moved, start + .seconds(60))
    loop.setDeadline(stopped, start + .milliseconds(5))
    loop.setDeadline(last, start + .milliseconds(6))
    loop.setDeadline(early, start + .milliseconds(2))
    loop.run()
    // A late turn may find several due at once; "early" and "last" are due in this order.
    #expect(order.contains("early"))
    #expect(order.contains("last"))
    #expect(order.contains("moved") || order.firstIndex(of: "early") == order.count - 1)
  }

  @Test func `a source removed by another one in the same turn is not served`() throws {
    let loop = try EventLoop()
    var first = try UDPSocket(binding: Loopback.v4)
    let second = try UDPSocket(binding: Loopback.v4)
    first.put([1], to: first.localAddress)
    first.put([2], to: second.localAddress)
    first.flush()
    let areReadable = first.waitUntilReadable() && second.waitUntilReadable()
    try #require(areReadable)
    var served = 0
    var tokens: [EventLoop.Token] = []
    let serve: (Readiness) -> Void = { _ in
      served += 1
      for token in tokens { loop.unwatch(token) }
      loop.stop()
    }
    tokens.append(try loop.watch(first.fileNumber, for: .readable, serve))
    tokens.append(try loop.watch(second.fileNumber, for: .readable, serve))
    loop.run()
    #expect(served == 1)
  }
}
