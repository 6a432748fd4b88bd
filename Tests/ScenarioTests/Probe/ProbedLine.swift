import LastMile
import Peer
import Primitives
import Simulation
import Testing

/// Alice, a rendezvous, and a line between them whose properties a test knows; the whole stack.
final class ProbedLine {
  let world: CallWorld
  let alice: SimulatedPeer

  init(
    seed: UInt64 = 1, up: UInt64 = 1_000_000, down: UInt64 = 2_000_000,
    change: (inout AccessConditions) -> Void = { _ in }
  ) {
    var line = AccessConditions.clean(oneWay: .milliseconds(29))
    line.up.rate = .init(up, queue: .time(.milliseconds(200)))
    line.down.rate = .init(down, queue: .time(.milliseconds(200)))
    change(&line)
    world = CallWorld(seed: seed, rendezvousAccess: .clean(oneWay: .milliseconds(1)))
    alice = world.addPeer(CallWorld.names[0], line)
    world.run(atMost: .seconds(20)) { [alice] in alice.isRegistered }
    world.run(.seconds(1))
  }

  /// 5 Mbit/s expected each way, as much as there is.
  static var plan: ProbePlan {
    var plan = ProbePlan()
    plan.expectedUplink = 5_000_000
    plan.expectedDownlink = 5_000_000
    return plan
  }

  func begin(_ plan: ProbePlan = plan) throws {
    let host: SimulatedHost<PeerMachine> = alice.host
    try host.command(now: world.now) { machine, now throws(PeerRefusal) in
      try machine.probe(plan, now: now)
    }
  }

  func run(_ plan: ProbePlan = plan) throws -> LineReport {
    try begin(plan)
    world.run(.seconds(Int64(plan.seconds) + 1))
    return try #require(Self.reports(of: alice).last, "a result within the duration")
  }

  static func reports(of peer: SimulatedPeer) -> [LineReport] {
    peer.events.compactMap { event in
      if case .probe(.finished(let report)) = event.event { report } else { nil }
    }
  }
}
