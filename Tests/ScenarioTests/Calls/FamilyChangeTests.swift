import Peer
import Primitives
import Simulation
import Testing

/// A host loses one family of addresses and gets the other in mid-call. At 50 ms of round trip
/// between any two.
@Suite struct FamilyChangeTests {
  private static let line = AccessConditions.clean(oneWay: .microseconds(12_500))

  /// Alice and Bob in a call, at a rendezvous that has both families.
  private final class Talk {
    let world: CallWorld
    let peers: [SimulatedPeer]

    /// - Parameter families: Of alice and bob at first.
    init(seed: UInt64, _ families: [SocketAddress.Family]) {
      let world = CallWorld(seed: seed, rendezvousAccess: FamilyChangeTests.line)
      let server = world.rendezvous.host.host
      let site = world.network.addSite(FamilyChangeTests.line, family: .v6)
      let addresses = [world.rendezvous.address, world.network.addUplink(to: server, at: site).0]
      world.mediaInterval = .milliseconds(20)
      peers = zip(CallWorld.names, families).map { name, family in
        let place = world.network.addSite(FamilyChangeTests.line, family: family)
        return world.addPeer(name, at: place) { configuration in
          let isDialled = { (address: SocketAddress) in address.family == family }
          configuration.rendezvous = addresses.first(where: isDialled) ?? addresses[0]
          configuration.otherRendezvousAddresses = addresses.filter { !isDialled($0) }
        }
      }
      self.world = world
    }

    func move(_ peer: SimulatedPeer, to family: SocketAddress.Family) {
      peer.move(to: world.network.addSite(FamilyChangeTests.line, family: family))
    }

    /// The longest silence in ms after `change` in mid-call.
    func gap(after change: (Talk) -> Void) throws -> Int64 {
      world.run(atMost: .seconds(20)) { peers.allSatisfy(\.isRegistered) }
      world.run(.seconds(1))
      peers[1].habits.answer = .accept(after: .seconds(1))
      _ = try #require(peers[0].call(.id(peers[1].id)))
      world.run(.seconds(6))
      let start = world.now
      change(self)
      world.run(.seconds(8))
      let gaps = peers.map { peer in
        let times = peer.heard.map(\.at).filter { $0 > start }
        let all = [start] + times + [world.now]
        return zip(all, all.dropFirst()).map { ($1 - $0).milliseconds }.max() ?? .max
      }
      return gaps.max() ?? .max
    }
  }

  @Test(arguments: [SocketAddress.Family.v4, .v6], RoamingTests.seeds)
  func `one side that changes its family is heard within 500 ms by a peer that has both`(
    family: SocketAddress.Family, seed: UInt64
  ) throws {
    let talk = Talk(seed: seed, [family, .v4])
    talk.world.run(.milliseconds(1))
    talk.peers[1].addUplink(Self.line, family: .v6)
    let gap = try talk.gap { $0.move($0.peers[0], to: family == .v4 ? .v6 : .v4) }
    #expect(gap <= 500)
  }

  @Test(arguments: [SocketAddress.Family.v4, .v6], RoamingTests.seeds)
  func `two sides that change their family find each other by the other address of the rendezvous`(
    family: SocketAddress.Family, seed: UInt64
  ) throws {
    let gap = try Talk(seed: seed, [family, family]).gap { talk in
      for peer in talk.peers { talk.move(peer, to: family == .v4 ? .v6 : .v4) }
    }
    #expect(gap <= 2_000)
  }
}
