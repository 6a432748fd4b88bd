import Calling
import Peer
import Primitives
import Relay
import Wire

/// The TURN server of a world of random calls: in three of ten. Has dice of its own, so that a
/// world without one is what its seed was before there were any.
struct RelayPlan {
  private let server: RelayServer?
  /// Which peers know of it.
  private var isTold: [Bool] = []
  /// Two peers between whose networks nothing passes directly.
  private var blocked: (Int, Int)?
  private(set) var faults: [Fault] = []

  static func random(seed: UInt64, peers: Int, in world: CallWorld) -> RelayPlan {
    var random = RandomSource(seed: seed ^ 0x7572_6e3a)
    guard random.happens(0.3) else { return RelayPlan(server: nil) }
    var plan = RelayPlan(server: world.addRelay().server)
    plan.isTold = (0..<peers).map { _ in random.happens(0.8) }
    if random.happens(0.3) { plan.blocked = (0, 1) }
    if random.happens(0.3) {
      let start = Instant.zero + random.duration(.seconds(1) ... .seconds(40))
      let length = random.duration(.milliseconds(100) ... .seconds(5))
      plan.faults.append(Fault(.relayCrash, from: start, to: start + length))
    }
    return plan
  }

  private init(server: RelayServer?) { self.server = server }

  func tell(_ index: Int, _ configuration: inout PeerConfiguration) {
    if let server, isTold[index] { configuration.relays = [server] }
  }

  func blockDirect(_ world: CallWorld) {
    guard let blocked else { return }
    let (one, other) = (world.peers[blocked.0].site, world.peers[blocked.1].site)
    world.network.block(from: one, to: other)
    world.network.block(from: other, to: one)
  }

  /// Who accepted a call on lines that nothing disturbed, and knows of a relay, is not told that no
  /// path was found.
  func expectMet(_ world: CallWorld) {
    guard server != nil else { return }
    for side in world.testimony.sides where side.isCaller {
      guard let callee = world.testimony.callee(of: side.call),
        side.time(of: .accepted) != nil, callee.time(of: .accepted) != nil,
        side.outcome == .unreachable || callee.outcome == .unreachable,
        let first = side.steps.first?.at, let last = side.time(of: .ended),
        !world.isDisturbed(first, last), isKnown(to: side.host, callee.host, in: world)
      else { continue }
      world.testimony.report("\(side.call): no path, though a relay was there")
    }
  }

  /// One of two that knows of a relay is enough.
  private func isKnown(
    to one: SimulatedNetwork.HostID, _ other: SimulatedNetwork.HostID, in world: CallWorld
  ) -> Bool {
    isTold.indices.contains { index in
      let host = world.peers[index].hostID
      return isTold[index] && (host == one || host == other)
    }
  }
}
