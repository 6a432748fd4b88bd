import Peer
import Primitives
import Testing
import Wire

/// Members that have lost their seats at the relay while the roster still has them: the others find
/// out (docs/protocol/relay.md §3).
struct SeatWatchTests {
  private func changes(_ world: RelayedWorld, _ uid: UInt32) -> [UInt32: [Bool]] {
    var changes: [UInt32: [Bool]] = [:]
    for case .seatChanged(let other, let isSeated) in world.member(uid)?.steps ?? [] {
      changes[other, default: []].append(isSeated)
    }
    return changes
  }

  private func makeWorld(seed: UInt64, count: UInt32 = 4) throws -> RelayedWorld {
    let world = try RelayedWorld(seed: seed)
    for uid in 1...count { try world.join(uid, uid > 2 ? .audience : .host) }
    world.run(.seconds(2))
    return world
  }

  @Test func `the others know of a lost seat, and of a new one`() throws {
    let world = try makeWorld(seed: 61)
    world.run(.seconds(20))
    #expect((1...4).allSatisfy { changes(world, $0).isEmpty })
    #expect(world.member(1)?.machine.isSeated(2) == true)
    world.endSeat(2)
    world.run(.seconds(25))
    for uid in [1, 3, 4] as [UInt32] {
      #expect(changes(world, uid) == [2: [false]], "member \(uid)")
      #expect(world.member(uid)?.machine.isSeated(2) == false)
    }
    world.run(.seconds(1))
    world.grantAgain(2)
    world.run(.seconds(10))
    for uid in [1, 3, 4] as [UInt32] { #expect(changes(world, uid) == [2: [false, true]]) }
  }

  @Test func `loss alone takes no seat away, nor does a relay that is gone`() throws {
    let world = try makeWorld(seed: 62)
    world.line = { _, _, random in random.unit() < 0.1 ? [] : [40] }
    world.run(.seconds(120))
    #expect((1...4).allSatisfy { changes(world, $0).isEmpty })
    world.stopRelay()
    world.run(.seconds(90))
    #expect((1...4).allSatisfy { changes(world, $0).isEmpty })
  }

  @Test func `in a large channel nobody is asked for again`() throws {
    let world = try makeWorld(seed: 63, count: 20)
    world.endSeat(2)
    world.run(.seconds(30))
    #expect(changes(world, 1).isEmpty && world.member(1)?.machine.isSeated(2) == true)
  }
}
