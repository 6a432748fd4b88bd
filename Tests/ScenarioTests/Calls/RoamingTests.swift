import Calling
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// Addresses change in mid-call although the other side's translator lets in only what it asked
/// for: the rendezvous carries the news. At 50 ms of round trip between any two.
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
  static let seeds = UInt64(1)...3

  /// The longest silence of each ear over some calls, each with `change` at a moment of its own, in
  /// ms, least first.
  private func gaps(_ pair: Pair, _ change: (TwoPeers) -> Void) throws -> [Int64] {
    var gaps: [Int64] = []
    for seed in Self.seeds {
      let peers = TwoPeers(
        seed: seed, roundTrip: .milliseconds(50),
        nat: (pair.alice.behaviour, pair.bob.behaviour))
      let call = try peers.connect()
      peers.world.run(.milliseconds(3_000 + Int64(seed) * 17))
      let start = peers.world.now
      change(peers)
      peers.world.run(.seconds(8))
      #expect(peers.isConnected(call), "seed \(seed)\n\(peers.story)")
      gaps += [peers.alice, peers.bob].map { peers.longestGap(at: $0, from: start) }
      peers.expectHungUp()
    }
    return gaps.sorted()
  }

  private func rebind(_ peer: SimulatedPeer, _ peers: TwoPeers, changesAddress: Bool = true) {
    peers.world.network.rebind(peer.site, changesAddress: changesAddress, now: peers.world.now)
  }

  private func move(_ peer: SimulatedPeer, to translator: Translator, _ peers: TwoPeers) {
    let line = AccessConditions.clean(oneWay: .microseconds(12_500))
    peer.move(to: peers.world.network.addSite(line, nat: translator.behaviour))
  }

  // MARK: - Without notice

  @Test(arguments: pairs)
  func `a new public address of one side costs at most 600 ms of audio`(pair: Pair) throws {
    let gaps = try gaps(pair) { rebind($0.alice, $0) }
    #expect(gaps.allSatisfy { $0 <= 600 }, "\(gaps)")
  }

  @Test(arguments: [Pair(.port, .port), Pair(.symmetric, .address), Pair(.address, .symmetric)])
  func `new ports of one side cost at most 600 ms of audio`(pair: Pair) throws {
    let gaps = try gaps(pair) { rebind($0.alice, $0, changesAddress: false) }
    #expect(gaps.allSatisfy { $0 <= 600 }, "\(gaps)")
  }

  @Test(arguments: pairs)
  func `new public addresses of both sides at once cost at most 2 s of audio`(pair: Pair) throws {
    let gaps = try gaps(pair) {
      rebind($0.alice, $0)
      rebind($0.bob, $0)
    }
    #expect(gaps.allSatisfy { $0 <= 2_000 }, "\(gaps)")
  }

  // MARK: - With notice

  @Test(arguments: pairs)
  func `a host that leaves for another network is heard within 500 ms`(pair: Pair) throws {
    let gaps = try gaps(pair) { move($0.alice, to: pair.alice, $0) }
    #expect(gaps.allSatisfy { $0 <= 500 }, "\(gaps)")
  }

  @Test(arguments: [Pair(.none, .none), Pair(.port, .port), Pair(.address, .symmetric)])
  func `two hosts that leave at once hear each other within 2 s`(pair: Pair) throws {
    let gaps = try gaps(pair) {
      move($0.alice, to: pair.alice, $0)
      move($0.bob, to: pair.bob, $0)
    }
    #expect(gaps.allSatisfy { $0 <= 2_000 }, "\(gaps)")
  }
}
