import Primitives
import Synchronization
import Testing

@testable import Reactor

struct MachineDriverTests {
  /// Two drivers on one loop: one asks a thousand times, the other echoes.
  @Test(arguments: [true, false])
  func `a thousand datagrams go out and come back`(usesOffload: Bool) throws {
    let loop = try EventLoop()
    var options = UDPSocket.Options()
    options.segments = usesOffload
    options.merges = usesOffload
    let echo = MachineDriver(
      EchoMachine(), socket: try UDPSocket(binding: Loopback.v4, options), on: loop)
    let asker = MachineDriver(
      EchoMachine(target: 1000, echoes: false),
      socket: try UDPSocket(binding: Loopback.v4, options), on: loop)
    let deadline = try loop.addTimer { _ in loop.stop() }
    loop.setDeadline(deadline, SystemClock.now + .seconds(10))
    try echo.start { _ in }
    // 32 in flight at a time: loopback itself must not be what loses them.
    var sent = 0
    func ask() {
      asker.withMachine { machine, _ in
        for _ in 0..<32 where sent < 1000 {
          machine.queue([UInt8](repeating: 7, count: 200), to: echo.localAddress)
          sent += 1
        }
      }
    }
    try asker.start { event in
      if event == .reached(1000) { loop.stop() }
    }
    var pace: EventLoop.Token?
    pace = try loop.addTimer { now in
      if asker.readMachine({ $0.received }) == sent { ask() }
      if let pace { loop.setDeadline(pace, now + .microseconds(200)) }
    }
    loop.setDeadline(try #require(pace), SystemClock.now)
    loop.run()

    #expect(asker.readMachine { $0.received } == 1000)
    #expect(asker.readMachine { $0.receivedBytes } == 200_000)
    #expect(echo.statistics.receivedDatagrams == 1000)
    #expect(echo.statistics.sentDatagrams == 1000)
    #expect(!echo.readMachine { $0.wentBack } && !asker.readMachine { $0.wentBack })
    #expect((asker.statistics.sentRuns > 0) == usesOffload)
    #expect((echo.statistics.receivedMessages < 1000) == usesOffload)
  }

  @Test func `a timer of the machine fires, and its event may give the next command`() throws {
    let loop = try EventLoop()
    let driver = MachineDriver(
      EchoMachine(target: 1), socket: try UDPSocket(binding: Loopback.v4), on: loop)
    let start = SystemClock.now
    var firedAt: Instant?
    try driver.start { event in
      switch event {
      case .timedOut(let now):
        firedAt = now
        driver.withMachine { machine, _ in machine.queue([1], to: driver.localAddress) }
      case .reached: loop.stop()
      case .echoed: break
      }
    }
    driver.withMachine { machine, now in machine.nextDeadline = now + .milliseconds(3) }
    loop.run()
    #expect(try #require(firedAt) >= start + .milliseconds(3))
  }
}
