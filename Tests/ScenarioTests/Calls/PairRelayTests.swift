import Calling
import Connectivity
import Forwarding
import Peer
import Primitives
import Simulation
import Testing
import Trials
import Wire

/// Calls in worlds without TURN, with a relay that the rendezvous names (docs/protocol/relay.md
/// §6), at 50 ms of round trip between any two.
@Suite struct PairRelayTests {
  typealias Pair = RoamingTests.Pair

  private func peers(_ pair: Pair, seed: UInt64, hasRelay: Bool = true) -> TwoPeers {
    TwoPeers(
      seed: seed, roundTrip: .milliseconds(50), nat: (pair.alice.behaviour, pair.bob.behaviour),
      hasPairRelay: hasRelay)
  }

  /// Of so many, `tools/trials` has all and other runs a third.
  private static func seeds(_ most: Int) -> ClosedRange<UInt64> {
    1...UInt64(Trials.count((most + 2) / 3, full: most))
  }

  private func block(_ peers: TwoPeers) {
    peers.world.network.block(from: peers.alice.site, to: peers.bob.site)
    peers.world.network.block(from: peers.bob.site, to: peers.alice.site)
  }

  /// What the relay is for: the world before it.
  @Test func `without a relay two closed translators find no path`() throws {
    let peers = peers(Pair(.symmetric, .symmetric), seed: 1, hasRelay: false)
    peers.bob.habits.answer = .accept(after: .seconds(1))
    let call = try #require(peers.alice.call(.id(peers.bob.id)))
    peers.world.run(.seconds(20))
    #expect(!peers.isConnected(call))
  }

  @Test(arguments: RelayedCallTests.pairs)
  func `every pair of translators connects`(pair: Pair) throws {
    let isClosed = RelayedCallTests.isClosed(pair)
    for seed in Self.seeds(10) {
      let peers = peers(pair, seed: seed)
      let call = try peers.connect()
      peers.expectConnected(call, isRelayed: isClosed)
      peers.expectSound(for: .seconds(3))
      peers.expectHungUp()
    }
  }

  @Test func `two networks that let nothing of each other in connect`() throws {
    for seed in Self.seeds(10) {
      let peers = peers(Pair(.port, .full), seed: seed)
      block(peers)
      let call = try peers.connect()
      peers.expectConnected(call, isRelayed: true)
      peers.expectHungUp()
    }
  }

  /// The relay has no end bound of a call that is over, and forwards what was said and no more.
  @Test func `the end of a call frees its binding`() throws {
    let peers = peers(Pair(.symmetric, .symmetric), seed: 3)
    let relay = try #require(peers.pairRelay)
    let call = try peers.connect()
    peers.world.run(.seconds(5))
    #expect(relay.pairCount(now: peers.world.now) == 1)
    let counters = relay.counters(now: peers.world.now)
    #expect(counters.packetsForwarded > 400 && counters.packetsOverPace == 0)
    #expect(counters.bindsForged == 0 && counters.bindsReplayed == 0)
    #expect(peers.isConnected(call))
    peers.expectHungUp()
    peers.world.run(.seconds(2))
    #expect(relay.pairCount(now: peers.world.now) == 0)
  }

  /// Keys and connection IDs change every two minutes.
  @Test func `a relayed call goes on over rekeys without a gap`() throws {
    for seed in Self.seeds(3) {
      let peers = peers(Pair(.symmetric, .symmetric), seed: seed)
      let call = try peers.connect()
      peers.world.run(.seconds(3))
      let start = peers.world.now
      peers.world.run(.seconds(400))
      #expect(peers.isConnected(call), "\(peers.story)")
      for peer in [peers.alice, peers.bob] {
        #expect(peers.longestGap(at: peer, from: start) <= 60, "seed \(seed)")
      }
      peers.expectHungUp()
    }
  }

  /// The relay lets packets through for a while whose connection ID it was not told of.
  @Test func `a rekey of which the relay hears after 5 s is no harm`() throws {
    for seed in Self.seeds(3) {
      let peers = peers(Pair(.symmetric, .symmetric), seed: seed)
      let relay = try #require(peers.pairRelay)
      let call = try peers.connect()
      peers.world.run(.seconds(90))
      let start = peers.world.now
      var told: [PairSide: PairIDs] = [:]
      var until: [PairSide: Instant] = [:]
      var lost = 0
      peers.world.network.loses = { sighting in
        guard let bind = try? PairBindPacket(parsing: sighting.bytes) else { return false }
        if told[bind.side] != bind.ids {
          told[bind.side] = bind.ids
          until[bind.side] = sighting.now + .seconds(5)
        }
        guard let end = until[bind.side], sighting.now < end else { return false }
        lost += 1
        return true
      }
      peers.world.run(.seconds(250))
      #expect(lost >= 12 && peers.isConnected(call), "\(lost) lost\n\(peers.story)")
      for peer in [peers.alice, peers.bob] {
        #expect(peers.longestGap(at: peer, from: start) <= 60, "seed \(seed)")
      }
      #expect(relay.counters(now: peers.world.now).packetsOverPace == 0)
      peers.expectHungUp()
    }
  }

