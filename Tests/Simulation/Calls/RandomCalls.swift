import Calling
import Peer
import Primitives
import Wire

/// People of whom one can say little, on lines of all kinds, call each other while things break.
package enum RandomCalls {
  package static let callsPerWorld = 4

  /// The longest timer of a call (calling.md §4: silence of 20 s), and 2 s.
  package static let settling = Duration.seconds(22)
  /// No plan makes a run longer than this.
  private static let longestRun = Duration.seconds(600)

  package static func run(seed: UInt64, keepsText: Bool = false) -> RunReport {
    let world = CallWorld(seed: seed, keepsText: keepsText)
    let count = 2 + Int(world.random.below(3))
    let relays = RelayPlan.random(seed: seed, peers: count, in: world)
    for index in 0..<count {
      let access = line(&world.random)
      let translator = translator(&world.random)
      let prepare = preparation(&world.random)
      let peer = world.addPeer(CallWorld.names[index], access, nat: translator) { configuration in
        prepare(&configuration)
        relays.tell(index, &configuration)
      }
      peer.decide = { [unowned world] in Habits.random(&world.random) }
    }
    addPrograms(world)
    let faults = FaultPlan.random(
      peers: world.peers.count, from: .zero + .seconds(1), to: .zero + .seconds(45), &world.random)
    for fault in faults + relays.faults { world.plan(fault) }
    relays.blockDirect(world)
    var caller = Caller(world: world)
    caller.callUntilDone()
    settle(world)
    relays.expectMet(world)
    return world.report()
  }

  /// Runs until nothing is left to happen, or until it should have.
  static func settle(_ world: CallWorld) {
    let limit = world.now + longestRun
    while world.simulator.livelock == nil, world.now < limit {
      let end = max(world.lastAct, world.lastFault) + settling
      let isQuiet = world.now >= world.lastFault && !world.testimony.hasOpenCalls
      if isQuiet || world.now >= end { break }
      world.run(.milliseconds(250))
    }
  }

  /// Some people run several programs of one identity: more that answer, one that calls, a guest.
  private static func addPrograms(_ world: CallWorld) {
    guard world.random.happens(0.5) else { return }
    for _ in 0...world.random.below(3) {
      let owner = world.peers[Int(world.random.below(UInt64(world.peers.count)))]
      let kinds: [PresenceKind] = [.answering, .answering, .answering, .calling, .guest]
      let kind = kinds[Int(world.random.below(UInt64(kinds.count)))]
      let program = world.addProgram(of: owner, line(&world.random), kind)
      program.decide = { [unowned world] in Habits.random(&world.random) }
    }
  }

  private static func line(_ random: inout RandomSource) -> AccessConditions {
    let presets = AccessConditions.presets
    return presets[Int(random.below(UInt64(presets.count)))].access
  }

  private static func preparation(
    _ random: inout RandomSource
  ) -> (inout PeerConfiguration) -> Void {
    let isOnAccept = random.happens(0.25)
    // Most have one call at a time, some several.
    let mostCalls = random.happens(0.3) ? 2 + Int(random.below(3)) : 1
    return {
      if isOnAccept { $0.policy.preparation = .onAccept }
      $0.policy.mostCalls = mostCalls
    }
  }

  private static func translator(_ random: inout RandomSource) -> SimulatedNAT.Behaviour? {
    switch random.below(10) {
    case 0..<4: nil
    case 4: .endpointIndependent
    case 5: .addressRestricted
    case 6, 7: .portRestricted
    case 8: .unguarded
    default: .symmetric
    }
  }

  /// Places calls until there have been enough, each at a random time and between random people.
  private struct Caller {
    let world: CallWorld

    mutating func callUntilDone() {
      var placed = 0
      var attempts = 0
      world.run(.milliseconds(1) * Int(world.random.below(3_000)))
      while placed < callsPerWorld, attempts < 200, world.simulator.livelock == nil {
        attempts += 1
        if place() { placed += 1 }
        // Half of the calls come while others are under way.
        if world.random.happens(0.5) {
          world.run(atMost: .seconds(60)) { [world] in !world.testimony.hasOpenCalls }
        }
        world.run(.milliseconds(1) * Int(world.random.below(4_000)))
      }
    }

    private func place() -> Bool {
      let count = UInt64(world.peers.count)
      let caller = world.peers[Int(world.random.below(count))]
      let callee = world.peers[Int(world.random.below(count))]
      guard caller.id != callee.id else { return false }
      let target: CallTarget = world.random.happens(0.5) ? .id(callee.id) : .name(callee.name)
      caller.habits = .random(&world.random)
      return caller.call(target) != nil
    }
  }
}
