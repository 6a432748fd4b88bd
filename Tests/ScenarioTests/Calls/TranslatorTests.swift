import Calling
import Congestion
import Connectivity
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// Which pairs of translators let two peers meet without a relay, and what is said when not.
@Suite struct TranslatorTests {
  private static let kinds: [(name: String, nat: SimulatedNAT.Behaviour?)] = [
    ("none", nil), ("endpoint-independent", .endpointIndependent),
    ("address-restricted", .addressRestricted), ("port-restricted", .portRestricted),
    ("symmetric", .symmetric),
  ]

  /// A symmetric one meets only those who let in a port they have not sent to.
  private static func canMeet(_ first: String, _ second: String) -> Bool {
    for (one, other) in [(first, second), (second, first)] where one == "symmetric" {
      if ["port-restricted", "symmetric"].contains(other) { return false }
    }
    return true
  }

  @Test(arguments: 0..<25) func `pairs connect or say that there is no path`(index: Int) throws {
    let (one, other) = (Self.kinds[index / 5], Self.kinds[index % 5])
    let pair = TwoPeers(seed: UInt64(index), nat: (one.nat, other.nat))
    pair.bob.habits.answer = .accept(after: .seconds(1))
    let call = try #require(pair.alice.call(.id(pair.bob.id)))
    pair.world.run(.seconds(14))
    if Self.canMeet(one.name, other.name) {
      #expect(pair.isConnected(call), "\(one.name), \(other.name)\n\(pair.story)")
    } else {
      for peer in [pair.alice, pair.bob] {
        let end = try #require(pair.summary(of: call, at: peer), "\(one.name), \(other.name)")
        #expect(end.outcome == .unreachable && end.cause == .noPath, "\(end)")
        let trial: PathTrial = try #require(
          peer.host.command(now: pair.world.now) { machine, _ in machine.pathTrial(call) } ?? nil)
        #expect(trial.own.map(\.kind) == [.host, .serverReflexive])
        #expect(trial.fates.map(\.origin) == [.host, .serverReflexive])
        #expect(trial.fates.allSatisfy { $0.checks > 1 && !$0.isAnswered && !$0.hasChallenged })
      }
    }
    pair.expectHungUp()
  }

  /// Goal: a translator without a firewall of its own is no obstacle to one that filters. What
  /// comes too early for it takes the port that its host needs.
  @Test(
    arguments: [
      (SimulatedNAT.Behaviour.unguarded, SimulatedNAT.Behaviour.unguarded),
      (.unguarded, .portRestricted), (.portRestricted, .unguarded),
      (.unguarded, .addressRestricted), (.addressRestricted, .unguarded),
    ], 1...20 as ClosedRange<UInt64>)
  func `a translator without a firewall keeps nobody apart`(
    nats: (SimulatedNAT.Behaviour, SimulatedNAT.Behaviour), seed: UInt64
  ) throws {
    for preparation in [CallPolicy.Preparation.onRinging, .onAccept] {
      let pair = TwoPeers(
        seed: seed, nat: (nats.0, nats.1),
        configure: {
          $0.policy.preparation = preparation
        })
      pair.bob.habits.answer = .accept(after: .milliseconds(Int64(seed) * 25))
      let call = try #require(pair.alice.call(.id(pair.bob.id)))
      pair.world.run(.seconds(5))
      #expect(pair.isConnected(call), "\(preparation)\n\(pair.story)")
      pair.expectHungUp()
    }
  }

  @Test func `two behind one translator meet on their own network`() throws {
    let world = CallWorld(seed: 1)
    let site = world.network.addSite(.dsl, nat: .portRestricted)
    let peers = CallWorld.names.prefix(2).map { world.addPeer($0, at: site) }
    world.run(.seconds(3))
    peers[1].habits.answer = .accept(after: .seconds(1))
    let call = try #require(peers[0].call(.id(peers[1].id)))
    world.run(.seconds(4))
    for peer in peers {
      #expect(world.testimony.side(call, at: peer.hostID)?.time(of: .connected) != nil)
      let remotes = peer.events.compactMap { event -> SocketAddress? in
        guard case .link(call, .pathReady(.direct, let remote)) = event.event else { return nil }
        return remote
      }
      #expect(remotes.count == 1)
    }
  }

  /// What looks for a path goes to addresses that nobody answers at, too. That the packets are lost
  /// there says nothing of the line that carries the call.
  @Test(arguments: kinds.dropFirst().map(\.name))
  func `a line that loses nothing has no loss while paths are looked for`(kind: String) throws {
    let nat = Self.kinds.first { $0.name == kind }?.nat
    for nats in [(nat, nil), (nil, nat)] {
      let pair = TwoPeers(nat: nats)
      let call = try pair.connect()
      pair.world.run(.seconds(3))
      #expect(pair.isConnected(call))
      for peer in [pair.alice, pair.bob] {
        let numbers = peer.host.command(now: pair.world.now) { machine, _ in
          machine.statistics(of: call)
        }
        let quality = try #require(numbers ?? nil).quality
        #expect(quality.packetsLost == 0, "\(peer.name) lost \(quality.packetsLost)")
        #expect(quality.packetsAcknowledged > 100)
      }
    }
  }

  /// Checks of paths are reported like any packet. A report that has one as its newest is right.
  @Test func `a call over a line without delay goes on`() throws {
    let pair = TwoPeers(roundTrip: .milliseconds(2))
    let call = try pair.connect()
    pair.world.run(.seconds(1200))
    #expect(pair.summary(of: call, at: pair.alice) == nil)
    #expect(pair.summary(of: call, at: pair.bob) == nil)
    pair.expectHungUp()
  }
}