  /// The longest silence of each ear after `change` in a relayed call, in ms.
  private func gaps(_ pair: Pair, _ change: (TwoPeers) -> Void) throws -> [Int64] {
    var gaps: [Int64] = []
    for seed in Self.seeds(10) {
      let peers = peers(pair, seed: seed)
      let call = try peers.connect()
      peers.world.run(.milliseconds(3_000 + Int64(seed) * 17))
      let start = peers.world.now
      change(peers)
      peers.world.run(.seconds(10))
      #expect(peers.isConnected(call), "seed \(seed)\n\(peers.story)")
      gaps += [peers.alice, peers.bob].map { peers.longestGap(at: $0, from: start) }
      peers.expectHungUp()
    }
    return gaps.sorted()
  }

  /// The two have not written to each other for 190 s, so nobody has another ticket: the one that
  /// is there has to do. The sound goes on meanwhile, so nobody looks for a path either.
  @Test(arguments: [1_500, 5_000, 20_000] as [Int64])
  func `answers of the relay that get lost late in a call are no harm`(loss: Int64) throws {
    for seed in Self.seeds(5) {
      let peers = peers(Pair(.symmetric, .symmetric), seed: seed)
      let call = try peers.connect()
      peers.world.run(.milliseconds(195_000 + 1_370 * Int64(seed)))
      let start = peers.world.now
      var lost = 0
      let end = start + .seconds(10) + .milliseconds(loss)
      peers.world.network.loses = { sighting in
        guard sighting.now < end, PairBoundPacket.isOne(sighting.bytes) else { return false }
        lost += 1
        return true
      }
      peers.world.run(.seconds(75))
      #expect(lost >= 4 && peers.isConnected(call), "\(lost) lost\n\(peers.story)")
      for peer in [peers.alice, peers.bob] {
        #expect(peers.longestGap(at: peer, from: start) <= 60, "seed \(seed)")
      }
      peers.expectHungUp()
    }
  }

  /// A ticket ends after 12 h, here after 5 min; the two have not written to each other since their
  /// call began.
  @Test func `a relayed call goes on without a gap when its ticket has ended`() throws {
    for seed in Self.seeds(5) {
      let peers = TwoPeers(
        seed: seed, roundTrip: .milliseconds(50),
        nat: (SimulatedNAT.Behaviour.symmetric, .symmetric), hasPairRelay: true,
        pairTicketLife: .seconds(300))
      let call = try peers.connect()
      peers.world.run(.seconds(280))
      let start = peers.world.now
      peers.world.run(.seconds(400))
      #expect(peers.isConnected(call), "seed \(seed)\n\(peers.story)")
      for peer in [peers.alice, peers.bob] {
        #expect(peers.longestGap(at: peer, from: start) <= 60, "seed \(seed)")
      }
      peers.expectHungUp()
    }
  }

  /// The same where the sound stops as well.
  @Test(arguments: [1_500, 3_000, 8_000] as [Int64])
  func `a relay that is away for a moment late in a call does not end it`(away: Int64) throws {
    for seed in Self.seeds(5) {
      let peers = peers(Pair(.symmetric, .symmetric), seed: seed)
      let call = try peers.connect()
      peers.world.run(.milliseconds(200_000 + 1_370 * Int64(seed)))
      let start = peers.world.now
      peers.pairRelay?.cutOff(for: .milliseconds(away), in: peers.world)
      peers.world.run(.seconds(20))
      #expect(peers.isConnected(call), "\(away) ms, seed \(seed)\n\(peers.story)")
      for peer in [peers.alice, peers.bob] {
        #expect(peers.longestGap(at: peer, from: start) <= away + 3_000, "seed \(seed)")
      }
      peers.expectHungUp()
    }
  }

  @Test func `a new public address of one side costs a relayed call at most 2 s`() throws {
    let gaps = try gaps(Pair(.symmetric, .symmetric)) { peers in
      peers.world.network.rebind(
        peers.alice.site, changesAddress: true, now: peers.world.now)
    }
    #expect(gaps.allSatisfy { $0 <= 2_000 }, "\(gaps)")
  }

  @Test func `a relay that is started anew costs a relayed call at most 4 s`() throws {
    let gaps = try gaps(Pair(.symmetric, .symmetric)) { peers in
      peers.pairRelay?.crash(in: peers.world)
      peers.world.run(.milliseconds(500))
      peers.pairRelay?.start(in: peers.world)
    }
    #expect(gaps.allSatisfy { $0 <= 4_000 }, "\(gaps)")
  }

  @Test func `a direct path that opens later is taken without a gap`() throws {
    for seed in Self.seeds(10) {
      let peers = peers(Pair(.port, .port), seed: seed)
      block(peers)
      let call = try peers.connect()
      peers.expectConnected(call, isRelayed: true)
      peers.world.network.unblockAll()
      let start = peers.world.now
      peers.world.run(.seconds(35))
      #expect(peers.pathKind(call) != .relayed, "\(peers.story)")
      for peer in [peers.alice, peers.bob] {
        #expect(peers.longestGap(at: peer, from: start) <= 60, "seed \(seed)")
      }
      peers.expectHungUp()
    }
  }

  @Test func `a direct path that closes is left for the relay within 2 s`() throws {
    for seed in Self.seeds(10) {
      let peers = peers(Pair(.none, .none), seed: seed)
      let call = try peers.connect()
      peers.expectConnected(call, isRelayed: false)
      let start = peers.world.now
      block(peers)
      peers.world.run(.seconds(6))
      #expect(peers.pathKind(call) == .relayed, "\(peers.story)")
      for peer in [peers.alice, peers.bob] {
        #expect(peers.longestGap(at: peer, from: start) <= 2_000, "seed \(seed)")
      }
    }
  }
}
