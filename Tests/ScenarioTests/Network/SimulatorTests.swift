import Primitives
import Simulation
import Testing

/// Two echoing hosts on a network: the world itself, without any protocol.
@Suite struct SimulatorTests {
  private final class Pair {
    let simulator: Simulator
    let client: SimulatedHost<PingPong>
    let server: SimulatedHost<PingPong>
    var clientEvents: [PingPong.Event] = []
    var serverEvents: [PingPong.Event] = []

    init(
      seed: UInt64 = 1, _ access: AccessConditions, nat: SimulatedNAT.Behaviour? = nil,
      interval: Duration = .milliseconds(20), clock: SimulatedClock = SimulatedClock(),
      keepsText: Bool = false
    ) {
      simulator = Simulator(seed: seed, log: RunLog(keepsText: keepsText))
      let network = simulator.network
      let here = network.addHost(at: network.addSite(access, nat: nat), port: 5000)
      let there = network.addHost(at: network.addSite(access), port: 7400)
      client = SimulatedHost(here, on: network, clock: clock)
      server = SimulatedHost(there, on: network, clock: SimulatedClock())
      simulator.add(client)
      simulator.add(server)
      client.observe = { [unowned self] event, _ in clientEvents.append(event) }
      server.observe = { [unowned self] event, _ in serverEvents.append(event) }
      server.start(PingPong(target: nil, interval: .zero, now: .zero), now: .zero)
      client.start(
        PingPong(
          target: network.address(of: there), interval: interval, now: clock.local(.zero)),
        now: .zero)
    }
  }

  @Test func `an answer comes after four times the delay of a line`() {
    let pair = Pair(.clean(oneWay: .milliseconds(25)))
    pair.simulator.run(.milliseconds(99))
    #expect(pair.clientEvents.isEmpty)
    pair.simulator.run(.milliseconds(2))
    #expect(pair.clientEvents == [.answered(0, at: .zero + .milliseconds(100), ecn: 2)])
  }

  @Test func `hosts keep their own time`() {
    let clock = SimulatedClock(origin: .zero + .seconds(5000), partsPerMillion: 100)
    let pair = Pair(.clean(oneWay: .milliseconds(25)), interval: .seconds(1), clock: clock)
    pair.simulator.run(.milliseconds(1_000_200))
    // 100 ppm fast for 1,000 s is 0.1 s: one more than the world's seconds would give.
    #expect(pair.serverEvents.count == 1_001)
    guard case .answered(_, let at, _)? = pair.clientEvents.first else {
      Issue.record("no answer")
      return
    }
    #expect(at == clock.local(.zero + .milliseconds(100)))
  }

  @Test func `a clock gives back the moment it was given, and never an earlier one`() {
    for partsPerMillion in [-100, 0, 37, 100] as [Int64] {
      let clock = SimulatedClock(origin: .zero + .seconds(77), partsPerMillion: partsPerMillion)
      for index in 0..<1_000 {
        let local = clock.local(Instant(nanoseconds: UInt64(index) * 977_777_777))
        let world = clock.world(local)
        #expect(clock.local(world) >= local)
        #expect(clock.local(world) - local < .microseconds(2))
      }
    }
  }

  @Test func `a crashed process hears nothing, and a new one does`() {
    let pair = Pair(.lan, interval: .seconds(1))
    pair.simulator.run(.milliseconds(2_500))
    #expect(pair.clientEvents.count == 3)
    pair.server.crash(now: pair.simulator.now)
    pair.simulator.run(.seconds(2))
    #expect(pair.clientEvents.count == 3)
    pair.server.start(
      PingPong(target: nil, interval: .zero, now: .zero), now: pair.simulator.now)
    pair.simulator.run(.seconds(2))
    #expect(pair.clientEvents.count == 5)
  }

  @Test func `answers find their way through every kind of NAT, and not past a rebind`() {
    for behaviour in [
      SimulatedNAT.Behaviour.endpointIndependent, .addressRestricted, .portRestricted, .symmetric,
    ] {
      let pair = Pair(.clean(oneWay: .milliseconds(25)), nat: behaviour, interval: .seconds(1))
      pair.simulator.run(.milliseconds(1_050))
      #expect(pair.clientEvents.count == 1)
      // The second question is under way: its answer will find no mapping.
      pair.simulator.network.rebind(
        pair.simulator.network.site(of: pair.client.host), changesAddress: true,
        now: pair.simulator.now)
      pair.simulator.run(.milliseconds(900))
      #expect(pair.clientEvents.count == 1)
      pair.simulator.run(.milliseconds(200))
      #expect(pair.clientEvents.count == 2)
    }
  }

  @Test func `a block of one direction leaves the other open`() {
    let pair = Pair(.lan, interval: .seconds(1))
    let network = pair.simulator.network
    network.block(
      from: network.site(of: pair.server.host), to: network.site(of: pair.client.host))
    pair.simulator.run(.milliseconds(2_500))
    #expect(pair.serverEvents.count == 3 && pair.clientEvents.isEmpty)
    network.unblockAll()
    pair.simulator.run(.seconds(2))
    #expect(pair.clientEvents.count == 2)
  }

  @Test func `a host that moves is answered at its new address`() {
    let pair = Pair(.lan, interval: .seconds(1))
    let network = pair.simulator.network
    pair.simulator.run(.milliseconds(500))
    let before = network.address(of: pair.client.host)
    network.move(pair.client.host, to: network.addSite(.lte), now: pair.simulator.now)
    pair.simulator.run(.seconds(1))
    #expect(network.address(of: pair.client.host) != before)
    #expect(pair.clientEvents.count == 2)
  }

  @Test func `one seed gives one log, and another seed another`() {
    func log(_ seed: UInt64) -> (UInt64, [UInt8]) {
      let pair = Pair(seed: seed, .awful, nat: .symmetric, keepsText: true)
      pair.simulator.run(.seconds(20))
      return (pair.simulator.log.digest, pair.simulator.log.text)
    }
    let (first, second, third) = (log(7), log(7), log(8))
    #expect(first.0 == second.0 && first.1 == second.1)
    #expect(first.0 != third.0 && first.1 != third.1)
    #expect(!first.1.isEmpty)
  }
}
