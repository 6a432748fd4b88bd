import Primitives
import Testing
import Wire

@testable import Peer

/// How soon a member knows that its relay is dead, and that none is said to be dead that is not
/// (`SilenceWatch`, docs/protocol/relay.md §4).
struct SilenceWatchTests {
  /// What a host does: sound of so many dB under full scale, or nothing.
  private enum Talk {
    case sound, silence, nothing

    var level: UInt8? {
      switch self {
      case .sound: 20
      case .silence: 127
      case .nothing: nil
      }
    }
  }

  private enum Line: CaseIterable, CustomStringConvertible {
    case whole, lossy, bursts

    var description: String {
      switch self {
      case .whole: "without loss"
      case .lossy: "10 % loss"
      case .bursts: "10 % loss in bursts"
      }
    }
  }

  /// Two hosts, of whom the second says nothing, and two or more who listen.
  private func makeWorld(seed: UInt64, _ line: Line, members: UInt32 = 4) throws -> RelayedWorld {
    let world = try RelayedWorld(seed: seed)
    for uid in 1...members { try world.join(uid, uid > 2 ? .audience : .host) }
    world.run(.seconds(2))
    switch line {
    case .whole: break
    case .lossy: world.line = { _, _, random in random.unit() < 0.1 ? [] : [20] }
    case .bursts: setBursts(world)
    }
    return world
  }

  /// Each way of each member loses all for 50 to 150 ms, each second or so.
  private func setBursts(_ world: RelayedWorld) {
    var bursts: [[SocketAddress]: (from: Instant, until: Instant)] = [:]
    world.line = { [unowned world] from, to, random in
      var burst = bursts[[from, to]] ?? (world.now, world.now)
      if burst.until <= world.now {
        let start = world.now + .milliseconds(Int64(1800 * random.unit()))
        burst = (start, start + .milliseconds(50 + Int64(100 * random.unit())))
      }
      bursts[[from, to]] = burst
      return burst.from <= world.now ? [] : [20]
    }
  }

  private func talk(
    _ world: RelayedWorld, _ talk: Talk, _ duration: Duration, each step: () -> Void = {}
  ) {
    let end = world.now + duration
    var time: UInt16 = 0
    while world.now < end {
      if let level = talk.level { world.speak(1, time, level: level) }
      time &+= 2
      for _ in 0..<4 {
        world.run(.milliseconds(5))
        step()
      }
    }
  }

  /// How long after its end each member knows that the relay is dead, in ms.
  private func noticed(seed: UInt64, _ line: Line, _ kind: Talk) throws -> [UInt32: Int64] {
    let world = try makeWorld(seed: seed, line)
    talk(world, kind, .milliseconds(5000 + Int64(seed * 137 % 1000)))
    let areSeated = world.members.allSatisfy(\.isSeated)
    #expect(areSeated, "seed \(seed), \(line)")
    world.stopRelay()
    let end = world.now
    var noticed: [UInt32: Int64] = [:]
    talk(world, kind, .seconds(6)) {
      for member in world.members where !member.isSeated && noticed[member.uid] == nil {
        noticed[member.uid] = (world.now - end).milliseconds
      }
    }
    return noticed
  }

  @Test func `who only listens knows within 1_5 s that the relay is dead`() throws {
    for line in [Line.whole, .lossy, .bursts] {
      for seed in 1...6 as ClosedRange<UInt64> {
        // A host counts from its first frame after a report: up to 200 ms before the end.
        let times = try noticed(seed: seed, line, .sound)
        for uid in 1...4 as ClosedRange<UInt32> {
          let took = times[uid] ?? .max
          #expect((750...1500).contains(took), "member \(uid), seed \(seed), \(line)")
        }
      }
    }
  }

  @Test func `while hosts are silent it takes 3 s, and nothing is missed by it`() throws {
    for line in [Line.whole, .lossy] {
      for seed in 11...14 as ClosedRange<UInt64> {
        let times = try noticed(seed: seed, line, .silence)
        for uid in 1...4 as ClosedRange<UInt32> {
          #expect((times[uid] ?? .max) <= 3000, "member \(uid), seed \(seed), \(line)")
        }
      }
    }
  }

