import LastMile
import Peer
import Primitives
import Simulation
import Testing

/// The line to the rendezvous, probed through sessions, seals and networks.
@Suite struct ProbeScenarioTests {
  @Test func `both directions are measured, each by itself`() throws {
    let line = ProbedLine()
    let began = line.world.now
    let report = try line.run()
    #expect(report.state == .complete && report.ending == .finished)
    #expect(report.cost.seconds <= 8.05)
    let up = try #require(report.uplink)
    let down = try #require(report.downlink)
    #expect(abs((up.bandwidth?.bitsPerSecond ?? 0) / 1e6 - 1) < 0.04)
    #expect(abs((down.bandwidth?.bitsPerSecond ?? 0) / 2e6 - 1) < 0.04)
    #expect(up.bandwidth?.limitedByTest == false && down.bandwidth?.limitedByTest == false)
    #expect(up.loss?.hits == 0 && down.loss?.hits == 0)
    let trip = try #require(report.idleRoundTrip)
    #expect(abs(trip.delay.minimumMs - 61.3) < 1.6)
    let first = line.alice.events.first {
      if case .probe(.firstGrade) = $0.event { true } else { false }
    }
    #expect(try #require(first).at <= began + .seconds(2))
  }

  @Test func `a line that is faster than the test limits nothing but the test`() throws {
    let line = ProbedLine(up: 20_000_000, down: 20_000_000)
    var plan = ProbePlan()
    plan.expectedUplink = 1_000_000
    let sent = line.world.network.sentCount
    let report = try line.run(plan)
    #expect(line.world.network.sentCount > sent)
    #expect(report.uplink?.bandwidth?.limitedByTest == true)
    #expect(report.uplink?.bandwidth?.high == 1_000_000)
    #expect(report.downlink?.bandwidth?.limitedByTest == true)
    #expect(report.cost.bytesSent <= report.cost.sendBudget)
    #expect(Double(report.cost.bytesSent) * 8 <= 1_050_000 * 8)
  }

  @Test func `loss on the uplink alone is the uplink's`() throws {
    let line = ProbedLine { $0.up.loss = .random(0.2) }
    let report = try line.run()
    let up = try #require(report.uplink?.loss)
    let down = try #require(report.downlink?.loss)
    #expect(abs(up.share - 0.2) <= 0.05)
    #expect(down.share <= 0.02)
  }

  @Test func `what is not probed is absent`() throws {
    let line = ProbedLine()
    var plan = ProbedLine.plan
    plan.probesDownlink = false
    let report = try line.run(plan)
    #expect(report.state == .complete)
    #expect(report.downlink == nil && report.uplink?.bandwidth != nil)
    plan.measuresBandwidth = false
    let grade = try line.run(plan)
    #expect(grade.uplink?.bandwidth == nil && grade.uplink?.loss != nil)
    #expect(grade.cost.bytesSent < 20_000)
  }

  @Test func `both directions are loaded at once where that is asked for`() throws {
    let line = ProbedLine()
    var plan = ProbedLine.plan
    plan.loading = .atOnce
    let report = try line.run(plan)
    #expect(report.state == .complete)
    #expect(report.phases.contains { $0.phase == .loadedBoth })
    #expect(!report.phases.contains { $0.phase == .loadedUplink || $0.phase == .loadedDownlink })
    #expect(abs((report.uplink?.bandwidth?.bitsPerSecond ?? 0) / 1e6 - 1) < 0.05)
    #expect(abs((report.downlink?.bandwidth?.bitsPerSecond ?? 0) / 2e6 - 1) < 0.05)
  }

  @Test func `a silent rendezvous is unavailable, in time`() throws {
    let line = ProbedLine()
    line.world.network.setDown(up: true, down: true, of: line.alice.site, now: line.world.now)
    let report = try line.run()
    #expect(report.state == .unavailable && report.ending == .noAnswer)
    #expect(report.idleRoundTrip == nil && report.uplink == nil)
  }

  @Test func `a cancelled probe gives what it knows, and nothing after`() throws {
    let line = ProbedLine()
    try line.begin()
    line.world.run(.seconds(3))
    line.alice.host.command(now: line.world.now) { machine, now in machine.cancelProbe(now: now) }
    let count = line.alice.events.count
    let report = try #require(ProbedLine.reports(of: line.alice).last)
    #expect(report.ending == .cancelled && report.idleRoundTrip != nil)
    line.world.run(.seconds(10))
    let late = line.alice.events.dropFirst(count).filter {
      if case .probe = $0.event { true } else { false }
    }
    #expect(late.isEmpty)
  }

  @Test func `a probe may follow a cancelled one at once`() throws {
    let line = ProbedLine()
    try line.begin()
    line.world.run(.seconds(3))
    line.alice.host.command(now: line.world.now) { machine, now in machine.cancelProbe(now: now) }
    #expect(try line.run().ending == .finished)
    #expect(ProbedLine.reports(of: line.alice).map(\.ending) == [.cancelled, .finished])
  }

  @Test func `two probes at once, or one with an impossible plan, are refused`() throws {
    let line = ProbedLine()
    try line.begin()
    #expect(throws: PeerRefusal.probing) { try line.begin() }
    var plan = ProbePlan()
    plan.expectedUplink = 99_999
    #expect(throws: PeerRefusal.badPlan) { try line.begin(plan) }
  }

  @Test func `a clean line is measured whole, each way by itself`() throws {
    let line = ProbedLine(up: 1_000_000, down: 2_000_000)
    let report = try line.run()
    #expect((1_900_000...2_100_000).contains(report.downlink?.bandwidth?.bitsPerSecond ?? 0))
    #expect((950_000...1_050_000).contains(report.uplink?.bandwidth?.bitsPerSecond ?? 0))
  }
}
