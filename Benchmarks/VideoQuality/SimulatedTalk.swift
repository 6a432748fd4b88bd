import Peer
import Primitives
import Simulation
import Wire

/// A call of two whole machines with video both ways, in simulated time; what it needs beyond an
/// ordinary line stands on one side.
final class SimulatedTalk {
  let alice: VideoEnd
  let bob: VideoEnd
  /// Half a round trip in ms.
  let leastWait: Double
  private let world: CallWorld

  /// - Parameter change: of the caller's line, each way, once the call is up.
  init?(
    seed: UInt64, roundTrip: Duration, _ settings: VideoSettings,
    change: (inout LinkConditions) -> Void
  ) {
    leastWait = Double(roundTrip.milliseconds) / 2
    let access = AccessConditions.clean(oneWay: roundTrip / 4)
    world = CallWorld(seed: seed, rendezvousAccess: access)
    let caller = world.addPeer(CallWorld.names[0], access.with(change))
    let callee = world.addPeer(CallWorld.names[1], access)
    (caller.video, callee.video) = (settings, settings)
    caller.habits.talk = nil
    callee.habits.answer = .accept(after: .seconds(1))
    world.run(atMost: .seconds(30)) { caller.isRegistered && callee.isRegistered }
    world.run(.seconds(1))
    guard let call = caller.call(.id(callee.id)) else { return nil }
    let sides = [caller.hostID, callee.hostID]
    let isUp = world.run(atMost: .seconds(20)) { [world] in
      sides.allSatisfy { world.testimony.side(call, at: $0)?.time(of: .connected) != nil }
    }
    guard isUp else { return nil }
    (caller.isSilent, callee.isSilent) = (true, true)
    world.mediaInterval = .seconds(3600)
    // They take the place of what has answered the call.
    alice = VideoEnd(caller, call, in: world, layers: 2)
    bob = VideoEnd(callee, call, in: world, layers: 2)
  }

  var now: Instant { world.now }

  func run(_ duration: Duration) {
    for _ in 0..<Int(duration.milliseconds / 20) {
      for _ in 0..<3 {
        world.run(.milliseconds(5))
        alice.look()
        bob.look()
      }
      world.run(.milliseconds(5))
      alice.tick()
      bob.tick()
    }
  }
}
