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

  /// The same between peers: what bob sends to alice.
  private func peers(_ seed: UInt64) throws -> TwoPeers {
    let pair = TwoPeers(
      seed: seed, roundTrip: .milliseconds(60),
      change: { $0.rate = .init(4_000_000, queue: .time(.milliseconds(100))) })
    var plan = ProbedLine.plan
    plan.probesUplink = false
    try pair.alice.host.command(now: pair.world.now) { machine, now throws(PeerRefusal) in
      try machine.probe(.id(pair.bob.id), plan, now: now)
    }
    return pair
  }

  @Test func `a peer's train stops within 250 ms of the last feedback`() throws {
    for (index, after) in [2_500, 4_000, 5_500].enumerated() {
      let pair = try peers(UInt64(index + 1))
      var last = Instant.zero
      let bob = pair.bob.hostID
      pair.world.network.tap = { if $0.host == bob, $0.bytes.count > 300 { last = $0.now } }
      pair.world.run(.milliseconds(Int64(after)))
      let cut = pair.world.now
      #expect(last > cut - .milliseconds(100), "a train runs when it is cut off")
      pair.world.network.setDown(up: true, down: false, of: pair.alice.site, now: cut)
      pair.world.run(.seconds(5))
      #expect(last <= cut + .milliseconds(250 + 35), "cut after \(after) ms")
    }
  }

  @Test func `a peer's train never follows its prober to another address`() throws {
    let pair = try peers(4)
    pair.world.run(.milliseconds(4_500))
    let old = pair.world.network.address(of: pair.alice.hostID)
    var last: [SocketAddress: Instant] = [:]
    var sizes: [SocketAddress: [Int]] = [:]
    let bob = pair.bob.hostID
    pair.world.network.tap = {
      // The train's; a new key, or a report, goes to the new address as it should.
      guard $0.host == bob, $0.bytes.count > 1000 else { return }
      last[$0.destination] = $0.now
      sizes[$0.destination, default: []].append($0.bytes.count)
    }
    pair.world.run(.milliseconds(100))
    #expect(last[old] != nil, "a train runs when its prober moves")
    let moved = pair.world.now
    pair.alice.move(to: pair.world.network.addSite(.clean(oneWay: .milliseconds(15))))
    let new = pair.world.network.address(of: pair.alice.hostID)
    pair.world.run(.seconds(5))
    #expect((last[old] ?? .zero) <= moved + .milliseconds(250 + 65))
    #expect((sizes[new] ?? []).isEmpty, "\(sizes[new] ?? []), last after \(moved)")
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
