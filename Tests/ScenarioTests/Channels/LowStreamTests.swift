import Forwarding
import Peer
import Primitives
import Testing
import Video
import Wire

/// A relay's members on lines of 3 M, 1 M, 300 k and 150 k: each sees the best that its line holds
/// of what the hosts make, the low stream where that is it (docs/protocol/relay.md §4).
struct LowStreamTests {
  private static let lines: [(uid: UInt32, rate: Double)] = [
    (11, 3_000_000), (12, 1_000_000), (13, 300_000), (14, 150_000),
  ]

  /// What one member got of all hosts in a while.
  private struct Figures {
    var bits = 0
    var low = 0
    var usual = 0
    var changes = 0
    var heard = 0.0
    var wait = Duration.zero
    var gap = Duration.zero
  }

  private struct Mark {
    var seen: [UInt32: Int] = [:]
    var heard: [UInt32: Int] = [:]
    var events = 0
  }

  private func mark(_ member: RelayedWorld.Member) -> Mark {
    member.waits = []
    return Mark(
      seen: member.seen.mapValues(\.count), heard: member.heard.mapValues(\.count),
      events: member.steps.count)
  }

  private func figures(
    _ member: RelayedWorld.Member, since mark: Mark, _ hosts: [UInt32], seconds: Int
  ) -> Figures {
    var figures = Figures()
    var spoken = 0
    var heard = 0
    for host in hosts {
      let before = mark.seen[host] ?? 0
      let seen = (member.seen[host] ?? []).dropFirst(before)
      for picture in seen {
        figures.bits += picture.count * 8
        if picture.last == 8 { figures.low += 1 } else { figures.usual += 1 }
      }
      let times = (member.seenAt[host] ?? []).dropFirst(before)
      for (one, next) in zip(times, times.dropFirst()) {
        figures.gap = max(figures.gap, next - one)
      }
    }
    // The first one speaks.
    if let host = hosts.first {
      heard += (member.heard[host]?.count ?? 0) - (mark.heard[host] ?? 0)
      spoken += seconds * 30
    }
    figures.bits /= seconds
    figures.heard = Double(heard) / Double(spoken)
    figures.changes = member.steps.dropFirst(mark.events).count {
      if case .pictureStreamChanged = $0 { true } else { false }
    }
    let waits = member.waits.sorted()
    figures.wait = waits.isEmpty ? .zero : waits[waits.count * 95 / 100]
    return figures
  }

  private func makeWorld(_ hosts: [UInt32], seed: UInt64) throws -> RelayedWorld {
    let world = try RelayedWorld(seed: seed)
    for host in hosts {
      try world.join(
        host, pictures: RelayedWorld.pictures(sends: true, receives: false, hasLow: true))
      world.member(host)?.pattern = TemporalPattern(layerCount: 2)
    }
    for line in Self.lines {
      try world.join(
        line.uid, .audience, pictures: RelayedWorld.pictures(sends: false, receives: true))
    }
    world.run(.seconds(2))
    for line in Self.lines { world.downlinks[line.uid] = line.rate }
    return world
  }

  /// Bits of pictures a second that a line could have at the most, of hosts that all take `usual`.
  private func best(_ line: Double, hosts: Int, usual: Double) -> Double {
    let sound = 30.0 * Double(80 + 43 + 28) * 8
    // By step: bits, and what they take on the line.
    let steps: [(bits: Double, line: Double)] =
      [(0, 0), (60_000, 0), (100_000, 0), (usual * 0.6, 0), (usual, 0)].map { step in
        let fragment = step.0 > 100_000 ? 1150.0 : 400
        return (step.0, step.0 * (1 + 66 / fragment))
      }
    var (best, level) = (0.0, 1)
    while level <= hosts * 4 {
      let (all, more) = (level / hosts, level % hosts)
      let next = all < 4 ? all + 1 : all
      let taken = Double(hosts - more) * steps[all].line + Double(more) * steps[next].line
      if taken <= line - sound {
        best = Double(hosts - more) * steps[all].bits + Double(more) * steps[next].bits
      }
      level += 1
    }
    return best
  }

