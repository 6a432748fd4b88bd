import Peer
import Primitives
import Testing
import Trials
import Video
import Wire

/// A host that lies about its pictures, and a relay that swaps two members: the others are unharmed
/// (docs/protocol/relay.md §4).
struct HostilePicturesTests {
  private static let lines: [(uid: UInt32, rate: Double)] = [
    (11, 3_000_000), (12, 1_000_000), (13, 300_000), (14, 150_000),
  ]

  /// What the members on the lines got of host 1 in 20 s: bits of pictures a second, and of its
  /// frames of sound the share.
  private struct Got {
    var bits: [Int] = []
    var heard: [Double] = []
  }

  /// Host 1 is honest. Host 2 is so as well, or says that it has a low stream of so many bits,
  /// never sends it, has all of its usual one in layer 0, and shows what it likes.
  private func watch(
    liarsLow: UInt32?, liesFirst: Bool = false, bitsPerSecond: Int = 2_500_000
  ) throws -> Got {
    let world = try RelayedWorld(seed: 71)
    for host in liesFirst ? [2, 1] : [1, 2] as [UInt32] {
      let low = host == 2 ? liarsLow ?? 100_000 : 100_000
      try world.join(
        host,
        pictures: RelayedWorld.pictures(
          sends: true, receives: false, hasLow: low > 0, low: low))
      let isLiar = host == 2 && liarsLow != nil
      if isLiar { world.liars = [2] }
      world.member(host)?.pattern = TemporalPattern(layerCount: isLiar ? 1 : 2)
    }
    for line in Self.lines {
      try world.join(
        line.uid, .audience, pictures: RelayedWorld.pictures(sends: false, receives: true))
    }
    world.run(.seconds(2))
    for line in Self.lines { world.downlinks[line.uid] = line.rate }
    // The one that joined first has the first source.
    let hosts = liesFirst ? [2, 1] : [1, 2] as [UInt32]
    _ = world.broadcast(
      hosts, seconds: 60, from: 0, bitsPerSecond: bitsPerSecond, speakers: [1])
    let before = Self.lines.map { line in
      let member = world.member(line.uid)
      return (seen: member?.seen[1]?.count ?? 0, heard: member?.heard[1]?.count ?? 0)
    }
    _ = world.broadcast(
      hosts, seconds: 20, from: 3000, bitsPerSecond: bitsPerSecond, speakers: [1])
    var got = Got()
    for (line, before) in zip(Self.lines, before) {
      let member = try #require(world.member(line.uid))
      let seen = (member.seen[1] ?? []).dropFirst(before.seen)
      got.bits.append(seen.reduce(0) { $0 + $1.count * 8 } / 20)
      got.heard.append(Double((member.heard[1]?.count ?? 0) - before.heard) / 600)
    }
    return got
  }

  /// Bits of the low stream, and whether the liar joined first; `tools/trials` has the other three.
  private static let lies: [(UInt32, Bool)] =
    [(0, false), (100_000, true), (500_000, false)]
    + (Trials.isFull ? [(0, true), (100_000, false), (500_000, true)] : [])

  /// Goal: sound goes on whole, and of pictures each line has what it has beside an honest host,
  /// or the low stream where that is less.
  @Test(arguments: lies)
  func `a host that lies about layers and its low stream takes no other's pictures`(
    low: UInt32, liesFirst: Bool
  ) throws {
    let honest = try watch(liarsLow: nil, liesFirst: liesFirst)
    let beside = try watch(liarsLow: low, liesFirst: liesFirst)
    let told = "figure: relay: beside an honest host \(honest), beside a liar of \(low) \(beside)"
    print(told)
    for index in Self.lines.indices {
      #expect(beside.heard[index] >= 0.99, "\(told)")
      #expect(beside.bits[index] >= min(honest.bits[index], 50_000) * 9 / 10, "\(told)")
    }
  }

  /// Goal: nothing is heard as another's, third ones are heard as before, and all is as it was soon
  /// after the relay is honest again.
  @Test(arguments: 1...4 as ClosedRange<UInt64>)
  func `a relay that swaps two members has neither heard as the other`(seed: UInt64) throws {
    let world = try RelayedWorld(seed: seed)
    for uid in 1...3 as ClosedRange<UInt32> { try world.join(uid) }
    try world.join(4, .audience)
    world.run(.seconds(2))
    var said: [UInt32: Set<[UInt8]>] = [:]
    func talk(_ frames: Int, from first: UInt16) -> [UInt32: Set<[UInt8]>] {
      var now: [UInt32: Set<[UInt8]>] = [:]
      for frame in 0..<frames {
        for uid in 1...3 as ClosedRange<UInt32> {
          let payload = world.speak(uid, first + UInt16(frame * 2))
          now[uid, default: []].insert(payload)
          said[uid, default: []].insert(payload)
        }
        world.run(.milliseconds(20))
      }
      world.run(.milliseconds(200))
      return now
    }
    _ = talk(50, from: 100)
    world.swapSeats(1, 2)
    let swapped = talk(400, from: 300)
    for member in world.members {
      for uid in 1...3 as ClosedRange<UInt32> where uid != member.uid {
        #expect((member.heard[uid] ?? []).isSubset(of: said[uid] ?? []), "nothing of another's")
      }
      guard member.uid != 3 else { continue }
      #expect(member.heard[3]?.isSuperset(of: swapped[3] ?? []) == true, "seed \(seed)")
    }
    let listener = try #require(world.member(4))
    #expect(listener.heard[1]?.isDisjoint(with: swapped[1] ?? []) == true)
    #expect(listener.counts.unopened >= 800)
    world.swapSeats(2, 1)
    _ = talk(100, from: 1300)
    let after = talk(50, from: 1600)
    for uid in 1...3 as ClosedRange<UInt32> {
      #expect(listener.heard[uid]?.isSuperset(of: after[uid] ?? []) == true, "seed \(seed), \(uid)")
    }
  }
}
