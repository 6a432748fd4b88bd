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

  /// Method: all but the first host are silent, and send no frames or such as hold silence.
  @Test(arguments: [([1], false), ([1, 2, 3], false), ([1, 2, 3], true)] as [([UInt32], Bool)])
  func `each line has the best that it holds of the hosts' pictures`(
    hosts: [UInt32], sendsSilence: Bool
  ) throws {
    let world = try makeWorld(hosts, seed: 31)
    for host in hosts.dropFirst() { world.levels[host] = 127 }
    let speakers = sendsSilence ? hosts : [hosts[0]]
    _ = world.broadcast(hosts, seconds: 60, from: 0, bitsPerSecond: 2_500_000, speakers: speakers)
    let marks = Self.lines.compactMap { world.member($0.uid) }.map { mark($0) }
    let shown = world.broadcast(
      hosts, seconds: 20, from: 3000, bitsPerSecond: 2_500_000, speakers: speakers)
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
      #expect(Double(got.bits) >= best * 0.8, "\(told)")
      withKnownIssue("a step less than the line holds: 180 of 220", isIntermittent: true) {
        #expect(Double(got.bits) >= best * 0.9, "\(told)")
      } when: {
        sendsSilence && line.rate == 300_000
      }
      #expect(got.heard >= 0.998, "\(told)")
      // A tenth above the 41 ms of the known issue, which may be 42.
      #expect(got.wait <= .milliseconds(45), "\(told)")
      withKnownIssue("a line that is full to 98 % waits 41 to 42 ms", isIntermittent: true) {
        #expect(got.wait <= .milliseconds(40), "\(told)")
      } when: {
        hosts.count == 3 && line.rate == 300_000
      }
    }
  }

  /// Lines, rates and the moments of the cameras are drawn: one sample shows what chance does.
  @Test(arguments: [([1], 51...56), ([1, 2, 3], 51...66)] as [([UInt32], ClosedRange<UInt64>)])
  func `lines and cameras by chance: packets wait little`(
    hosts: [UInt32], seeds: ClosedRange<UInt64>
  ) throws {
    var waits: [Duration] = []
    for seed in seeds {
      var random = RandomSource(seed: seed)
      let world = try makeWorld(hosts, seed: seed)
      for host in hosts { world.phases[host] = .microseconds(Int64(random.unit() * 33_000)) }
      for line in Self.lines {
        world.downlinks[line.uid] = line.rate * (0.85 + random.unit() * 0.3)
      }
      let rate = 1_500_000 + Int(random.unit() * 1_500_000)
      _ = world.broadcast(hosts, seconds: 60, from: 0, bitsPerSecond: rate, speakers: [hosts[0]])
      let members = Self.lines.compactMap { world.member($0.uid) }
      let marks = members.map { mark($0) }
      _ = world.broadcast(hosts, seconds: 20, from: 3000, bitsPerSecond: rate, speakers: [hosts[0]])
      for (member, before) in zip(members, marks) {
        let got = figures(member, since: before, hosts, seconds: 20)
        let line = Int(world.downlinks[member.uid] ?? 0)
        let told = "figure: drawn: seed \(seed), \(hosts.count) hosts, line of \(line): \(got)"
        print(told)
        // With seeds 61 to 76 one of 128 lines waits 347 ms: Benchmarks/README.md.
        #expect(got.heard >= 0.998 && got.wait <= .milliseconds(80), "\(told)")
        #expect(got.bits >= 90_000 || line < 200_000, "\(told)")
        waits.append(got.wait)
      }
    }
    // Five of 24 at the most, and of 64 no greater share.
    #expect(waits.count { $0 > .milliseconds(40) } <= waits.count * 5 / 24, "\(waits.sorted())")
    withKnownIssue("one line in eight waits more than 40 ms", isIntermittent: true) {
      #expect(waits.sorted()[waits.count * 95 / 100] <= .milliseconds(40), "\(waits.sorted())")
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

  /// A line that gets narrower, and what that may cost.
  struct Narrowing: Sendable {
    let wide: Double
    let narrow: Double
    /// Packets of 1000.
    var lost = 0
    /// The longest time without a picture, of any sample. What the line's own queue of 400 ms holds
    /// is of no use any more, and goes first.
    let most: Duration
    /// The same of six samples in eight.
    let usual: Duration
    /// The least part of the sound, of all samples together.
    let heard: Double
  }

  private static let narrowings = [
    Narrowing(
      wide: 3_000_000, narrow: 800_000, most: .milliseconds(400), usual: .milliseconds(300),
      heard: 0.998),
    Narrowing(
      wide: 3_000_000, narrow: 400_000, most: .milliseconds(700), usual: .milliseconds(600),
      heard: 0.99),
    Narrowing(
      wide: 5_000_000, narrow: 1_000_000, lost: 5, most: .milliseconds(400),
      usual: .milliseconds(300), heard: 0.99),
  ]

  /// One sample hides what happens in others: by chance the same line gave 0.2 s or 1.8 s.
  @Test(arguments: narrowings)
  func `a line gets narrower at any moment without a long freeze`(line: Narrowing) throws {
    var heard = 0.0
    var gaps: [Duration] = []
    for seed in 41...48 as ClosedRange<UInt64> {
      var random = RandomSource(seed: seed)
      let world = try makeWorld([1], seed: seed)
      world.vary(lost: line.lost)
      for member in Self.lines { world.downlinks[member.uid] = line.wide }
      world.run(.milliseconds(Int64(random.unit() * 3000)))
      let seconds = 12 + Int(random.unit() * 6)
      _ = world.broadcast([1], seconds: seconds, from: 0, bitsPerSecond: 2_000_000)
      let member = try #require(world.member(12))
      let before = mark(member)
      world.downlinks[12] = line.narrow
      _ = world.broadcast([1], seconds: 20, from: 1000, bitsPerSecond: 2_000_000)
      let narrower = figures(member, since: before, [1], seconds: 20)
      let told = "figure: relay: to \(Int(line.narrow)), seed \(seed): \(narrower)"
      print(told)
      #expect(narrower.changes == 1 && narrower.gap <= line.most, "\(told)")
      heard += narrower.heard / 8
      gaps.append(narrower.gap)
    }
    #expect(gaps.sorted()[5] <= line.usual, "\(gaps)")
    #expect(heard >= line.heard)
  }

  /// Who had it before, and sound alone meanwhile, knows its numbers.
  @Test func `a low stream that begins again comes at once to who had it before`() throws {
    let world = try makeWorld([1], seed: 35)
    for line in Self.lines { world.downlinks[line.uid] = line.uid == 13 ? 300_000 : 3_000_000 }
    _ = world.broadcast([1], seconds: 40, from: 0, bitsPerSecond: 2_000_000)
    world.downlinks[13] = 70_000
    _ = world.broadcast([1], seconds: 30, from: 1300, bitsPerSecond: 2_000_000)
    let before = world.member(1)?.lowCount ?? 0
    world.downlinks[13] = 300_000
    var number: UInt16 = 2300
    while world.member(1)?.lowCount == before, number < 8000 {
      _ = world.broadcast([1], seconds: 1, from: number, bitsPerSecond: 2_000_000)
      number += 45
    }
    let member = try #require(world.member(13))
    let again = mark(member)
    _ = world.broadcast([1], seconds: 5, from: number, bitsPerSecond: 2_000_000)
    let figures = figures(member, since: again, [1], seconds: 5)
    #expect(before > 300, "it was made, and not for ever")
    #expect(figures.low > 60 && figures.gap <= .milliseconds(300), "\(figures)")
  }
}