  @Test(arguments: [[1], [1, 2, 3]] as [[UInt32]])
  func `each line has the best that it holds of the hosts' pictures`(hosts: [UInt32]) throws {
    let world = try makeWorld(hosts, seed: 31)
    _ = world.broadcast(hosts, seconds: 60, from: 0, bitsPerSecond: 2_500_000, speakers: [hosts[0]])
    let marks = Self.lines.compactMap { world.member($0.uid) }.map { mark($0) }
    let shown = world.broadcast(
      hosts, seconds: 20, from: 3000, bitsPerSecond: 2_500_000, speakers: [hosts[0]])
    let usual =
      hosts.reduce(0.0) { sum, host in
        sum + Double((shown[host] ?? []).reduce(0) { $0 + $1.count * 8 }) / 20
      } / Double(hosts.count)
    for (line, before) in zip(Self.lines, marks) {
      let member = try #require(world.member(line.uid))
      let got = figures(member, since: before, hosts, seconds: 20)
      let best = best(line.rate, hosts: hosts.count, usual: usual)
      let told =
        "figure: relay: \(hosts.count) hosts of \(Int(usual)), line of \(Int(line.rate)): "
        + "best \(Int(best)), \(got)"
      print(told)
      withKnownIssue("the best would fill the line to 97 %") {
        #expect(Double(got.bits) >= best * 0.9, "\(told)")
      } when: {
        hosts.count == 3 && line.rate == 300_000
      }
      #expect(got.heard >= 0.998, "\(told)")
      #expect(got.wait <= .milliseconds(40), "\(told)")
    }
  }

  @Test func `a low stream is made only while somebody is to have it`() throws {
    let world = try makeWorld([1], seed: 32)
    for line in Self.lines { world.downlinks[line.uid] = nil }
    _ = world.broadcast([1], seconds: 10, from: 0, bitsPerSecond: 1_000_000)
    #expect(world.member(1)?.lowCount == 0, "all lines hold the usual one")
    world.downlinks[13] = 300_000
    _ = world.broadcast([1], seconds: 10, from: 1000, bitsPerSecond: 1_000_000)
    let made = world.member(1)?.lowCount ?? 0
    #expect(made > 60, "\(made)")
    world.downlinks[13] = nil
    _ = world.broadcast([1], seconds: 75, from: 2000, bitsPerSecond: 1_000_000)
    let before = world.member(1)?.lowCount ?? 0
    _ = world.broadcast([1], seconds: 5, from: 6000, bitsPerSecond: 1_000_000)
    #expect(world.member(1)?.lowCount == before, "the line is wide again")
  }

  @Test func `a line that changes costs one change of stream and no long freeze`() throws {
    let world = try makeWorld([1], seed: 33)
    for line in Self.lines { world.downlinks[line.uid] = 3_000_000 }
    _ = world.broadcast([1], seconds: 20, from: 0, bitsPerSecond: 2_000_000)
    let member = try #require(world.member(12))
    let before = mark(member)
    world.downlinks[12] = 800_000
    _ = world.broadcast([1], seconds: 20, from: 1000, bitsPerSecond: 2_000_000)
    let narrower = figures(member, since: before, [1], seconds: 20)
    let between = mark(member)
    world.downlinks[12] = 3_000_000
    _ = world.broadcast([1], seconds: 75, from: 2000, bitsPerSecond: 2_000_000)
    let wider = figures(member, since: between, [1], seconds: 75)
    let told = "figure: relay: narrower \(narrower), wider \(wider)"
    print(told)
    #expect(narrower.changes == 1 && wider.changes == 1, "\(told)")
    #expect(narrower.gap <= .milliseconds(300) && wider.gap <= .milliseconds(300), "\(told)")
    #expect(narrower.heard >= 0.998 && wider.heard >= 0.998, "\(told)")
  }
}
