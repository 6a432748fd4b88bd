import Calling
import Connectivity
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// Calls through a port that a router has opened when it was asked.
@Suite struct MappedPortTests {
  /// A symmetric translator with UPnP-IGD or NAT-PMP.
  private static let mapping: SimulatedNAT.Behaviour = {
    var behaviour = SimulatedNAT.Behaviour.symmetric
    behaviour.mapsOnRequest = true
    return behaviour
  }()

  /// Goal: where one router opens a port, the strictest translators connect without a relay.
  @Test(
    arguments: [
      (mapping, SimulatedNAT.Behaviour.symmetric), (.symmetric, mapping), (mapping, mapping),
      (mapping, .portRestricted), (.portRestricted, mapping), (mapping, .unguarded),
      (.unguarded, mapping),
    ], 1...20 as ClosedRange<UInt64>)
  func `one router that maps is enough for any other translator`(
    nats: (SimulatedNAT.Behaviour, SimulatedNAT.Behaviour), seed: UInt64
  ) throws {
    for preparation in [CallPolicy.Preparation.onRinging, .onAccept] {
      let pair = TwoPeers(
        seed: seed, nat: nats, configure: { $0.policy.preparation = preparation })
      pair.bob.habits.answer = .accept(after: .milliseconds(500))
      let call = try #require(pair.alice.call(.id(pair.bob.id)))
      pair.world.run(.seconds(4))
      #expect(pair.isConnected(call), "\(preparation)\n\(pair.story)")
      pair.expectHungUp()
    }
  }

  @Test(arguments: [false, true])
  func `a port that is opened during the search for a path is told`(isAlice: Bool) throws {
    let pair = TwoPeers(
      seed: 5, nat: (Self.mapping, Self.mapping), configure: { $0.mappedAddress = nil })
    pair.bob.habits.answer = .accept(after: .milliseconds(500))
    let call = try #require(pair.alice.call(.id(pair.bob.id)))
    pair.world.run(.seconds(3))
    #expect(!pair.isConnected(call))
    (isAlice ? pair.alice : pair.bob).openPort()
    pair.world.run(.seconds(3))
    #expect(pair.isConnected(call), "\(pair.story)")
    pair.expectHungUp()
  }

  /// What is told of an address that a router, or one who says that it is one, has named.
  private func useful(_ text: String, isRegistered: Bool = true) -> SocketAddress? {
    let pair = TwoPeers(seed: 1, nat: (.symmetric, nil))
    let address = SocketAddress(text)
    return pair.alice.host.command(now: pair.world.now) { machine, now in
      machine.setMappedAddress(address, now: now)
      return machine.usefulMappedAddress
    } ?? nil
  }

  @Test func `an address that the rendezvous does not see is not told`() {
    for text in [
      "203.0.113.5:5000", "10.0.0.1:5000", "127.0.0.1:5000", "224.0.0.1:5000", "0.0.0.0:5000",
      "[2001:db8::5]:5000",
    ] { #expect(useful(text) == nil, "\(text)") }
  }

  @Test func `a port of a router behind another translator does no harm`() throws {
    let pair = TwoPeers(
      seed: 2, nat: (.portRestricted, .portRestricted),
      configure: { $0.mappedAddress = SocketAddress(v4: 100, 64, 0, 9, port: 5000) })
    let call = try pair.connect(talking: .seconds(1))
    pair.world.run(.seconds(2))
    #expect(pair.outcome(of: call, at: pair.alice) == .completed)
  }
}
