import Forwarding
import Peer
import Primitives
import Testing
import Wire

/// Pictures of a channel by a relay, by whole machines in simulated time (docs/protocol/relay.md
/// §3, §4).
struct RelayedPicturesTests {
  @Test func `pictures are seen by those who want them, also by one who comes later`() throws {
    let world = try RelayedWorld(seed: 1)
    let host = RelayedWorld.pictures(sends: true, receives: false)
    let viewer = RelayedWorld.pictures(sends: false, receives: true)
    try world.join(1, pictures: host)
    world.run(.seconds(2))
    #expect(world.broadcast([1], seconds: 1, from: 0).isEmpty, "nobody wants them")
    try world.join(2, .audience, pictures: viewer)
    try world.join(3, pictures: RelayedWorld.pictures(sends: true, receives: true))
    try world.join(4, .audience)
    world.run(.seconds(1))
    let shown = world.broadcast([1, 3], seconds: 4, from: 100)
    for (viewer, host) in [(2, 1), (2, 3), (3, 1)] as [(UInt32, UInt32)] {
      let pictures = try #require(shown[host])
      #expect(pictures.count > 90)
      #expect(world.member(viewer)?.seen[host] == pictures, "\(viewer) sees \(host)")
      #expect(world.member(viewer)?.steps.contains(.firstPicture(uid: host)) == true)
    }
    #expect(world.member(4)?.seen.isEmpty == true)
    try world.join(5, .audience, pictures: viewer)
    let later = world.broadcast([1, 3], seconds: 4, from: 1000)
    let seen = world.member(5)?.seen[1] ?? []
    #expect(seen.count > 100 && later[1]?.suffix(seen.count) == seen[...])
    for member in world.members where member.uid != 4 && member.uid != 1 {
      #expect(member.heard[1]?.isEmpty == false)
    }
  }

  @Test func `a narrow line has its sound, without pictures until it has become wider`() throws {
    let world = try RelayedWorld(seed: 4)
    try world.join(1, pictures: RelayedWorld.pictures(sends: true, receives: false))
    for uid in [2, 3] as [UInt32] {
      try world.join(uid, .audience, pictures: RelayedWorld.pictures(sends: false, receives: true))
    }
    world.run(.seconds(2))
    world.downlinks[2] = 120_000
    let shown = world.broadcast([1], seconds: 12, from: 0)[1] ?? []
    #expect(world.member(3)?.seen[1] == shown)
    let heard = world.member(2)?.heard[1]?.count ?? 0
    #expect(heard >= 345, "\(heard) of 360 frames of sound")
    let seen = world.member(2)?.seen[1]?.count ?? 0
    #expect(seen * 2 < shown.count, "\(seen) of \(shown.count) pictures")
    #expect(world.counters.picturesLeftOut > 100)
    world.downlinks[2] = 3_000_000
    let later = world.broadcast([1], seconds: 30, from: 1000)[1] ?? []
    let more = (world.member(2)?.seen[1]?.count ?? 0) - seen
    #expect(more * 2 > later.count, "\(more) of \(later.count) pictures after it was wider")
  }

  /// Method: the camera takes its pictures with the frames of sound, or so many ms after them.
  @Test(arguments: [200_000, 400_000, 1_500_000] as [Double], [0, 5, 11, 23])
  func `a host keeps to what the best of those who watch can take`(
    rate: Double, phase: Int
  ) throws {
    let world = try RelayedWorld(seed: 5)
    world.phases[1] = .milliseconds(phase)
    try world.join(1, pictures: RelayedWorld.pictures(sends: true, receives: false))
    try world.join(
      2, .audience, pictures: RelayedWorld.pictures(sends: false, receives: true))
    world.run(.seconds(2))
    world.downlinks[2] = rate
    _ = world.broadcast([1], seconds: 20, from: 0, bitsPerSecond: 2_500_000)
    let before = world.member(2)?.seen[1]?.count ?? 0
    let shown = world.broadcast([1], seconds: 10, from: 1000, bitsPerSecond: 2_500_000)[1] ?? []
    let seen = (world.member(2)?.seen[1] ?? []).dropFirst(before)
    let bits = seen.reduce(0) { $0 + $1.count * 8 } / 10
    let told = "figure: relay: line of \(Int(rate)): \(bits) bit/s, \(seen.count)/\(shown.count)"
    print(told)
    #expect(seen.count * 10 >= shown.count * 6, "\(told)")
    #expect(Double(bits) > rate * 0.6, "\(told)")
    let coded = shown.reduce(0) { $0 + $1.count * 8 } / 10
    #expect(Double(coded) <= rate, "\(told), \(coded) bit/s coded")
    let heard = world.member(2)?.heard[1]?.count ?? 0
    #expect(heard >= 870, "\(heard) of 900 frames of sound")
  }

  @Test(arguments: 1...3 as ClosedRange<UInt64>)
  func `what is lost on one member's line is repaired for it alone`(seed: UInt64) throws {
    let world = try RelayedWorld(seed: seed)
    try world.join(1, pictures: RelayedWorld.pictures(sends: true, receives: false))
    for uid in [2, 3] as [UInt32] {
      try world.join(uid, .audience, pictures: RelayedWorld.pictures(sends: false, receives: true))
    }
    world.run(.seconds(2))
    world.line = { from, to, random in
      to == RelayedWorld.address(2) && random.unit() < 0.05 ? [] : [10]
    }
    let shown = world.broadcast([1], seconds: 6, from: 0)[1] ?? []
    let lossy = world.member(2)?.seen[1] ?? []
    #expect(shown.count > 150 && world.member(3)?.seen[1] == shown)
    #expect(lossy.count * 100 >= shown.count * 97, "\(lossy.count) of \(shown.count)")
    #expect(world.counters.picturesRepeated > 0)
    // The way to the relay may lose some as well: the relay asks for them.
    world.line = { from, to, random in
      from == RelayedWorld.address(1) && random.unit() < 0.03 ? [] : [10]
    }
    let before = world.member(3)?.seen[1]?.count ?? 0
    let more = world.broadcast([1], seconds: 6, from: 1000)[1]?.count ?? 0
    let came = (world.member(3)?.seen[1]?.count ?? 0) - before
    #expect(came * 100 >= more * 95, "\(came) of \(more)")
  }
}
