import Peer
import Primitives
import Testing
import Wire

/// A rendezvous that shows members different rosters is found out by the keys, and none else
/// (docs/protocol/sframe.md §5).
struct RosterForkTests {
  private func forks(_ world: RelayedWorld, _ uid: UInt32) -> Set<UInt32> {
    var forks: Set<UInt32> = []
    for case .rosterDiffers(let other) in world.member(uid)?.steps ?? [] { forks.insert(other) }
    return forks
  }

  @Test func `a listener that is shown to one host alone is told of with the next keys`() throws {
    let world = try RelayedWorld(seed: 71)
    for uid in 1...3 as ClosedRange<UInt32> { try world.join(uid, uid > 2 ? .audience : .host) }
    world.run(.seconds(2))
    world.shownTo[4] = [1]
    try world.join(4, .audience)
    world.run(.seconds(2))
    #expect(world.member(1)?.fingerprint != world.member(2)?.fingerprint)
    // Whoever leaves makes hosts hand out fresh keys.
    world.leave(3)
    world.run(.seconds(3))
    #expect(forks(world, 1) == [2] && forks(world, 2) == [1])
  }

  @Test func `members who come and go on lossy lines make no fork`() throws {
    for seed in 72..<80 as Range<UInt64> {
      let world = try RelayedWorld(seed: seed)
      world.line = { _, _, random in random.unit() < 0.2 ? [] : [5 + Int(random.unit() * 80)] }
      for uid in 1...12 as ClosedRange<UInt32> {
        try world.join(uid, uid % 3 == 0 ? .audience : .host)
        world.run(.milliseconds(Int64(UInt64(uid) * seed * 37 % 400)))
        if uid % 4 == 0 { world.leave(uid - 2) }
      }
      world.run(.seconds(5))
      world.setRole(3, .host)
      world.leave(5)
      world.run(.seconds(5))
      for member in world.members {
        #expect(forks(world, member.uid).isEmpty, "member \(member.uid), seed \(seed)")
      }
    }
  }

  @Test func `while a member is not verified nothing is compared`() throws {
    let world = try RelayedWorld(seed: 81)
    for uid in 1...3 as ClosedRange<UInt32> { try world.join(uid, uid > 2 ? .audience : .host) }
    world.run(.seconds(2))
    // What the newcomer sends gets lost: nobody has its card.
    let newcomer = RelayedWorld.address(4)
    world.line = { from, _, _ in from == newcomer ? [] : [10] }
    world.shownTo[4] = [1]
    try world.join(4, .audience)
    world.run(.seconds(1))
    world.leave(3)
    world.run(.seconds(3))
    #expect(forks(world, 1).isEmpty && forks(world, 2).isEmpty)
    // As soon as it has a seat the two see it.
    world.line = { _, _, _ in [10] }
    world.run(.seconds(5))
    try world.join(5, .audience)
    world.run(.seconds(2))
    world.leave(5)
    world.run(.seconds(3))
    #expect(forks(world, 1) == [2] && forks(world, 2) == [1])
  }
}