  @Test func `ten minutes of a lossy line, of speech and of silence are no loss of a relay`() throws
  {
    for (line, seed) in [(Line.lossy, 21), (.bursts, 22), (.bursts, 23)] as [(Line, UInt64)] {
      let world = try makeWorld(seed: seed, line)
      for _ in 0..<6 {
        talk(world, .sound, .seconds(15))
        talk(world, .silence, .seconds(40))
        for _ in 0..<5 {
          talk(world, .sound, .seconds(3))
          world.setRole(2, .audience)
          talk(world, .nothing, .seconds(6))
          world.setRole(2, .host)
        }
      }
      for member in world.members {
        let losses = member.steps.count { $0 == .lost }
        #expect(losses == 0, "member \(member.uid), seed \(seed), \(line)")
      }
    }
  }

  /// Members of whom so many are hosts, whose join numbers begin with `first`.
  private func roster(_ count: UInt32, hosts: UInt32, from first: UInt64 = 0) -> [ChannelMember] {
    (1...count).map { uid in
      ChannelMember(
        uid: uid, role: (2..<(2 + hosts)).contains(uid) ? .host : .audience,
        joinNumber: first + UInt64(uid),
        id: PeerID(word0: UInt64(uid), word1: 1, word2: 2, word3: 3))
    }
  }

  /// How long it takes until 3, who only listens, has its seat at the relay that was started again.
  private func isBack(_ world: RelayedWorld, after start: Instant, _ step: () -> Void) -> Int64 {
    guard let member = world.member(3) else { return .max }
    let seats = member.steps.count { $0 == .connected }
    while world.now - start < .seconds(7) {
      step()
      if member.steps.count(where: { $0 == .connected }) > seats {
        return (world.now - start).milliseconds
      }
    }
    return .max
  }

  /// Method: the relay is started again 5 to 50 ms after a listener has its seat, before it has
  /// heard anything. Nothing that it does by itself would tell it.
  @Test func `who has heard nothing yet knows at once that its relay was started again`() throws {
    for line in [Line.whole, .lossy] {
      for seed in 41...48 as ClosedRange<UInt64> {
        let world = try makeWorld(seed: seed, line)
        world.startRelay()
        #expect(isBack(world, after: world.now) { world.run(.milliseconds(5)) } < 7000)
        world.run(.milliseconds(Int64(5 + seed % 4 * 15)))
        world.startRelay()
        let took = isBack(world, after: world.now) { talk(world, .sound, .milliseconds(20)) }
        // Without loss it asks after 0.3 to 0.4 s, and registers anew.
        #expect(took <= (line == .whole ? 1000 : 2000), "seed \(seed), \(line)")
      }
    }
  }

  /// Method: nobody speaks for 10 s, the relay is started again, and 0.1 or 0.2 s later a host
  /// comes.
  @Test func `in a large channel a host's coming shows within 2 s that the relay is another`()
    throws
  {
    for line in [Line.whole, .lossy] {
      for seed in 51...52 as ClosedRange<UInt64> {
        let world = try makeWorld(seed: seed, line, members: 130)
        talk(world, .nothing, .seconds(10))
        world.startRelay()
        talk(world, .nothing, .milliseconds(Int64(100 * (seed - 50))))
        let start = world.now
        try world.join(131)
        let took = isBack(world, after: start) { talk(world, .nothing, .milliseconds(20)) }
        #expect(took <= 2000, "seed \(seed), \(line)")
      }
    }
  }

  /// Method: nobody speaks for 6 to 10 s, the relay is started again, and hosts speak at once.
  @Test func `who has listened to nobody for a while knows within 2 s, in a small channel`() throws
  {
    for line in [Line.whole, .lossy] {
      for seed in 71...78 as ClosedRange<UInt64> {
        let world = try makeWorld(seed: seed, line)
        talk(world, .sound, .seconds(1))
        talk(world, .nothing, .milliseconds(Int64(6000 + 500 * (seed - 70))))
        world.startRelay()
        let took = isBack(world, after: world.now) { talk(world, .sound, .milliseconds(20)) }
        #expect(took <= 2000, "seed \(seed), \(line)")
      }
    }
  }

