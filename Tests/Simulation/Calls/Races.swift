import Calling
import Peer
import Primitives
import Wire

/// Two acts at nearly one time, over and over, at moments that a seed chooses.
package enum Races {
  /// Two people call each other within 50 ms: exactly one call, connected at both within 2 s; on a
  /// line that loses packets within the connect timer.
  package static func runGlare(seed: UInt64, keepsText: Bool) -> RunReport {
    let world = pair(seed: seed, keepsText: keepsText)
    let (alice, bob) = (world.peers[0], world.peers[1])
    for peer in world.peers {
      peer.habits.answer = .never
      peer.habits.talk = .seconds(12)
    }
    let gap = Duration.microseconds(Int64(world.random.below(50_000)))
    let (first, second) = world.random.happens(0.5) ? (alice, bob) : (bob, alice)
    register(world)
    first.call(.id(second.id))
    world.run(gap)
    if second.call(.id(first.id)) == nil { acceptWhatRings(second) }
    let start = world.now
    let limit = Duration.seconds(isLossy(alice) ? 10 : 2)
    world.run(atMost: limit) { isConnected(alice) && isConnected(bob) }
    checkGlare(world, limit, since: start)
    world.run(.seconds(13))
    RandomCalls.settle(world)
    return world.report()
  }

  /// Two people start a program that calls the other, within half a second of each other; each
  /// calls as soon as it is registered. Exactly one call, connected at both.
  package static func runDial(seed: UInt64, keepsText: Bool) -> RunReport {
    let world = CallWorld(seed: seed, keepsText: keepsText)
    let isLossy = world.random.happens(0.5)
    let dial = Dial()
    for name in CallWorld.names.prefix(2) {
      var line = AccessConditions.clean(oneWay: .milliseconds(1 + Int64(world.random.below(75))))
      if isLossy { line = line.with { $0.loss = .random(0.02) } }
      let peer = world.addPeer(name, line) { $0.presence = .calling }
      peer.habits.answer = .never
      peer.habits.talk = .seconds(12)
      dial.dialWhenRegistered(peer, world)
      world.run(.microseconds(Int64(world.random.below(500_000))))
    }
    let (alice, bob) = (world.peers[0], world.peers[1])
    let limit = Duration.seconds(isLossy ? 12 : 4)
    world.run(atMost: limit) { isConnected(alice) && isConnected(bob) }
    if !dial.isTooFarApart { checkDial(world, limit) }
    world.run(.seconds(13))
    RandomCalls.settle(world)
    return world.report()
  }

  private static func checkDial(_ world: CallWorld, _ limit: Duration) {
    let connected = world.peers.map { peer in
      world.testimony.sides.filter { $0.host == peer.hostID && $0.time(of: .connected) != nil }
        .map(\.call)
    }
    guard connected[0].count == 1, connected[0] == connected[1] else {
      return world.testimony.report("dial: connected calls \(connected) after \(limit)")
    }
  }

  /// Two programs that are about to call each other, by name or by ID.
  private final class Dial {
    /// When each was registered, and when it called.
    private var registered: [Instant] = []
    private var called: [Instant] = []

    /// A line that loses packets kept one of them away for longer than the other one tries.
    var isTooFarApart: Bool {
      guard let first = called.min(), let last = registered.max(), registered.count == 2 else {
        return true
      }
      return last > first + LookUpTable.unknownPatience
    }

    /// A program's own time passes before it calls. By name it may call somebody who is not there.
    func dialWhenRegistered(_ peer: SimulatedPeer, _ world: CallWorld) {
      let own = Duration.microseconds(Int64(world.random.below(100_000)))
      let isByName = world.random.happens(0.5)
      let name = CallWorld.names[peer.name == CallWorld.names[0] ? 1 : 0]
      var isKnown = false
      func look() {
        if peer.isRegistered, !isKnown {
          isKnown = true
          registered.append(world.now)
        }
        let other = world.peers.first { $0.name == name }
        guard peer.isRegistered, isByName || other != nil else {
          return world.simulator.plan(after: .milliseconds(1)) { look() }
        }
        world.simulator.plan(after: own) { [self] in
          called.append(world.now)
          let target = isByName ? CallTarget.name(name) : other.map { .id($0.id) }
          if let target, peer.call(target) == nil { world.testimony.report("may not call") }
        }
      }
      look()
    }
  }

  private static func isLossy(_ peer: SimulatedPeer) -> Bool {
    peer.world.network.conditions(of: peer.site).up.loses
  }

  /// The first invitation was there before the second button was pressed: no glare any more.
  private static func acceptWhatRings(_ peer: SimulatedPeer) {
    for side in peer.world.testimony.sides where side.host == peer.hostID && side.isOpen {
      peer.accept(side.call)
    }
  }

  private static func checkGlare(
    _ world: CallWorld, _ limit: Duration, since start: Instant
  ) {
    let (alice, bob) = (world.peers[0], world.peers[1])
    let connected = [alice, bob].map { peer in
      world.testimony.sides.filter { $0.host == peer.hostID && $0.time(of: .connected) != nil }
        .map(\.call)
    }
    guard connected[0].count == 1, connected[0] == connected[1] else {
      return world.testimony.report("glare: connected calls \(connected) \(limit) after \(start)")
    }
    // Where both invitations went out before the other one came, the lesser ID stands.
    let sent = world.testimony.sides.filter { $0.time(of: .sent) != nil }.map(\.call)
    if sent.count == 2, let least = sent.min(), connected[0] != [least] {
      world.testimony.report("glare: \(connected[0]) stands, not the lesser \(least)")
    }
  }

  /// The caller cancels within 100 ms of the callee's accepting, on a slow line, sometimes a lossy
  /// one: both are idle again, and neither is left connected alone.
  package static func runCancelRace(seed: UInt64, keepsText: Bool) -> RunReport {
    // 150 ms from peer to peer: the cancel is always made before the answer is known.
    let world = pair(seed: seed, keepsText: keepsText, oneWay: .milliseconds(75))
    let (alice, bob) = (world.peers[0], world.peers[1])
    register(world)
    bob.habits.answer = .never
    guard let call = alice.call(.id(bob.id)) else {
      world.testimony.report("a registered peer may not call")
      return world.report()
    }
    world.run(atMost: .seconds(14)) { world.testimony.isOpen(call, at: bob.hostID) }
    let apart = Int64(world.random.below(200_000)) - 100_000
    let accepting = world.now + .milliseconds(500)
    world.simulator.plan(at: accepting) { bob.accept(call) }
    world.simulator.plan(at: accepting + .microseconds(apart)) { alice.end(call) }
    world.run(.seconds(2))
    RandomCalls.settle(world)
    let isAlone = world.testimony.sides.contains { $0.time(of: .connected) != nil }
    if isAlone { world.testimony.report("\(call): connected, though the caller cancelled") }
    return world.report()
  }

  /// A client hears of its registration half a round trip before the server may know that the
  /// client has; who calls within that time finds nobody.
  private static func register(_ world: CallWorld) {
    let isDone = world.run(atMost: .seconds(10)) { world.peers.allSatisfy(\.isRegistered) }
    if !isDone { world.testimony.report("not registered within 10 s") }
    world.run(.seconds(1))
  }

  private static func isConnected(_ peer: SimulatedPeer) -> Bool {
    peer.world.testimony.sides.contains {
      $0.host == peer.hostID && $0.time(of: .connected) != nil
    }
  }

  /// - Parameter oneWay: Of each peer's line; at random when `nil`.
  private static func pair(
    seed: UInt64, keepsText: Bool, oneWay: Duration? = nil
  ) -> CallWorld {
    let world = CallWorld(seed: seed, keepsText: keepsText)
    var line = AccessConditions.clean(
      oneWay: oneWay ?? .milliseconds(1 + Int64(world.random.below(75))))
    if world.random.happens(0.5) {
      line = line.with {
        $0.loss = .random(0.02)
        $0.jitter = .exponential(mean: .milliseconds(3))
      }
    }
    for name in CallWorld.names.prefix(2) { world.addPeer(name, line) }
    return world
  }
}
