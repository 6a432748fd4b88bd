import Calling
import Peer
import Primitives
import Simulation
import Testing
import Wire

/// Scenarios 20 to 22, fallback: every event of both sides from the change of the line on
/// (docs/scenarios.md).
@Suite struct VideoOrderTests {
  /// What a side is told, kept beside whoever observes it already.
  private final class Keeper {
    private(set) var events: [EventOrder.KeptEvent] = []

    init(_ peer: SimulatedPeer, in world: CallWorld) {
      let before = peer.host.observe
      peer.host.observe = { [unowned self, unowned world] event, now in
        before?(event, now)
        events.append((world.now, event))
      }
    }
  }

  /// Alice's uplink narrows for 30 s and is free again; what both are told.
  private func narrow(
    to bitsPerSecond: UInt64, fallsBack: Bool, _ title: String, _ order: EventOrder
  ) throws {
    let talk = try VideoCallTests.Talk(seed: 1, uplink: 2_000_000, fallsBack: fallsBack)
    let world = talk.pair.world
    let keepers = [Keeper(talk.pair.alice, in: world), Keeper(talk.pair.bob, in: world)]
    talk.run(.seconds(10))
    let start = world.now
    VideoCallTests.setUplink(talk.pair, bitsPerSecond)
    talk.run(.seconds(30))
    VideoCallTests.setUplink(talk.pair, 2_000_000)
    talk.run(.seconds(30))
    order.record("\(title), alice", of: "alice", keepers[0].events, since: start)
    order.record("\(title), bob", of: "bob", keepers[1].events, since: start)
  }

  @Test func `20: the uplink has 300 kbit/s for 30 s`() throws {
    let order = EventOrder("20-narrow")
    try narrow(to: 300_000, fallsBack: true, "2000 to 300 kbit/s and back", order)
    try order.expectGolden()
  }

  @Test func `21: the uplink has 60 kbit/s for 30 s`() throws {
    let order = EventOrder("21-publish-fallback")
    try narrow(to: 60_000, fallsBack: true, "audio alone where it must be", order)
    try narrow(to: 60_000, fallsBack: false, "fallback disabled", order)
    try order.expectGolden()
  }

  @Test func `22: the receiver asks for less of one sender`() throws {
    let order = EventOrder("22-subscribe-fallback")
    let party = try SubscribeFallbackTests.Party(seed: 1)
    let world = party.world
    let keepers = ([party.bob] + party.others).map { Keeper($0, in: world) }
    party.run(.seconds(10))
    let start = world.now
    party.setLine(of: party.others[0], 70_000)
    party.run(.seconds(30))
    party.setLine(of: party.others[0], 2_000_000)
    party.run(.seconds(20))
    for (name, keeper) in zip(["alice, who receives", "bob, whose line", "carol"], keepers) {
      order.record("70 kbit/s for 30 s", of: name, keeper.events, since: start)
    }
    try order.expectGolden()
  }
}
