import Primitives
import Testing
import Tokens
import Wire

@testable import Channels

/// What one address, one program or one member may take of a rendezvous
/// (docs/protocol/channels.md §7).
struct ChannelSharesTests {
  private let now = Instant(nanoseconds: 1_000_000_000)

  private func program(_ id: UInt64, _ presence: UInt64 = 1) -> ChannelProgram {
    ChannelProgram(
      id: PeerID(word0: id, word1: 1, word2: 1, word3: 1), presence: PresenceID(rawValue: presence))
  }

  private func source(_ id: UInt64) -> ChannelSource { ChannelSource(host: id, network: id) }

  /// Says something as `program`, whose stay has the number of its presence.
  private func say(
    _ content: ChannelRequest.Content, _ program: ChannelProgram, _ room: ChannelIdentity,
    at source: ChannelSource, _ server: inout ChannelDirectory
  ) -> [ChannelStatus] {
    server.handle(
      ChannelRequest(channel: room.id, stay: program.presence.rawValue, number: 0, content),
      from: program, at: source, mayCheck: true, unixMilliseconds: 1_000_000, now: now)
    var statuses: [ChannelStatus] = []
    while let (_, notice) = server.pollNotice() {
      if case .result(let result) = notice.content { statuses.append(result.status) }
    }
    return statuses
  }

  private func join(_ room: ChannelIdentity, uid: UInt32 = 0) -> ChannelRequest.Content {
    .join(ChannelJoin(role: .audience, uid: uid, name: room.name))
  }

  // MARK: - Memberships

  /// Method: two programs of one identity are at two addresses. One joins, and the other takes its
  /// uid, in channel after channel. Goal: neither address has more than it may.
  @Test func `a stay that replaces one of another address counts at its own`() throws {
    var limits = ChannelLimits()
    limits.perHost = 3
    var server = ChannelDirectory(limits: limits, random: RandomSource(seed: 1))
    let sources = [1, 2].map { ChannelSource(host: $0, network: 9) }
    for round in 0..<20 {
      let room = try room("c\(round)")
      for (place, source) in sources.enumerated() {
        _ = say(join(room, uid: 7), program(5, UInt64(place) + 1), room, at: source, &server)
      }
    }
    #expect(server.memberCount == 6)
    // A newer stay of the same address has the place of the one before.
    let rooms = try (0..<20).map { try room("c\($0)") }
    let taken = try #require(rooms.first { !server.members(of: $0.id).isEmpty })
    #expect(say(join(taken, uid: 7), program(5, 3), taken, at: sources[1], &server).isEmpty)
    #expect(server.memberCount == 6)
  }

  @Test func `a stay that replaces one of another network counts at its own`() throws {
    var limits = ChannelLimits()
    limits.perNetwork = 3
    var server = ChannelDirectory(limits: limits, random: RandomSource(seed: 2))
    for round in 0..<20 {
      let room = try room("c\(round)")
      for place in [1, 2] as [UInt64] {
        let source = ChannelSource(host: place, network: place)
        _ = say(join(room, uid: 7), program(5, place), room, at: source, &server)
      }
    }
    #expect(server.memberCount == 6)
  }

  // MARK: - Channels

  @Test func `an address makes so many channels, and joins those of others`() throws {
    var limits = ChannelLimits()
    limits.madePerHost = 2
    limits.madePerNetwork = 3
    var server = ChannelDirectory(limits: limits, random: RandomSource(seed: 3))
    let (one, other) = (ChannelSource(host: 1, network: 9), ChannelSource(host: 2, network: 9))
    let far = ChannelSource(host: 3, network: 10)
    let rooms = try (0..<6).map { try room("c\($0)") }
    func join(_ index: Int, _ source: ChannelSource) -> [ChannelStatus] {
      say(self.join(rooms[index]), program(source.host), rooms[index], at: source, &server)
    }
    #expect(join(0, one).isEmpty && join(1, one).isEmpty)
    #expect(join(2, one) == [.tooManyChannels])
    #expect(join(2, other).isEmpty)
    #expect(join(3, other) == [.tooManyChannels])
    #expect(join(3, far).isEmpty)
    #expect(join(3, one).isEmpty && server.channelCount == 4)
    // The channel of who has left counts for it while there is somebody in it.
    #expect(join(0, far).isEmpty)
    _ = say(.leave, program(1), rooms[0], at: one, &server)
    #expect(join(4, one) == [.tooManyChannels])
    _ = say(.leave, program(3), rooms[0], at: far, &server)
    server.handleTimeout(now: now + .seconds(1))
    #expect(server.channelCount == 3 && join(4, one).isEmpty)
  }

  // MARK: - Notices

  /// Members 1 to `count` of a channel, each in its own program, and nothing left to be told.
  private func crowd(_ count: UInt64, in room: ChannelIdentity) -> ChannelDirectory {
    var server = ChannelDirectory(random: RandomSource(seed: 4))
    for id in 1...count { _ = say(join(room), program(id), room, at: source(id), &server) }
    server.handleTimeout(now: now + .seconds(2))
    while server.pollNotice() != nil {}
    return server
  }

