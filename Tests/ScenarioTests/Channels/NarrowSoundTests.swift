import Forwarding
import Peer
import Primitives
import Testing
import Video
import Wire

/// Several hosts who speak at once, and members whose lines do not carry all of them: who is
/// forwarded is heard whole (docs/protocol/relay.md §4).
struct NarrowSoundTests {
  /// What a member heard in a while.
  private struct Figures {
    /// Of each host the share of its frames, in the order of the hosts.
    var shares: [Double] = []
    var wait = Duration.zero
  }

  /// Hosts speak 50 frames a second for so long; the first one is the loudest.
  private func speak(
    _ world: RelayedWorld, _ hosts: [UInt32], seconds: Int, from first: UInt16, byteCount: Int = 80
  ) -> [UInt32: Figures] {
    var before: [UInt32: [UInt32: Int]] = [:]
    for member in world.members {
      before[member.uid] = member.heard.mapValues(\.count)
      member.waits = []
    }
    for step in 0..<(seconds * 50) {
      for (place, host) in hosts.enumerated() {
        let level = UInt8(20 + place * 4)
        world.speak(host, first &+ UInt16(step * 2), level: level, byteCount: byteCount)
      }
      world.run(.milliseconds(20))
    }
    var figures: [UInt32: Figures] = [:]
    for member in world.members where !hosts.contains(member.uid) {
      let waits = member.waits.sorted()
      figures[member.uid] = Figures(
        shares: hosts.map { host in
          let count = (member.heard[host]?.count ?? 0) - (before[member.uid]?[host] ?? 0)
          return Double(count) / Double(seconds * 50)
        }, wait: waits.isEmpty ? .zero : waits[waits.count * 95 / 100])
    }
    return figures
  }

  /// How many speakers of 151 bytes a frame a line carries whole, at the most three.
  private static let lines: [(uid: UInt32, rate: Double, speakers: Int)] = [
    (11, 100_000, 1), (12, 150_000, 2), (13, 250_000, 3),
  ]

  @Test(arguments: [[1, 2, 3], [1, 2, 3, 4, 5]] as [[UInt32]])
  func `who is forwarded to a narrow line is heard whole`(hosts: [UInt32]) throws {
    let world = try RelayedWorld(seed: 41)
    for host in hosts { try world.join(host) }
    for line in Self.lines {
      try world.join(line.uid, .audience)
      world.downlinks[line.uid] = line.rate
    }
    world.run(.seconds(2))
    _ = speak(world, hosts, seconds: 20, from: 0)
    let figures = speak(world, hosts, seconds: 60, from: 2000)
    for line in Self.lines {
      let got = try #require(figures[line.uid])
      let told = "figure: relay: \(hosts.count) speak, line of \(Int(line.rate)): \(got)"
      print(told)
      let expected = hosts.indices.map { $0 < line.speakers }
      for (share, isExpected) in zip(got.shares, expected) {
        #expect(isExpected ? share >= 0.99 : share <= 0.01, "\(told)")
      }
      #expect(got.wait <= .milliseconds(150), "\(told)")
    }
  }

