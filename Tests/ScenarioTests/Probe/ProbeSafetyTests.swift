import LastMile
import Peer
import Primitives
import Simulation
import Testing

/// The reflector is no weapon (docs/protocol/probe.md §3), seen from the line.
@Suite struct ProbeSafetyTests {
  /// What the rendezvous sends where, from now on.
  private final class Meter {
    var bytes: [SocketAddress: Int] = [:]
    var last: [SocketAddress: Instant] = [:]

    init(_ world: CallWorld) {
      let server = world.rendezvous.host.host
      world.network.tap = { [unowned self] sighting in
        guard sighting.host == server else { return }
        bytes[sighting.destination, default: 0] += sighting.bytes.count + 28
        if sighting.bytes.count > 300 { last[sighting.destination] = sighting.now }
      }
    }
  }

  @Test func `when feedback stops the train stops within 250 ms`() throws {
    for (index, after) in [1_500, 2_500, 3_500, 5_000].enumerated() {
      let line = ProbedLine(seed: UInt64(index + 1))
      var plan = ProbedLine.plan
      plan.probesUplink = false
      let meter = Meter(line.world)
      try line.begin(plan)
      line.world.run(.milliseconds(Int64(after)))
      let cut = line.world.now
      line.world.network.setDown(up: true, down: false, of: line.alice.site, now: cut)
      line.world.run(.seconds(10))
      // What was under way at the cut still arrives: half a round trip.
      for last in meter.last.values {
        #expect(last <= cut + .milliseconds(250 + 35), "cut after \(after) ms")
      }
    }
  }

  @Test func `a probe's train never follows its client to another address`() throws {
    let line = ProbedLine()
    var plan = ProbedLine.plan
    plan.probesUplink = false
    try line.begin(plan)
    line.world.run(.milliseconds(4_500))
    let meter = Meter(line.world)
    let old = line.world.network.address(of: line.alice.hostID)
    let moved = line.world.now
    line.alice.move(to: line.world.network.addSite(.clean(oneWay: .milliseconds(29))))
    let new = line.world.network.address(of: line.alice.hostID)
    line.world.run(.seconds(5))
    #expect((meter.last[old] ?? .zero) <= moved + .milliseconds(65), "at most a round trip")
    #expect(meter.last[new] == nil, "the run is over: nothing large goes to the new address")
  }

  @Test func `no more than the budget is ever sent`() throws {
    let line = ProbedLine(up: 20_000_000, down: 20_000_000)
    var plan = ProbedLine.plan
    plan.seconds = 30
    let meter = Meter(line.world)
    let report = try line.run(plan)
    #expect(report.cost.bytesSent <= 2_500_000)
    #expect(report.cost.bytesReceived <= 2_500_000)
    #expect(meter.bytes.values.max() ?? 0 <= 2_600_000)
    #expect(report.state == .complete)
  }
}
