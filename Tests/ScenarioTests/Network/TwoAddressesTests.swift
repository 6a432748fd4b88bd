import LastMile
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// A host with two addresses is asked at the one that its system would not answer from, by people
/// behind translators that let in only what was asked.
@Suite struct TwoAddressesTests {
  private static let line = AccessConditions.clean(oneWay: .milliseconds(15))

  /// Alice and Bob, who know the rendezvous by its second address.
  private func world(
    seed: UInt64 = 1, bobsNAT: SimulatedNAT.Behaviour? = .portRestricted
  ) -> (world: CallWorld, alice: SimulatedPeer, bob: SimulatedPeer) {
    let world = CallWorld(seed: seed, rendezvousAccess: Self.line)
    let second = world.network.addAddress(to: world.rendezvous.host.host)
    world.mediaInterval = .milliseconds(20)
    let dial = { (configuration: inout PeerConfiguration) in configuration.rendezvous = second }
    let alice = world.addPeer(
      CallWorld.names[0], Self.line, nat: .portRestricted, configure: dial)
    let bob = world.addPeer(CallWorld.names[1], Self.line, nat: bobsNAT, configure: dial)
    world.run(atMost: .seconds(20)) { alice.isRegistered && bob.isRegistered }
    world.run(.seconds(1))
    return (world, alice, bob)
  }

  private func connect(
    _ world: CallWorld, _ alice: SimulatedPeer, _ bob: SimulatedPeer
  ) throws -> CallID {
    bob.habits.answer = .accept(after: .seconds(1))
    let call = try #require(alice.call(.id(bob.id)))
    let isUp = world.run(atMost: .seconds(12)) {
      [alice, bob].allSatisfy {
        world.testimony.side(call, at: $0.hostID)?.time(of: .connected) != nil
      }
    }
    try #require(isUp, "\(alice.events)\n\(bob.events)")
    return call
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `a rendezvous answers from the address that was asked`(seed: UInt64) throws {
    let (world, alice, bob) = world(seed: seed)
    #expect(alice.isRegistered && bob.isRegistered)
    _ = try connect(world, alice, bob)
  }

  @Test func `it reflects probes, and keeps its clients, from there`() throws {
    let (world, alice, _) = world()
    try alice.host.command(now: world.now) { machine, now throws(PeerRefusal) in
      try machine.probe(ProbedLine.plan, now: now)
    }
    world.run(.seconds(10))
    let report = try #require(ProbedLine.reports(of: alice).last)
    #expect(report.state == .complete, "\(report.ending)")
    // The periodic PINGs are answered for minutes.
    world.run(.seconds(180))
    #expect(alice.isRegistered)
    let losses = alice.events.count {
      if case .registration(.reconnecting) = $0.event { true } else { false }
    }
    #expect(losses == 0)
  }

  @Test func `a callee answers checks, and sends media, from the address that was asked`() throws {
    let (world, alice, bob) = world(bobsNAT: nil)
    let first = world.network.address(of: bob.hostID)
    let second = world.network.addAddress(to: bob.hostID)
    world.network.makeUnreachable(first, from: alice.site)
    bob.host.command(now: world.now) { machine, now in
      machine.changeHostCandidates([first, second], now: now)
    }
    let call = try connect(world, alice, bob)
    world.run(.seconds(5))
    #expect(alice.statistics(of: call)?.remote == second)
    #expect(bob.statistics(of: call)?.local == LocalAddressID(rawValue: 1))
    #expect(alice.heard.count > 200, "\(alice.heard.count) frames")
    #expect(bob.heard.count > 200, "\(bob.heard.count) frames")
  }

  @Test func `media moves to the other address when the first one fails in mid-call`() throws {
    let (world, alice, bob) = world(bobsNAT: nil)
    let first = world.network.address(of: bob.hostID)
    let second = world.network.addAddress(to: bob.hostID)
    bob.host.command(now: world.now) { machine, now in
      machine.changeHostCandidates([first, second], now: now)
    }
    let call = try connect(world, alice, bob)
    world.run(.seconds(5))
    #expect(alice.statistics(of: call)?.remote == first, "the system's choice, while it works")
    world.network.makeUnreachable(first, from: alice.site)
    let broken = world.now
    world.run(.seconds(6))
    #expect(alice.statistics(of: call)?.remote == second)
    let heard = bob.heard.map(\.at).filter { $0 > broken }.min()
    #expect(try #require(heard) < broken + .seconds(3))
  }
}
