import Primitives
import Testing
import Tokens
import Wire

@testable import Channels

/// Which seats at a relay a rendezvous ends (docs/protocol/relay.md §2).
struct ChannelSeatsTests {
  private let tea: ChannelIdentity
  private var server = ChannelDirectory(random: RandomSource(seed: 1))
  private var now = Instant(nanoseconds: 1_000_000_000)
  private let programs = (1...4).map { presence in
    ChannelProgram(
      id: PeerID(word0: 1, word1: 1, word2: 1, word3: 1),
      presence: PresenceID(rawValue: presence))
  }

  init() throws { tea = try room("tea") }

  private mutating func say(_ content: ChannelRequest.Content, _ program: ChannelProgram) {
    server.handle(
      ChannelRequest(channel: tea.id, stay: program.presence.rawValue, number: 0, content),
      from: program, at: ChannelSource(host: 1, network: 2), mayCheck: true,
      unixMilliseconds: 1_000_000, now: now)
    while server.pollNotice() != nil {}
  }

  /// A program joins as a host, and is given a grant for 10 minutes.
  private mutating func join(_ program: ChannelProgram, uid: UInt32 = 0) -> UInt32 {
    say(.join(ChannelJoin(role: .host, uid: uid, name: tea.name)), program)
    let newest = server.members(of: tea.id).max { $0.joinNumber < $1.joinNumber }
    let seat = SeatClaim(channel: tea.id, uid: newest?.uid ?? 0, role: .host)
    server.handleGrant(of: seat, until: now + .seconds(600))
    return seat.uid
  }

  /// Nobody says anything for so long.
  private mutating func wait(_ seconds: Int64) {
    for _ in 0..<(seconds * 4) {
      now = now + .milliseconds(250)
      server.handleTimeout(now: now)
      while server.pollNotice() != nil {}
    }
  }

  private var expelled: [UInt32] {
    mutating get {
      var uids: [UInt32] = []
      while let member = server.pollExpelled() {
        if member.channel == tea.id { uids.append(member.uid) }
      }
      return uids
    }
  }

  /// A rendezvous that is away interrupts nothing: who was lost may be heard by its relay.
  @Test mutating func `a host that was lost keeps its seat until its identity has another`() {
    let first = join(programs[0])
    wait(30)
    #expect(server.memberCount == 0 && expelled.isEmpty)
    // It is back with the uid it had.
    #expect(join(programs[0], uid: first) == first && expelled.isEmpty)
    wait(30)
    #expect(expelled.isEmpty)
    _ = join(programs[1])
    #expect(expelled == [first])
    wait(600)
    _ = join(programs[2])
    #expect(expelled.isEmpty, "the grant of the second one has ended by itself")
  }

  @Test mutating func `of several that were lost one keeps its seat`() {
    let uids = programs.map { join($0) }
    wait(30)
    #expect(server.memberCount == 0)
    let ended = expelled
    #expect(ended.count == 3 && Set(ended).isSubset(of: uids))
  }

  @Test mutating func `a host that is back and leaves has its seat ended`() {
    let uid = join(programs[0])
    wait(30)
    say(.join(ChannelJoin(role: .host, uid: uid, name: tea.name)), programs[0])
    say(.leave, programs[0])
    #expect(expelled == [uid])
  }

  /// It has a grant of before that makes a host.
  @Test mutating func `a lost host that is back as audience is a host no more`() {
    let uid = join(programs[0])
    wait(30)
    say(.join(ChannelJoin(role: .audience, uid: uid, name: tea.name)), programs[0])
    wait(2)
    let ended = server.pollExpelled()
    #expect(ended?.uid == uid && ended?.channel == EndedSeat.hosts(of: tea.id))
    say(.leave, programs[0])
    #expect(expelled.isEmpty)
  }

  /// Else an accomplice that takes the uid would keep the seat open.
  @Test mutating func `the seat of a lost host ends also where another one has its uid`() {
    let lost = join(programs[0])
    wait(30)
    let other = ChannelProgram(id: .zero, presence: PresenceID(rawValue: 9))
    #expect(join(other, uid: lost) == lost)
    _ = join(programs[1])
    #expect(expelled == [lost])
  }

  @Test mutating func `a ban ends the seats of all stays of an identity`() {
    let lost = join(programs[0])
    wait(30)
    server.ban(programs[0].id, from: tea.id, until: now + .seconds(60), now: now)
    #expect(expelled == [lost])
  }

  @Test mutating func `of too many lost hosts the first to end has its seat ended`() {
    var limits = ChannelLimits()
    limits.lostHosts = 2
    var members = ExpelledMembers()
    let room = ChannelRoom(tea, epoch: 1, by: ChannelSource(host: 1, network: 1))
    func lose(_ id: UInt64, at time: Instant) -> UInt32? {
      var member = RoomMember(
        program: programs[0], stay: id, source: ChannelSource(host: 1, network: 1),
        stated: ChannelMember(
          uid: UInt32(id), role: .host, joinNumber: id,
          id: PeerID(word0: id, word1: 0, word2: 0, word3: 0)), heard: now, period: .seconds(1))
      member.grantedUntil = now + .seconds(Int64(id))
      members.handleDeparture(of: member, .lost, from: room, limits, now: time)
      return members.popLast()?.uid
    }
    #expect(lose(2, at: now) == nil && lose(3, at: now) == nil)
    #expect(lose(4, at: now) == 2)
    // Where the grant of one has ended nobody else makes room.
    #expect(lose(5, at: now + .milliseconds(3500)) == nil)
  }
}