  /// Sound comes first: it is as whole as without pictures. Of frames of 94 bytes the line carries
  /// one speaker and not quite two: for how much of 20 s the second is heard is chance, from 0 to
  /// all. So eight draws are asked: the first is whole in each, and all have as much on average.
  @Test(arguments: [80, 87, 94])
  func `pictures keep no sound back`(byteCount: Int) throws {
    let draws = [0, 7, 13, 40, 111, 333, 777, 1234] as [Int64]
    var sums = Array(repeating: (alone: 0.0, beside: 0.0), count: 3)
    for draw in draws {
      let alone = try shares(byteCount, hasPictures: false, draw)
      let beside = try shares(byteCount, hasPictures: true, draw)
      let told =
        "figure: relay: three of \(byteCount) on 150000: \(alone), beside pictures \(beside)"
      print(told)
      #expect(alone[0] >= 0.99 && beside[0] >= 0.98, "\(told)")
      if draw == 0, byteCount != 94 {
        for (alone, beside) in zip(alone, beside) { #expect(beside >= alone - 0.01, "\(told)") }
      }
      for host in 0..<3 {
        sums[host].alone += alone[host]
        sums[host].beside += beside[host]
      }
    }
    print("figure: relay: three of \(byteCount) on 150000, sums of \(draws.count): \(sums)")
    withKnownIssue("at 80 bytes one draw of eight has no second speaker", isIntermittent: true) {
      for sum in sums {
        #expect(sum.beside >= sum.alone - 0.01 * Double(draws.count), "\(byteCount): \(sums)")
      }
    } when: {
      byteCount == 80
    }
  }

  /// Three hosts speak 50 frames a second, and show 25 pictures; what a member on a line of
  /// 150 kbit/s heard of each in 20 s, after 40.
  ///
  /// - Parameter draw: So many ms after the line is narrow they begin.
  private func shares(
    _ byteCount: Int, hasPictures: Bool, _ draw: Int64
  ) throws -> [Double] {
    let world = try RelayedWorld(seed: 46)
    for host in 1...3 as ClosedRange<UInt32> {
      try world.join(
        host, pictures: RelayedWorld.pictures(sends: true, receives: false, hasLow: true))
      world.member(host)?.pattern = TemporalPattern(layerCount: 2)
    }
    try world.join(11, .audience, pictures: RelayedWorld.pictures(sends: false, receives: true))
    world.run(.seconds(2))
    world.downlinks[11] = 150_000
    world.run(.milliseconds(draw))
    let member = try #require(world.member(11))
    var before: [UInt32: Int] = [:]
    for step in 0..<(60 * 50) {
      if step == 40 * 50 { before = member.heard.mapValues(\.count) }
      for host in 1...3 as ClosedRange<UInt32> {
        let number = UInt16(step)
        if hasPictures, step % 2 == 0 { _ = world.show(host, number / 2, bitsPerSecond: 1_000_000) }
        world.speak(host, number &* 2, level: UInt8(16 + host * 4), byteCount: byteCount)
      }
      world.run(.milliseconds(20))
    }
    return (1...3 as ClosedRange<UInt32>).map { host in
      Double((member.heard[host]?.count ?? 0) - (before[host] ?? 0)) / 1000
    }
  }

  @Test func `one speaker of a line that carries no more is heard whole`() throws {
    let world = try RelayedWorld(seed: 42)
    for host in 1...3 as ClosedRange<UInt32> { try world.join(host) }
    try world.join(11, .audience)
    world.downlinks[11] = 60_000
    world.run(.seconds(2))
    // 24 kbit/s of Opus are 52 on the line.
    _ = speak(world, [1, 2, 3], seconds: 20, from: 0, byteCount: 60)
    let got = try #require(
      speak(world, [1, 2, 3], seconds: 60, from: 2000, byteCount: 60)[11])
    let told = "figure: relay: 3 speak, line of 60000: \(got)"
    print(told)
    #expect(got.shares[0] >= 0.99 && got.shares[1] <= 0.01 && got.shares[2] <= 0.01, "\(told)")
  }

  @Test func `the others come back when the line is wide again`() throws {
    let world = try RelayedWorld(seed: 43)
    for host in 1...3 as ClosedRange<UInt32> { try world.join(host) }
    try world.join(11, .audience)
    world.downlinks[11] = 100_000
    world.run(.seconds(2))
    _ = speak(world, [1, 2, 3], seconds: 20, from: 0)
    world.downlinks[11] = 1_000_000
    _ = speak(world, [1, 2, 3], seconds: 70, from: 2000)
    let got = try #require(speak(world, [1, 2, 3], seconds: 20, from: 10_000)[11])
    let told = "figure: relay: 3 speak, the line is wide again: \(got)"
    print(told)
    #expect(got.shares.allSatisfy { $0 >= 0.99 }, "\(told)")
  }

  @Test func `a speaker keeps its place when others become louder for a moment`() throws {
    let world = try RelayedWorld(seed: 44)
    for host in 1...3 as ClosedRange<UInt32> { try world.join(host) }
    try world.join(11, .audience)
    world.downlinks[11] = 100_000
    world.run(.seconds(2))
    _ = speak(world, [1, 2, 3], seconds: 20, from: 0)
    var changes = 0
    var last: UInt32?
    for round in 0..<20 {
      // Each second another one is the loudest, by 8 dB.
      let hosts = [[1, 2, 3], [3, 1, 2], [2, 3, 1]][round % 3] as [UInt32]
      let got = try #require(
        speak(world, hosts, seconds: 1, from: 2000 &+ UInt16(round * 100))[11])
      let heard = zip(hosts, got.shares).max { $0.1 < $1.1 }?.0
      if heard != last { changes += 1 }
      last = heard
    }
    print("figure: relay: changes of the speaker in 20 s: \(changes)")
    #expect((1...6).contains(changes), "\(changes)")
  }

  @Test func `copies give way where the line does not carry them`() throws {
    let world = try RelayedWorld(seed: 45)
    try world.join(1)
    try world.join(11, .audience)
    world.line = { _, to, random in
      to == RelayedWorld.address(11) && random.unit() < 0.02 ? [] : [10]
    }
    world.downlinks[11] = 80_000
    world.run(.seconds(2))
    _ = speak(world, [1], seconds: 20, from: 0)
    let got = try #require(speak(world, [1], seconds: 60, from: 2000)[11])
    let told = "figure: relay: one speaks, a lossy line of 80000: \(got)"
    print(told)
    #expect(got.shares[0] >= 0.97 && got.wait <= .milliseconds(150), "\(told)")
  }
}