  /// `flippers` members each change their role each 20 ms, from 3 s after `now` on, for 1 s.
  ///
  /// - Returns: How many notices of changes there are, and how many ROLE of the first are refused.
  private func flip(
    _ flippers: ClosedRange<UInt64>, in room: ChannelIdentity, _ server: inout ChannelDirectory
  ) -> (notices: Int, refusals: Int) {
    var found = (notices: 0, refusals: 0)
    for step in 0..<200 as Range<UInt32> {
      let time = now + .milliseconds(3000 + Int64(step) * 10)
      for id in flippers where step % 2 == 0 && step < 100 {
        let role: MemberRole = step % 4 == 0 ? .host : .audience
        server.handle(
          ChannelRequest(channel: room.id, stay: 1, number: step + 1, .role(role)),
          from: program(id), at: source(id), mayCheck: true, unixMilliseconds: 1_000_000, now: time)
      }
      server.handleTimeout(now: time)
      while let (to, notice) = server.pollNotice() {
        if case .changes = notice.content { found.notices += 1 }
        guard case .result(let result) = notice.content, to.id == program(1).id else { continue }
        if result.status == .tooManyRequests { found.refusals += 1 }
      }
    }
    return found
  }

  /// Goal: the first change is told at once, and the other three of its burst together.
  @Test func `who changes its role without end draws few notices`() throws {
    let tea = try room("tea")
    var server = crowd(1000, in: tea)
    let found = flip(1...1, in: tea, &server)
    #expect(found.notices >= 1000 && found.notices <= 3000, "\(found)")
    #expect(found.refusals >= 20, "\(found)")
  }

  /// Goal: as many copies a second as 128 members get at 20 a second; full messages come on top.
  @Test func `changes of a large channel are told at a pace of its size`() throws {
    let tea = try room("tea")
    var server = crowd(1000, in: tea)
    let found = flip(1...16, in: tea, &server)
    // 80 changes within 1.1 s.
    #expect(found.notices <= 5 * 1000, "\(found)")
  }

  @Test func `a full message of changes does not wait`() throws {
    let tea = try room("tea")
    var server = crowd(1000, in: tea)
    // Within 200 ms 600 come: twice as many as are kept for whoever lacks some.
    for id in 1001...1600 as ClosedRange<UInt64> {
      let time = now + .milliseconds(3000 + Int64(id - 1000) / 3)
      server.handle(
        ChannelRequest(channel: tea.id, stay: 1, number: 0, join(tea)), from: program(id),
        at: source(id), mayCheck: true, unixMilliseconds: 1_000_000, now: time)
    }
    server.handleTimeout(now: now + .seconds(5))
    var revision: UInt64 = 1000
    while let (to, notice) = server.pollNotice() {
      guard to.id == program(1).id, case .changes(let changes) = notice.content else { continue }
      #expect(changes.first == revision + 1)
      revision += UInt64(changes.changes.count)
    }
    #expect(revision == 1600)
  }

  /// Goal: what one member does is told to all within 1 s also where there are most.
  @Test(arguments: [2, 128, 256, 1000, 4096] as [UInt64])
  func `a change is told within 50 ms, in a large channel within 1 s`(members: UInt64) throws {
    let tea = try room("tea")
    let limits = ChannelLimits()
    var room = ChannelRoom(tea, epoch: 1, by: source(1))
    for id in 1...members { room.insert(member(id), limits) }
    _ = room.takePush(now: now)
    room.setRole(.host, of: 1, limits, now: now)
    let wait = try #require(room.pushDue(limits)) - now
    let most = Duration.milliseconds(members <= 128 ? 50 : 1000)
    #expect(wait <= most && wait >= .milliseconds(50))
    // Who was removed is to hear nothing more: others are told as soon as in a small channel.
    _ = room.remove(2, .banned, limits)
    #expect(room.pushDue(limits) == now + .milliseconds(50))
  }

  private func member(_ id: UInt64) -> RoomMember {
    RoomMember(
      program: program(id), stay: id, source: source(id),
      stated: ChannelMember(
        uid: UInt32(id), role: .audience, joinNumber: id, id: program(id).id),
      heard: now, period: .seconds(1))
  }

  /// Method: one of 1000 says JOIN of its stay 1000 times within a second, as if all answers were
  /// lost, then each second. Goal: as many answers as a member may draw parts of the roster, and
  /// then one each time.
  @Test func `who joins again and again draws no more rosters than its rate allows`() throws {
    let tea = try room("tea")
    var server = crowd(1000, in: tea)
    func joins(at time: Instant) -> (welcomes: Int, rosters: Int) {
      server.handle(
        ChannelRequest(channel: tea.id, stay: 1, number: 0, join(tea)), from: program(1),
        at: source(1), mayCheck: false, unixMilliseconds: 1_000_000, now: time)
      var found = (welcomes: 0, rosters: 0)
      while let (_, notice) = server.pollNotice() {
        if case .welcome = notice.content { found.welcomes += 1 }
        if case .roster = notice.content { found.rosters += 1 }
      }
      return found
    }
    var rosters = 0
    for step in 0..<1000 { rosters += joins(at: now + .milliseconds(3000 + Int64(step))).rosters }
    #expect((128...138).contains(rosters), "\(rosters)")
    for second in 5...9 as ClosedRange<Int64> {
      let found = joins(at: now + .seconds(second))
      #expect(found.welcomes == 1 && found.rosters == 1)
    }
    // It was there all the while.
    #expect(server.members(of: tea.id).contains { $0.id == program(1).id })
  }

  // MARK: - Limits

  @Test func `no address fills a server, and a program has its channels`() {
    let limits = ChannelLimits()
    #expect(limits.madePerHost >= 4 * limits.perProgram)
    #expect(limits.madePerNetwork >= limits.madePerHost)
    #expect(limits.channels >= 4 * limits.madePerNetwork)
  }
}
