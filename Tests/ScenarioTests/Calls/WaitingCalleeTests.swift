import Calling
import Primitives
import Simulation
import Testing

/// The translator of somebody who waits gets a new public address, and nothing tells the host: it
/// is found again with its next PING, and the call goes to where it is then.
@Suite struct WaitingCalleeTests {
  static let pairs: [RoamingTests.Pair] = [
    .init(.none, .full), .init(.none, .port), .init(.address, .address), .init(.port, .port),
    .init(.full, .symmetric),
  ]

  /// Goal: 6 s until PING, 1 s until bob accepts, and 1.5 s for the next INVITE and the path.
  @Test(arguments: pairs)
  func `somebody whose translator changed unseen is reached after the next PING`(
    pair: RoamingTests.Pair
  ) throws {
    for seed in RoamingTests.seeds {
      let peers = TwoPeers(
        seed: seed, roundTrip: .milliseconds(60),
        nat: (pair.alice.behaviour, pair.bob.behaviour))
      peers.world.run(.milliseconds(Int64(seed) * 290))
      peers.world.network.rebind(peers.bob.site, changesAddress: true, now: peers.world.now)
      peers.world.run(.milliseconds(Int64(seed % 5) * 200))
      let start = peers.world.now
      let call = try peers.connect()
      for peer in [peers.alice, peers.bob] {
        let after = TwoPeers.milliseconds(start, peers.time(.connected, of: call, at: peer))
        #expect(after <= 8_500, "\(peer.name), seed \(seed)\n\(peers.story)")
      }
      peers.expectHungUp()
    }
  }
}
