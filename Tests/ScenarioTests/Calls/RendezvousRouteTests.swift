import Primitives
import Simulation
import Testing

@testable import Peer

/// By which addresses the rendezvous is reached.
@Suite struct RendezvousRouteTests {
  private static let usual = SocketAddress(v4: 10, 0, 0, 9, port: 7400)
  private static let other = SocketAddress(family: .v6, high: 0xFD, low: 9, port: 7400)
  private static let second = LocalAddressID(rawValue: 1)
  private static let third = LocalAddressID(rawValue: 2)

  private func route() -> RendezvousRoute {
    var configuration = PeerConfiguration(rendezvous: Self.usual, wallClockAtZero: 0)
    configuration.otherRendezvousAddresses = [Self.other]
    return RendezvousRoute(configuration)
  }

  private func detours(_ route: inout RendezvousRoute) -> [DatagramPath] {
    route.beginDetours()
    var found: [DatagramPath] = []
    while let detour = route.nextDetour() { found.append(detour) }
    return found
  }

  @Test func `the address that was dialled comes first, and any other only when asked for`() {
    var route = route()
    #expect(route.path == DatagramPath(Self.usual))
    #expect(route.nextDetour() == nil)
    #expect(route.reaches(Self.other) && route.reaches(Self.usual))
    #expect(!route.reaches(SocketAddress(v4: 10, 0, 0, 8, port: 7400)))
    route.reset(
      own: [],
      alternates: [AlternateSource(Self.second, .v4), AlternateSource(Self.third, .v6)])
    let ways = [
      DatagramPath(Self.other), DatagramPath(Self.usual, local: Self.second),
      DatagramPath(Self.other, local: Self.third),
    ]
    #expect(detours(&route) == ways)
    route.settle(ways[1])
    #expect(route.path == ways[1])
    #expect(detours(&route) == [DatagramPath(Self.usual), ways[0], ways[2]])
  }

  @Test func `a family that the host has lost is not asked in`() {
    var route = route()
    route.reset(own: [SocketAddress(family: .v6, high: 0xFD, low: 1, port: 5)], alternates: [])
    #expect(route.path == DatagramPath(Self.other))
    #expect(detours(&route).isEmpty)
    route.reset(own: [SocketAddress(v4: 10, 0, 0, 1, port: 5)], alternates: [])
    #expect(route.path == DatagramPath(Self.usual))
  }

  /// Where it has one address, its second packet goes the same way.
  @Test func `a rendezvous with two addresses is asked at the second after 0.3 s`() throws {
    var one = PeerConfiguration(rendezvous: Self.usual, wallClockAtZero: 0)
    #expect(RendezvousRoute(one).patience == 2)
    one.otherRendezvousAddresses = [Self.other]
    #expect(RendezvousRoute(one).patience == 1)
    for seed in UInt64(1)...20 {
      let world = CallWorld(seed: seed)
      let peer = world.addPeer(CallWorld.names[0]) {
        // Nothing is there.
        $0.otherRendezvousAddresses = [$0.rendezvous]
        $0.rendezvous = SocketAddress(v4: 203, 0, 113, 77, port: 7400)
      }
      let isThere = world.run(atMost: .milliseconds(600)) { peer.isRegistered }
      #expect(isThere, "seed \(seed)")
    }
  }

  /// A server that has moved is found where its name leads now, and no session is left for a name.
  @Test func `a rendezvous is found where its name leads now`() throws {
    let world = CallWorld(seed: 4)
    var real: [SocketAddress] = []
    let gone = SocketAddress(v4: 203, 0, 113, 77, port: 7400)
    let peer = world.addPeer(CallWorld.names[0]) {
      real = [$0.rendezvous]
      $0.rendezvous = gone
    }
    world.run(.seconds(60))
    #expect(!peer.isRegistered)
    peer.host.command(now: world.now) { NodeMove.redial(real, on: &$0, now: $1) }
    let isThere = world.run(atMost: .seconds(1)) { peer.isRegistered }
    #expect(isThere)
    peer.host.command(now: world.now) { NodeMove.redial([gone], on: &$0, now: $1) }
    world.run(.seconds(60))
    #expect(peer.isRegistered)
  }

  @Test func `attempts that are not answered take every way in turn`() {
    var route = route()
    route.reset(own: [], alternates: [AlternateSource(Self.second, .v4)])
    var ways: [DatagramPath] = []
    for _ in 0..<3 {
      route.turn()
      ways.append(route.path)
    }
    #expect(
      ways == [
        DatagramPath(Self.other), DatagramPath(Self.usual, local: Self.second),
        DatagramPath(Self.usual),
      ])
  }
}
