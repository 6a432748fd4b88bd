import Calling
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// Many strangers call somebody whom a friend wants to reach: with a rendezvous between them, its
/// limits, and messages that nobody receipts.
@Suite struct StarvationTests {
  /// Alice, who turns strangers away; Bob, whom she knows; and the crowd.
  private final class Siege {
    let pair: TwoPeers
    private(set) var crowd: [SimulatedHost<MuteCaller>] = []
    var world: CallWorld { pair.world }

    init(seed: UInt64 = 1) {
      pair = TwoPeers(seed: seed)
      let (alice, bob) = (pair.alice.id, pair.bob)
      bob.host.command(now: world.now) { machine, _ in machine.setFamiliar(alice, true) }
      bob.decide = { [unowned bob] in
        var habits = Habits()
        let caller = bob.events.reversed().lazy.compactMap { event -> PeerID? in
          if case .calling(.incoming(_, let peer)) = event.event { peer } else { nil }
        }.first
        habits.answer =
          caller == alice ? .accept(after: .milliseconds(300)) : .reject(after: .zero)
        return habits
      }
    }

    /// Each of a network of its own.
    func gather(_ count: Int, each interval: Duration) {
      for number in 0..<count {
        world.network.beginNetwork()
        let host = world.network.addHost(
          at: world.network.addSite(.lan), port: UInt16(9000 + number))
        var configuration = PeerConfiguration(
          rendezvous: world.rendezvous.address, wallClockAtZero: CallWorld.wallClockAtStart)
        configuration.rendezvousID = world.rendezvous.id
        let process = SimulatedHost<MuteCaller>(host, on: world.network, clock: SimulatedClock())
        var caller = MuteCaller(
          pair.bob.id, each: interval, configuration, random: world.random.split())
        caller.start(now: world.now)
        world.simulator.add(process)
        process.start(caller, now: world.now)
        crowd.append(process)
      }
    }

    var invitations: Int {
      crowd.reduce(0) { sum, host in
        sum + (host.command(now: world.now) { machine, _ in machine.invitations } ?? 0)
      }
    }
  }

  /// Method: 120 identities, one INVITE each every 2 s, nothing receipted; a familiar caller calls
  /// every 6 s for a minute.
  @Test func `a familiar caller reaches somebody whom sixty strangers a second call`() throws {
    let siege = Siege()
    let (world, pair) = (siege.world, siege.pair)
    siege.gather(120, each: .seconds(2))
    world.run(.seconds(10))
    let before = siege.invitations
    var connected = 0
    for _ in 0..<10 {
      let start = world.now
      let call = try #require(pair.alice.call(.id(pair.bob.id)))
      if world.run(atMost: .seconds(4), until: { pair.isConnected(call) }) { connected += 1 }
      pair.alice.end(call)
      world.run(.seconds(6) - (world.now - start))
    }
    #expect(connected == 10)
    #expect((3400...3800).contains(siege.invitations - before), "\(siege.invitations - before)")
  }
}
