import Forwarding
import Peer
import Primitives
import Testing
import Video
import Wire

/// A member with a narrow line beside members with wide ones, at a relay: what it hears and sees
/// (docs/protocol/relay.md §4). `Downlink` is what keeps its sound.
struct NarrowLineTests {
  enum Shape: CaseIterable, Sendable { case steady, narrower, lossy }

  struct Figures {
    var heard = 0
    var spoken = 0
    var seen = 0
    var shown = 0
    var wait = Duration.zero
  }

  /// What the member with the narrow line gets of a host.
  private func watch(
    _ world: RelayedWorld, seconds: Int, from first: UInt16, bitsPerSecond: Int
  ) throws -> Figures {
    let member = try #require(world.member(2))
    let before = (member.heard[1]?.count ?? 0, member.seen[1]?.count ?? 0)
    member.waits = []
    let shown = world.broadcast([1], seconds: seconds, from: first, bitsPerSecond: bitsPerSecond)
    let waits = member.waits.sorted()
    return Figures(
      heard: (member.heard[1]?.count ?? 0) - before.0, spoken: seconds * 30,
      seen: (member.seen[1]?.count ?? 0) - before.1, shown: shown[1]?.count ?? 0,
      wait: waits.isEmpty ? .zero : waits[waits.count * 95 / 100])
  }

  @Test(arguments: [200_000, 400_000, 1_500_000] as [Double], Shape.allCases)
  func `its sound is whole, and it sees what its line holds`(
    rate: Double, shape: Shape
  ) throws {
    let world = try RelayedWorld(seed: 21 + UInt64(rate / 100_000))
    try world.join(1, pictures: RelayedWorld.pictures(sends: true, receives: false))
    for uid in 2...4 as ClosedRange<UInt32> {
      try world.join(uid, .audience, pictures: RelayedWorld.pictures(sends: false, receives: true))
    }
    world.member(1)?.pattern = TemporalPattern(layerCount: 3)
    world.run(.seconds(2))
    if shape == .lossy {
      world.line = { from, to, random in
        guard to == RelayedWorld.address(2) else { return [10] }
        return random.unit() < 0.02 ? [] : [10 + Int(random.unit() * 20)]
      }
    }
    world.downlinks[2] = shape == .narrower ? 3_000_000 : rate
    _ = try watch(world, seconds: 12, from: 0, bitsPerSecond: 700_000)
    world.downlinks[2] = rate
    let first = try watch(world, seconds: 5, from: 1000, bitsPerSecond: 700_000)
    let then = try watch(world, seconds: 20, from: 2000, bitsPerSecond: 700_000)
    let told = "figure: relay: \(shape) line of \(Int(rate)): \(first), \(then)"
    print(told)
    #expect((first.spoken - first.heard) * 10 <= first.spoken, "\(told)")
    #expect((then.spoken - then.heard) * 100 <= then.spoken, "\(told)")
    #expect(then.wait <= .milliseconds(150), "\(told)")
    // Of 700 kbit/s the lowest layer takes 280, with a quarter of the pictures: none on 200.
    let least = rate > 1_000_000 ? 90 : 15
    // It has none now, and can have no less.
    withKnownIssue("a tenth of the pictures, on a lossy line of 400 kbit/s", isIntermittent: true) {
      #expect(rate < 300_000 || then.seen * 100 >= then.shown * least, "\(told)")
    } when: {
      rate == 400_000 && shape == .lossy
    }
    try widen(world, after: rate)
  }

  private func widen(_ world: RelayedWorld, after rate: Double) throws {
    world.downlinks[2] = 3_000_000
    // One step more is tried after a minute, where many have failed.
    _ = try watch(world, seconds: 75, from: 3000, bitsPerSecond: 700_000)
    let wide = try watch(world, seconds: 10, from: 6000, bitsPerSecond: 700_000)
    print("figure: relay: wide again after \(Int(rate)): \(wide)")
    #expect(wide.seen * 10 >= wide.shown * 9, "wide again: \(wide)")
    #expect((wide.spoken - wide.heard) * 100 <= wide.spoken, "wide again: \(wide)")
  }
}
