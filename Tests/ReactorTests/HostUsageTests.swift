import Primitives
import Testing

@testable import Reactor

@Suite struct HostUsageTests {
  @Test func `the second sample has shares of the time between`() throws {
    var meter = HostUsageMeter()
    let start = SystemClock.now
    let first = meter.sample(now: start)
    #expect(first.processShare == nil && first.hostShare == nil)
    #expect(first.residentBytes > 1_000_000)
    let share = try #require(first.usedMemoryFraction)
    #expect(share > 0 && share < 1)
    var sum: UInt64 = 0
    for number in 0..<3_000_000 { sum &+= UInt64(number) &* sum | 1 }
    let second = meter.sample(now: SystemClock.now)
    #expect(try #require(second.processShare) > 0, "\(sum)")
    #expect(second.hostShare.map { (0...1).contains($0) } ?? true)
  }

  @Test func `the lines of proc are read`() throws {
    let ticks = try #require(
      HostUsageMeter.hostTicks("cpu  10 0 20 60 10 0 0 0 5 0\ncpu0 1 2 3 4 5\n"))
    #expect(ticks.busy == 30 && ticks.total == 100)
    #expect(HostUsageMeter.hostTicks("nothing") == nil)
    #expect(HostUsageMeter.hostTicks("cpu  1 2") == nil)
    let text = "MemTotal:       24684160 kB\nMemFree: 5 kB\n"
    #expect(HostUsageMeter.kilobytes("MemTotal:", in: text) == 24_684_160)
    #expect(HostUsageMeter.kilobytes("MemAvailable:", in: text) == nil)
  }

  /// Goal: a host whose count of idle time goes back stops nobody.
  @Test func `a share is one, whatever the kernel counts`() {
    #expect(HostUsageMeter.share(of: (30, 100), since: (10, 50)) == 0.4)
    #expect(HostUsageMeter.share(of: (8, 100), since: (10, 50)) == 0)
    #expect(HostUsageMeter.share(of: (90, 100), since: (10, 50)) == 1)
    #expect(HostUsageMeter.share(of: (30, 50), since: (10, 50)) == nil)
  }

  @Test func `an interface is a cable, a radio, or neither`() {
    #expect(NetworkInterfaces.medium(of: "lo") == .other)
    #expect(NetworkInterfaces.medium(of: "no/such") == .other)
  }
}
