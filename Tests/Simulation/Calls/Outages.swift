import Calling
import Peer
import Primitives
import Wire

/// One long call whose line is cut, again and again, in one direction or both: whenever it carries
/// again both hear, or the call has ended (`HearingRule`). In some worlds both let the other be
/// away for minutes.
package enum Outages {
  package static func run(seed: UInt64, keepsText: Bool = false) -> RunReport {
    let world = CallWorld(seed: seed, keepsText: keepsText)
    world.mediaInterval = .milliseconds(world.random.happens(0.5) ? 20 : 60)
    let (first, second) = translators(&world.random)
    for (name, nat) in zip(CallWorld.names, [first, second]) {
      let dead = Int(world.random.below(3))
      world.addPeer(name, line(&world.random), nat: nat) { configuration in
        // Addresses of other networks of the host, from which nothing gets through.
        for index in 0..<dead {
          configuration.hostCandidates.append(
            SocketAddress(v4: 10, 0, UInt8(index), 1, port: 7_000))
        }
      }
    }
    let (alice, bob) = (world.peers[0], world.peers[1])
    let absence =
      world.random.happens(0.4) ? world.random.duration(.seconds(60) ... .seconds(900)) : .zero
    for peer in world.peers { peer.habits.absence = absence }
    bob.habits.answer = .accept(after: .milliseconds(500))
    guard world.run(atMost: .seconds(20), until: { world.peers.allSatisfy(\.isRegistered) })
    else {
      world.testimony.report("not registered within 20 s")
      return world.report()
    }
    world.run(.seconds(1))
    guard let call = alice.call(.id(bob.id)) else {
      world.testimony.report("a registered peer may not call")
      return world.report()
    }
    let isUp = world.run(atMost: .seconds(14)) {
      [alice, bob].allSatisfy {
        world.testimony.side(call, at: $0.hostID)?.time(of: .connected) != nil
      }
    }
    if !isUp { world.testimony.report("\(call): not connected within 14 s") }
    cut(world, absence)
    alice.end(call)
    RandomCalls.settle(world)
    return world.report()
  }

  private static func cut(_ world: CallWorld, _ absence: Duration) {
    for _ in 0..<(1 + world.random.below(3)) where world.testimony.hasOpenCalls {
      world.run(world.random.duration(.seconds(1) ... .seconds(8)))
      let isLong = absence > .zero && world.random.happens(0.5)
      let length = world.random.duration(
        isLong ? .seconds(20)...absence + .seconds(5) : .seconds(1) ... .seconds(25))
      let kind: Fault.Kind
      switch world.random.below(6) {
      case 0, 1: kind = .blackout(peer: Int(world.random.below(2)), up: true, down: true)
      case 2: kind = .blackout(peer: Int(world.random.below(2)), up: true, down: false)
      case 3: kind = .blackout(peer: Int(world.random.below(2)), up: false, down: true)
      case 4: kind = .partition(from: 0, to: 1)
      default: kind = .partition(from: 1, to: 0)
      }
      world.plan(Fault(kind, from: world.now, to: world.now + length))
      world.run(length + .seconds(4))
    }
  }

  private static func line(_ random: inout RandomSource) -> AccessConditions {
    let presets = AccessConditions.presets
    return presets[Int(random.below(UInt64(presets.count)))].access
  }

  /// A pair that can meet without a relay.
  private static func translators(
    _ random: inout RandomSource
  ) -> (SimulatedNAT.Behaviour?, SimulatedNAT.Behaviour?) {
    let kinds: [SimulatedNAT.Behaviour?] = [
      nil, .endpointIndependent, .addressRestricted, .portRestricted,
    ]
    let count = UInt64(kinds.count)
    return (kinds[Int(random.below(count))], kinds[Int(random.below(count))])
  }
}
