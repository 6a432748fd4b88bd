import Congestion
import Forwarding
import Peer
import Primitives
import Testing
import Wire

/// A host whose line to the relay does not carry its pictures: sound goes on alone, all are told,
/// and pictures come back (docs/protocol/relay.md §3).
struct PublishFallbackTests {
  private func makeWorld(fallsBack: Bool = true) throws -> RelayedWorld {
    let world = try RelayedWorld(seed: 51)
    var pictures = RelayedWorld.pictures(sends: true, receives: false)
    pictures.video.fallsBack = fallsBack
    try world.join(1, pictures: pictures)
    for uid in 2...3 as ClosedRange<UInt32> {
      try world.join(uid, .audience, pictures: RelayedWorld.pictures(sends: false, receives: true))
    }
    world.run(.seconds(2))
    return world
  }

  /// What a host told of its own pictures: `true` = audio alone.
  private func changes(_ world: RelayedWorld) -> [Bool] {
    (world.member(1)?.steps ?? []).compactMap {
      if case .publishFallback(let change) = $0 { change.mode == .audioOnly } else { nil }
    }
  }

  private func pauses(_ member: RelayedWorld.Member?) -> [Bool] {
    (member?.steps ?? []).compactMap {
      if case .picturesPaused(uid: 1, let isPaused) = $0 { isPaused } else { nil }
    }
  }

  @Test func `a host falls back to sound alone, the others are told, and it comes back`() throws {
    let world = try makeWorld()
    _ = world.broadcast([1], seconds: 10, from: 0, bitsPerSecond: 1_000_000)
    #expect(changes(world) == [] && pauses(world.member(2)) == [])
    world.uplinks[1] = 90_000
    _ = world.broadcast([1], seconds: 20, from: 1000, bitsPerSecond: 1_000_000)
    #expect(changes(world) == [true])
    #expect(pauses(world.member(2)) == [true] && pauses(world.member(3)) == [true])
    // Who joins meanwhile is told as well.
    try world.join(4, .audience, pictures: RelayedWorld.pictures(sends: false, receives: true))
    let heard = world.member(2)?.heard[1]?.count ?? 0
    _ = world.broadcast([1], seconds: 10, from: 2000, bitsPerSecond: 1_000_000)
    #expect(pauses(world.member(4)) == [true])
    let share = Double((world.member(2)?.heard[1]?.count ?? 0) - heard) / 300
    print("figure: relay: sound of a host that fell back: \(share)")
    #expect(share >= 0.99, "its sound is whole")
    world.uplinks[1] = nil
    _ = world.broadcast([1], seconds: 60, from: 3000, bitsPerSecond: 1_000_000)
    #expect(changes(world) == [true, false])
    for uid in 2...4 as ClosedRange<UInt32> {
      #expect(pauses(world.member(uid)) == [true, false])
    }
    let seen = world.member(2)?.seen[1]?.count ?? 0
    let shown = world.broadcast([1], seconds: 5, from: 5000, bitsPerSecond: 1_000_000)
    #expect((world.member(2)?.seen[1]?.count ?? 0) - seen == shown[1]?.count)
    #expect(world.member(2)?.counts.unopened == 0)
  }

  @Test func `a host that keeps its pictures back says so, and they come back`() throws {
    let world = try makeWorld()
    _ = world.broadcast([1], seconds: 5, from: 0, bitsPerSecond: 1_000_000)
    world.member(1)?.machine.setVideoMuted(true, now: world.now)
    let kept = world.broadcast([1], seconds: 7, from: 1000, bitsPerSecond: 1_000_000)
    #expect(kept[1] == nil && changes(world) == [])
    try world.join(4, .audience, pictures: RelayedWorld.pictures(sends: false, receives: true))
    _ = world.broadcast([1], seconds: 7, from: 2000, bitsPerSecond: 1_000_000)
    for uid in 2...4 as ClosedRange<UInt32> { #expect(pauses(world.member(uid)) == [true]) }
    let seen = world.member(2)?.seen[1]?.count ?? 0
    world.member(1)?.machine.setVideoMuted(false, now: world.now)
    let shown = world.broadcast([1], seconds: 5, from: 3000, bitsPerSecond: 1_000_000)
    #expect((shown[1]?.count ?? 0) > 100)
    #expect((world.member(2)?.seen[1]?.count ?? 0) - seen == shown[1]?.count)
    for uid in 2...4 as ClosedRange<UInt32> {
      #expect(pauses(world.member(uid)) == [true, false])
    }
  }

  @Test func `who does not want to fall back does not, from the start or later`() throws {
    let world = try makeWorld(fallsBack: false)
    world.uplinks[1] = 90_000
    _ = world.broadcast([1], seconds: 20, from: 0, bitsPerSecond: 1_000_000)
    #expect(changes(world) == [] && pauses(world.member(2)) == [])
    world.member(1)?.machine.pictures?.setFallsBack(true)
    _ = world.broadcast([1], seconds: 20, from: 1000, bitsPerSecond: 1_000_000)
    #expect(changes(world) == [true])
    world.member(1)?.machine.pictures?.setFallsBack(false)
    _ = world.broadcast([1], seconds: 5, from: 2000, bitsPerSecond: 1_000_000)
    #expect(changes(world) == [true, false])
    #expect(pauses(world.member(2)) == [true, false])
  }
}
