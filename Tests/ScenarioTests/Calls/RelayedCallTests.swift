import Calling
import Connectivity
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// Calls in worlds with a TURN server, at 50 ms of round trip between any two.
@Suite struct RelayedCallTests {
  typealias Translator = RoamingTests.Translator
  typealias Pair = RoamingTests.Pair

  private static let translators: [Translator] = [.none, .full, .address, .port, .symmetric]
  static let pairs = translators.flatMap { alice in translators.map { Pair(alice, $0) } }
  /// Those that find no hole (RFC 5128 §3.3).
  static let closed = [
    Pair(.symmetric, .symmetric), Pair(.symmetric, .port), Pair(.port, .symmetric),
  ]

  static func isClosed(_ pair: Pair) -> Bool {
    closed.contains { $0.alice == pair.alice && $0.bob == pair.bob }
  }

  private func peers(_ pair: Pair, seed: UInt64) -> TwoPeers {
    TwoPeers(
      seed: seed, roundTrip: .milliseconds(50), nat: (pair.alice.behaviour, pair.bob.behaviour),
      hasRelay: true)
  }

  /// Goal: direct where it can be, by the relay elsewhere, within 1 s of the answer.
  @Test(arguments: pairs)
  func `every pair of translators connects`(pair: Pair) throws {
    let isClosed = Self.isClosed(pair)
    for seed in UInt64(1)...20 {
      let peers = peers(pair, seed: seed)
      let call = try peers.connect()
      peers.expectConnected(call, isRelayed: isClosed)
      peers.expectSound(for: .seconds(3))
      peers.expectHungUp()
    }
  }

  /// Nothing passes between the two but by the relay and the rendezvous.
  @Test func `two networks that let nothing of each other in connect`() throws {
    for seed in UInt64(1)...20 {
      let peers = peers(Pair(.port, .full), seed: seed)
      peers.world.network.block(from: peers.alice.site, to: peers.bob.site)
      peers.world.network.block(from: peers.bob.site, to: peers.alice.site)
      let call = try peers.connect()
      peers.expectConnected(call, isRelayed: true)
      peers.expectHungUp()
    }
  }

  /// The longest silence of each ear after `change` in a relayed call, in ms.
  private func gaps(
    _ pair: Pair, settling: Duration = .seconds(8), _ change: (TwoPeers) -> Void
  ) throws -> [Int64] {
    var gaps: [Int64] = []
    for seed in UInt64(1)...20 {
      let peers = peers(pair, seed: seed)
      let call = try peers.connect()
      peers.world.run(.milliseconds(3_000 + Int64(seed) * 17))
      let start = peers.world.now
      change(peers)
      peers.world.run(settling)
      #expect(peers.isConnected(call), "seed \(seed)\n\(peers.story)")
      gaps += [peers.alice, peers.bob].map { peers.longestGap(at: $0, from: start) }
      peers.expectHungUp()
    }
    return gaps.sorted()
  }

  @Test(arguments: closed)
  func `a new public address of one side costs a relayed call at most 2 s`(pair: Pair) throws {
    let gaps = try gaps(pair) { peers in
      peers.world.network.rebind(
        peers.alice.site, changesAddress: true, now: peers.world.now)
    }
    #expect(gaps.allSatisfy { $0 <= 2_000 }, "\(gaps)")
  }

  @Test(arguments: closed)
  func `new public addresses of both sides cost a relayed call at most 3 s`(pair: Pair) throws {
    let gaps = try gaps(pair) { peers in
      for peer in [peers.alice, peers.bob] {
        peers.world.network.rebind(peer.site, changesAddress: true, now: peers.world.now)
      }
    }
    #expect(gaps.allSatisfy { $0 <= 3_000 }, "\(gaps)")
  }

  @Test func `a host that leaves for another network takes its relayed call along`() throws {
    let gaps = try gaps(Pair(.symmetric, .symmetric)) { peers in
      let line = AccessConditions.clean(oneWay: .microseconds(12_500))
      peers.alice.move(to: peers.world.network.addSite(line, nat: .symmetric))
    }
    #expect(gaps.allSatisfy { $0 <= 2_000 }, "\(gaps)")
  }

  /// The server has forgotten all that it gave.
  @Test func `a relay that is started anew costs a relayed call at most 3 s`() throws {
    let gaps = try gaps(Pair(.symmetric, .symmetric)) { peers in
      if let relay = peers.relay { peers.world.crash(relay) }
      peers.world.run(.milliseconds(500))
      peers.relay?.start()
    }
    #expect(gaps.allSatisfy { $0 <= 3_000 }, "\(gaps)")
  }

  @Test(arguments: [3, 15, 18] as [Int64])
  func `sound is back within a second of the line`(seconds: Int64) throws {
    for seed in UInt64(1)...20 {
      let peers = peers(Pair(.symmetric, .port), seed: seed)
      let call = try peers.connect()
      peers.world.run(.seconds(4))
      peers.world.network.setDown(
        up: true, down: true, of: peers.alice.site, now: peers.world.now)
      peers.world.run(.seconds(seconds))
      peers.world.network.setDown(
        up: false, down: false, of: peers.alice.site, now: peers.world.now)
      let back = peers.world.now
      peers.world.run(.seconds(4))
      #expect(peers.isConnected(call))
      for peer in [peers.alice, peers.bob] {
        let first = peer.heard.first { $0.at >= back }?.at
        #expect(TwoPeers.milliseconds(back, first) <= 1_000, "\(peers.story)")
      }
      peers.expectHungUp()
    }
  }

  /// What only the relay carried goes directly when that becomes possible.
  @Test func `a direct path that opens later is taken without a gap`() throws {
    for seed in UInt64(1)...20 {
      let peers = peers(Pair(.port, .port), seed: seed)
      let network = peers.world.network
      network.block(from: peers.alice.site, to: peers.bob.site)
      network.block(from: peers.bob.site, to: peers.alice.site)
      let call = try peers.connect()
      peers.expectConnected(call, isRelayed: true)
      network.unblockAll()
      let start = peers.world.now
      peers.world.run(.seconds(35))
      #expect(peers.pathKind(call) != .relayed, "\(peers.story)")
      for peer in [peers.alice, peers.bob] {
        #expect(peers.longestGap(at: peer, from: start) <= 60, "seed \(seed)")
      }
      peers.expectHungUp()
    }
  }
}
