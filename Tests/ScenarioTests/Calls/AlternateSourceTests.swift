import Peer
import Primitives
import Simulation
import Testing

/// A host has two uplinks, and the one that its routes choose carries nothing any more, without a
/// sign. At 50 ms of round trip between any two.
@Suite struct AlternateSourceTests {
  typealias Pair = RoamingTests.Pair

  static let pairs: [Pair] = [
    Pair(.none, .none), Pair(.none, .port), Pair(.port, .none), Pair(.full, .full),
    Pair(.address, .port), Pair(.port, .port), Pair(.symmetric, .address),
  ]
  private static let line = AccessConditions.clean(oneWay: .microseconds(12_500))

  private func addUplink(_ peer: SimulatedPeer, _ translator: RoamingTests.Translator) {
    peer.addUplink(Self.line, nat: translator.behaviour)
  }

  private func setUplink(_ peer: SimulatedPeer, isDead: Bool, _ peers: TwoPeers) {
    peers.world.network.setDown(up: isDead, down: isDead, of: peer.site, now: peers.world.now)
  }

  /// The longest silence of each ear in ms when the first uplinks of some die in mid-call.
  private func gaps(
    _ pair: Pair, seed: UInt64, _ movers: (TwoPeers) -> [SimulatedPeer]
  ) throws -> [Int64] {
    let peers = TwoPeers(
      seed: seed, roundTrip: .milliseconds(50), nat: (pair.alice.behaviour, pair.bob.behaviour))
    addUplink(peers.alice, pair.alice)
    addUplink(peers.bob, pair.bob)
    let call = try peers.connect()
    peers.world.run(.milliseconds(3_000 + Int64(seed) * 17))
    let start = peers.world.now
    for peer in movers(peers) { setUplink(peer, isDead: true, peers) }
    peers.world.run(.seconds(8))
    #expect(peers.isConnected(call), "seed \(seed)\n\(peers.story)")
    for peer in movers(peers) {
      #expect(peer.statistics(of: call)?.local == LocalAddressID(rawValue: 1))
    }
    let found = [peers.alice, peers.bob].map { peers.longestGap(at: $0, from: start) }
    peers.expectHungUp()
    return found
  }

  @Test(arguments: pairs, RoamingTests.seeds)
  func `sound goes on within 1500 ms by the other uplink of one side`(
    pair: Pair, seed: UInt64
  ) throws {
    let gaps = try gaps(pair, seed: seed) { [$0.alice] }
    #expect(gaps.allSatisfy { $0 <= 1_500 }, "\(gaps)")
  }

  @Test(arguments: pairs, RoamingTests.seeds)
  func `sound goes on within 2 s by the other uplinks of both`(pair: Pair, seed: UInt64) throws {
    let gaps = try gaps(pair, seed: seed) { [$0.alice, $0.bob] }
    #expect(gaps.allSatisfy { $0 <= 2_000 }, "\(gaps)")
  }

  /// `waiting` is how long the uplink has been dead when the call begins, in ms.
  @Test(arguments: pairs, [Int64(100), 5_000, 60_000])
  func `a call begun while the routes' choice is dead is set up by the other uplink`(
    pair: Pair, waiting: Int64
  ) throws {
    // Who waits learns it with its next PING, 20 s after the last.
    let isKnown = waiting > 30_000
    for (seed, isCaller) in [(UInt64(1), true), (2, !isKnown), (3, true), (4, !isKnown)] {
      let peers = TwoPeers(
        seed: seed, roundTrip: .milliseconds(50), nat: (pair.alice.behaviour, pair.bob.behaviour))
      addUplink(peers.alice, pair.alice)
      addUplink(peers.bob, pair.bob)
      peers.world.run(.seconds(3))
      let mover = isCaller ? peers.alice : peers.bob
      setUplink(mover, isDead: true, peers)
      peers.world.run(.milliseconds(waiting + Int64(seed) * 17))
      let call = try peers.connect()
      #expect(
        mover.statistics(of: call)?.local == LocalAddressID(rawValue: 1),
        "\(seed)\n\(peers.story)")
      peers.world.run(.seconds(2))
      peers.expectHungUp()
    }
  }

  @Test(arguments: RoamingTests.seeds)
  func `who starts while the routes' choice is dead registers by the other uplink within 2500 ms`(
    seed: UInt64
  ) throws {
    let peers = TwoPeers(
      seed: seed, roundTrip: .milliseconds(50), nat: (.portRestricted, .portRestricted))
    addUplink(peers.alice, .port)
    setUplink(peers.alice, isDead: true, peers)
    peers.world.run(.milliseconds(2_500))
    #expect(peers.alice.isRegistered, "\(peers.story)")
    let call = try peers.connect()
    peers.world.run(.seconds(2))
    #expect(peers.alice.statistics(of: call)?.local == LocalAddressID(rawValue: 1))
    peers.expectHungUp()
  }

  @Test func `the routes' choice is used again when it carries again`() throws {
    let peers = TwoPeers(roundTrip: .milliseconds(50), nat: (.portRestricted, .portRestricted))
    addUplink(peers.alice, .port)
    let call = try peers.connect()
    peers.world.run(.seconds(2))
    setUplink(peers.alice, isDead: true, peers)
    peers.world.run(.seconds(5))
    #expect(peers.alice.statistics(of: call)?.local == LocalAddressID(rawValue: 1))
    setUplink(peers.alice, isDead: false, peers)
    let start = peers.world.now
    peers.world.run(.seconds(20))
    #expect(peers.alice.statistics(of: call)?.local == .unspecified)
    let gaps = [peers.alice, peers.bob].map { peers.longestGap(at: $0, from: start) }
    #expect(gaps.allSatisfy { $0 <= 60 }, "\(gaps)")
    peers.expectHungUp()
  }
}
