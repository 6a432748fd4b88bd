import Calling
import Peer
import Primitives
import Simulation
import Testing
import Trials
import Wire

/// Addresses change in mid-call although the other side's translator lets in only what it asked
/// for: the rendezvous carries the news. Each pair with 8
/// seeds, by `tools/trials` with 20, and several round trips.
@Suite struct RoamingTests {
  enum Translator: String, Sendable {
    case none, full, address, port, symmetric

    var behaviour: SimulatedNAT.Behaviour? {
      switch self {
      case .none: nil
      case .full: .endpointIndependent
      case .address: .addressRestricted
      case .port: .portRestricted
      case .symmetric: .symmetric
      }
    }
  }

  struct Pair: Sendable, CustomTestStringConvertible {
    var alice: Translator
    var bob: Translator

    init(_ alice: Translator, _ bob: Translator) {
      self.alice = alice
      self.bob = bob
    }

    var testDescription: String { "\(alice.rawValue) x \(bob.rawValue)" }
  }

  /// All pairs of translators that can meet without a relay, and some without one.
  static let pairs: [Pair] = [
    Pair(.none, .none), Pair(.none, .full), Pair(.none, .port), Pair(.none, .symmetric),
    Pair(.full, .none), Pair(.full, .full), Pair(.full, .address), Pair(.full, .port),
    Pair(.full, .symmetric), Pair(.address, .full), Pair(.address, .address),
    Pair(.address, .port), Pair(.address, .symmetric), Pair(.port, .none), Pair(.port, .full),
    Pair(.port, .address), Pair(.port, .port), Pair(.symmetric, .none), Pair(.symmetric, .full),
    Pair(.symmetric, .address),
  ]
  static let seeds = 1...UInt64(Trials.count(8, full: 20))
  /// Between any two, in ms.
  static let roundTrips: [Int64] = [50, 20, 120, 200]

  /// The longest silence of each ear over some calls, each with `change` at a moment of its own, is
  /// at most `most` and four round trips, in ms.
  private func expectGaps(
    _ pair: Pair, atMost most: Int64, _ change: (TwoPeers) -> Void
  ) throws {
    for seed in Self.seeds {
      let roundTrip = Self.roundTrips[Int(seed) % Self.roundTrips.count]
      let peers = TwoPeers(
        seed: seed, roundTrip: .milliseconds(roundTrip),
        nat: (pair.alice.behaviour, pair.bob.behaviour))
      let call = try peers.connect()
      peers.world.run(.milliseconds(3_000 + Int64(seed) * 17))
      let start = peers.world.now
      change(peers)
      peers.world.run(.seconds(8))
      #expect(peers.isConnected(call), "seed \(seed)\n\(peers.story)")
      for peer in [peers.alice, peers.bob] {
        let gap = peers.longestGap(at: peer, from: start)
        #expect(gap <= most + 4 * roundTrip, "\(peer.name), seed \(seed), round trip \(roundTrip)")
      }
      peers.expectHungUp()
    }
  }

  private func rebind(_ peer: SimulatedPeer, _ peers: TwoPeers, changesAddress: Bool = true) {
    peers.world.network.rebind(peer.site, changesAddress: changesAddress, now: peers.world.now)
  }

  private func move(_ peer: SimulatedPeer, to translator: Translator, _ peers: TwoPeers) {
    let line = AccessConditions.clean(oneWay: .microseconds(12_500))
    peer.move(to: peers.world.network.addSite(line, nat: translator.behaviour))
  }

  // MARK: - Without notice

  /// Goal: 400 ms and four round trips, as for new ports.
  @Test(arguments: pairs)
  func `a new public address of one side is a short gap`(pair: Pair) throws {
    try expectGaps(pair, atMost: 400) { rebind($0.alice, $0) }
  }

  @Test(arguments: [Pair(.port, .port), Pair(.symmetric, .address), Pair(.address, .symmetric)])
  func `new ports of one side are a short gap`(pair: Pair) throws {
    try expectGaps(pair, atMost: 400) { rebind($0.alice, $0, changesAddress: false) }
  }

  /// Goal: 1.8 s and four round trips.
  @Test(arguments: pairs)
  func `new public addresses of both sides at once are bridged`(pair: Pair) throws {
    try expectGaps(pair, atMost: 1_800) {
      rebind($0.alice, $0)
      rebind($0.bob, $0)
    }
  }

  // MARK: - With notice

  @Test(arguments: pairs)
  func `a host that leaves for another network is heard soon`(pair: Pair) throws {
    try expectGaps(pair, atMost: 300) { move($0.alice, to: pair.alice, $0) }
  }

  @Test(arguments: [Pair(.none, .none), Pair(.port, .port), Pair(.address, .symmetric)])
  func `two hosts that leave at once hear each other again`(pair: Pair) throws {
    try expectGaps(pair, atMost: 1_800) {
      move($0.alice, to: pair.alice, $0)
      move($0.bob, to: pair.bob, $0)
    }
  }
}