  /// Method: a minute in which the relay answers each PING after 40 ms.
  @Test func `a room without hosts costs who listens a PING each 1_2 s, a large one none`() {
    for isSmall in [true, false] {
      var now = Instant(nanoseconds: 1_000_000_000)
      var watch = SilenceWatch(chance: 0.5, now: now)
      watch.handleRoster(roster(isSmall ? 128 : 129, hosts: 0), own: 1, now: now)
      var count = 0
      while let due = watch.nextDeadline(roundTrip: nil), due < Instant(nanoseconds: 61_000_000_000)
      {
        now = due
        if watch.popQuestion(now: now) { count += 1 }
        now = now + .milliseconds(40)
        watch.handlePacket(now: now)
      }
      #expect(isSmall ? (45...50).contains(count) : count == 0, "\(count) PINGs")
    }
  }

  /// Method: the relay answers each PING after 40 ms; hosts come each 0.05 s, and say nothing.
  @Test func `hosts who come one after the other put no question off, nor are many asked`() {
    var random = RandomSource(seed: 61)
    for number in 0..<100 {
      let isSmall = number % 2 == 0
      var now = Instant(nanoseconds: 1_000_000_000)
      var watch = SilenceWatch(chance: random.unit(), now: now)
      watch.restart(now: now)
      var count = 0
      for step in 0..<3000 {
        if step % 5 == 0 {
          // One comes, and another one that was there goes.
          let members = roster(isSmall ? 128 : 129, hosts: 1, from: UInt64(step))
          watch.handleRoster(members, own: 1, now: now)
        }
        if watch.popQuestion(now: now) {
          count += 1
          now = now + .milliseconds(40)
          watch.handlePacket(now: now)
        }
        let isLost = watch.handleTimeout(roundTrip: nil, now: now)
        #expect(!isLost)
        now = now + .milliseconds(10)
      }
      #expect(isSmall ? (60...110).contains(count) : (6...28).contains(count), "\(count) PINGs")
    }
  }

  /// Method: a second one comes 0.7 s after the first, and the relay was heard 1.05 s after it.
  @Test func `of a host who comes while another one is awaited as much is noticed`() {
    let start = Instant(nanoseconds: 1_000_000_000)
    var watch = SilenceWatch(chance: 0.5, now: start)
    watch.handleRoster(roster(4, hosts: 1), own: 1, now: start)
    watch.handleRoster(roster(4, hosts: 2), own: 1, now: start + .milliseconds(700))
    watch.handlePacket(now: start + .milliseconds(1050))
    let due = watch.nextDeadline(roundTrip: nil)
    #expect(due == start + .milliseconds(1050 + 300 + 50))
    // Of a packet after its time nothing more is asked than in any small channel.
    watch.handlePacket(now: start + .milliseconds(1750))
    let later = watch.nextDeadline(roundTrip: nil)
    #expect(later == start + .milliseconds(1750 + 1200 + 50))
  }

  @Test func `a silent room costs who listens nothing, and its end five PINGs`() {
    var random = RandomSource(seed: 31)
    var now = Instant(nanoseconds: 1_000_000_000)
    for _ in 0..<100 {
      var watch = SilenceWatch(chance: random.unit(), now: now)
      for _ in 0..<60 {
        watch.handleMedia(isSilent: true, now: now)
        watch.handlePacket(now: now)
        let next = now + .milliseconds(1000 + Int64(150 * random.unit()))
        let due = watch.nextDeadline(roundTrip: nil)
        #expect(due.map { $0 > next } ?? true)
        now = next
      }
      watch.handleMedia(isSilent: false, now: now)
      watch.handlePacket(now: now)
      let end = now
      var count = 0
      while let due = watch.nextDeadline(roundTrip: nil), due < end + .seconds(60) {
        now = max(now, due)
        if watch.popQuestion(now: now) { count += 1 }
        let isLost = watch.handleTimeout(roundTrip: nil, now: now)
        #expect(!isLost)
        // The relay answers.
        now = now + .milliseconds(40)
        watch.handlePacket(now: now)
      }
      #expect((3...5).contains(count) && now - end < .seconds(7), "\(count) PINGs")
    }
  }
}
