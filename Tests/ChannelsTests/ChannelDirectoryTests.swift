import Primitives
import Testing
import Tokens
import Wire

@testable import Channels

@Suite struct ChannelDirectoryTests {
  @Test func `who joins and who is there learn of each other`() throws {
    let world = ChannelWorld(seed: 1)
    let tea = try room("tea")
    let (alice, bob) = (world.addEnd(), world.addEnd())
    try alice.client.join(tea, as: .host, now: world.now)
    world.run(.seconds(1))
    try bob.client.join(tea, as: .audience, now: world.now)
    world.run(.seconds(1))
    #expect(alice.client.members(of: tea.id) == world.server.members(of: tea.id))
    #expect(bob.client.members(of: tea.id).count == 2)
    let first = alice.take()
    #expect(first.contains(.audienceJoined(uid: bob.uid(in: tea), bob.program.id)))
    let joined = bob.take().filter {
      if case .userJoined(alice.uid(in: tea), alice.program.id, _) = $0 { return true }
      return false
    }
    #expect(joined.count == 1)
  }

  /// Goal: 20 s and a round trip, of which each way is 60 ms at the most here.
  @Test func `a death is told 19_5 to 20 s after it`() throws {
    for seed in 100..<160 as Range<UInt64> {
      try expectDeathTold(seed: seed, limit: .milliseconds(20_120))
    }
  }

  /// Method: a program joins; 0.1 s later another one of its identity does. Of the first one
  /// nothing comes for so long.
  @Test(arguments: [0, 1500, 15_000])
  func `a program started anew takes its former stay's place within 3 s`(
    pause: Int64
  ) throws {
    let tea = try room("tea")
    var server = ChannelDirectory(random: RandomSource(seed: 5))
    var now = Instant(nanoseconds: 1_000_000_000)
    let programs = [(1, 1), (2, 2), (1, 3)].map { id, presence in
      ChannelProgram(
        id: PeerID(word0: UInt64(id), word1: 1, word2: 1, word3: 1),
        presence: PresenceID(rawValue: UInt64(presence)))
    }
    for program in programs {
      say(.join(ChannelJoin(role: .host, uid: 0, name: tea.name)), program, tea, &server, now)
      now = now + .milliseconds(100)
    }
    let former = try #require(server.members(of: tea.id).min { $0.joinNumber < $1.joinNumber })
    let start = now
    var gone: Duration?
    for step in 1...300 as ClosedRange<Int64> {
      now = start + .milliseconds(50 * step)
      for program in programs where step % 8 == 0 {
        if program == programs[0], now - start < .milliseconds(pause) { continue }
        say(.sync(RosterPosition(epoch: 0, revision: 0)), program, tea, &server, now)
      }
      server.handleTimeout(now: now)
      while server.pollNotice() != nil {}
      if gone == nil, !server.members(of: tea.id).contains(former) { gone = now - start }
    }
    // Both stay where both are there, also after an outage that a line may have.
    #expect(server.memberCount == (pause < 3000 ? 3 : 2))
    let isSoon = gone.map { $0 >= .seconds(2) && $0 <= .seconds(3) }
    #expect(isSoon == (pause < 3000 ? nil : true), "\(gone ?? .zero)")
  }

  /// Method: one of two programs of an identity leaves; of the other one nothing comes for 10 s.
  @Test(arguments: [true, false])
  func `whose second program has left has the time of all`(isSecond: Bool) throws {
    let tea = try room("tea")
    var server = ChannelDirectory(random: RandomSource(seed: 6))
    var now = Instant(nanoseconds: 1_000_000_000)
    let programs = [1, 2].map { presence in
      ChannelProgram(
        id: PeerID(word0: 1, word1: 1, word2: 1, word3: 1),
        presence: PresenceID(rawValue: presence))
    }
    for program in programs {
      say(.join(ChannelJoin(role: .host, uid: 0, name: tea.name)), program, tea, &server, now)
      now = now + .milliseconds(100)
    }
    say(.leave, programs[isSecond ? 1 : 0], tea, &server, now)
    for _ in 0..<100 {
      now = now + .milliseconds(100)
      server.handleTimeout(now: now)
      while server.pollNotice() != nil {}
    }
    #expect(server.memberCount == 1)
  }

  private func say(
    _ content: ChannelRequest.Content, _ program: ChannelProgram, _ room: ChannelIdentity,
    _ server: inout ChannelDirectory, _ now: Instant
  ) {
    server.handle(
      ChannelRequest(channel: room.id, stay: program.presence.rawValue, number: 0, content),
      from: program, at: ChannelSource(host: 1, network: 2), mayCheck: true,
      unixMilliseconds: 1_000_000, now: now)
    while server.pollNotice() != nil {}
  }

  @Test func `in a large channel a death is told up to 20_6 s after it`() throws {
    var limits = ChannelLimits()
    limits.smallChannel = 1
    for seed in 100..<160 as Range<UInt64> {
      try expectDeathTold(seed: seed, limits, limit: .milliseconds(20_720))
    }
  }

  @Test func `of a full server no channel is small`() throws {
    var limits = ChannelLimits()
    limits.shortPeriods = 1
    let world = ChannelWorld(seed: 9, limits: limits)
    let tea = try room("tea")
    let ends = [world.addEnd(), world.addEnd()]
    for end in ends {
      try end.client.join(tea, as: .host, now: world.now)
      world.run(.seconds(1))
    }
    // The second one says SYNC each second, the first one more than twice.
    let before = ends.map { world.requestCounts[$0.program.presence.rawValue] ?? 0 }
    world.run(.seconds(20))
    let counts = zip(ends, before).map {
      (world.requestCounts[$0.0.program.presence.rawValue] ?? 0) - $0.1
    }
    #expect((46...52).contains(counts[0]) && (18...22).contains(counts[1]), "\(counts)")
  }

  /// The member dies at any time between two of its words.
  private func expectDeathTold(
    seed: UInt64, _ limits: ChannelLimits = ChannelLimits(), limit: Duration
  ) throws {
    let world = ChannelWorld(seed: seed, limits: limits)
    let tea = try room("tea")
    let (alice, bob) = (world.addEnd(), world.addEnd())
    for end in [alice, bob] { try end.client.join(tea, as: .host, now: world.now) }
    world.run(.milliseconds(3000 + Int64(seed * 271 % 1000)))
    let uid = bob.uid(in: tea)
    bob.isAlive = false
    let died = world.now
    world.run(.seconds(25))
    let offline = alice.events.filter { $0.event == .userOffline(uid: uid, .dropped) }
    #expect(offline.count == 1)
    let after = try #require(offline.first).at - died
    #expect(after >= .milliseconds(19_500) && after <= limit, "\(after), seed \(seed)")
  }

  @Test func `who leaves is gone for the others at once`() throws {
    let world = ChannelWorld(seed: 3)
    let tea = try room("tea")
    let (alice, bob) = (world.addEnd(), world.addEnd())
    for end in [alice, bob] { try end.client.join(tea, as: .host, now: world.now) }
    world.run(.seconds(3))
    let uid = bob.uid(in: tea)
    try bob.client.leave(tea.id, now: world.now)
    world.run(.milliseconds(300))
    #expect(alice.all(tea).contains(.userOffline(uid: uid, .quit)))
    let duration = bob.all(tea).compactMap { event -> Duration? in
      if case .left(let duration) = event { return duration }
      return nil
    }
    #expect(duration.count == 1 && duration[0] > .milliseconds(2700))
  }

  @Test func `a host more than there may be is refused, by join and by role`() throws {
    var limits = ChannelLimits()
    limits.hosts = 2
    let world = ChannelWorld(seed: 4, limits: limits)
    let tea = try room("tea")
    let ends = (0..<4).map { _ in world.addEnd() }
    for end in ends[..<2] { try end.client.join(tea, as: .host, now: world.now) }
    world.run(.seconds(1))
    try ends[2].client.join(tea, as: .host, now: world.now)
    try ends[3].client.join(tea, as: .audience, now: world.now)
    world.run(.seconds(1))
    #expect(ends[2].all(tea).last == .stateChanged(.failed, .refused(.tooManyHosts)))
    try ends[3].client.setRole(.host, in: tea.id)
    world.run(.seconds(1))
    #expect(ends[3].all(tea).last == .roleChangeFailed(.tooManyHosts, current: .audience))
    try ends[0].client.setRole(.audience, in: tea.id)
    world.run(.seconds(1))
    #expect(
      ends[1].all(tea).contains(.userOffline(uid: ends[0].uid(in: tea), .becameAudience)))
    try ends[3].client.setRole(.host, in: tea.id)
    world.run(.seconds(1))
    #expect(ends[3].all(tea).last == .roleChanged(from: .audience, to: .host))
  }

  @Test func `the usual limit is 17 hosts, and 64 may be the limit`() throws {
    #expect(ChannelLimits().hosts == 17)
    for hosts in [17, 18, 64] {
      var limits = ChannelLimits()
      limits.hosts = hosts
      let world = ChannelWorld(seed: 5, limits: limits)
      let tea = try room("tea")
      for _ in 0...hosts { try world.addEnd().client.join(tea, as: .host, now: world.now) }
      world.run(.seconds(2))
      #expect(world.server.members(of: tea.id).count == hosts)
      #expect(world.ends.count { $0.client.state(of: tea.id) == .failed } == 1)
    }
  }

  @Test func `a uid is one identity's; its newer stay replaces the older one`() throws {
    let world = ChannelWorld(seed: 6)
    let tea = try room("tea")
    let (alice, bob) = (world.addEnd(), world.addEnd())
    try alice.client.join(tea, as: .host, uid: 7, now: world.now)
    world.run(.seconds(1))
    try bob.client.join(tea, as: .audience, uid: 7, now: world.now)
    world.run(.seconds(1))
    #expect(bob.all(tea).last == .stateChanged(.failed, .refused(.uidTaken)))
    // Another program of the same identity.
    let other = ChannelProgram(id: alice.program.id, presence: PresenceID(rawValue: 99))
    var server = world.server
    let join = ChannelJoin(role: .host, uid: 7, name: tea.name)
    server.handle(
      ChannelRequest(channel: tea.id, stay: 1, number: 0, .join(join)), from: other,
      at: ChannelSource(host: 1, network: 2), mayCheck: true,
      unixMilliseconds: world.unixMilliseconds, now: world.now)
    var told: [ChannelNotice.Content] = []
    while let (to, notice) = server.pollNotice() {
      if to == alice.program, case .gone = notice.content { told.append(notice.content) }
    }
    guard case .gone(_, .replaced)? = told.first else { return #expect(Bool(false), "\(told)") }
    #expect(server.members(of: tea.id).map(\.uid) == [7])
  }

  @Test func `a network cannot fill the server, nor can a program`() throws {
    var limits = ChannelLimits()
    limits.perHost = 3
    limits.perProgram = 2
    let world = ChannelWorld(seed: 7, limits: limits)
    let end = world.addEnd()
    var server = world.server
    var refused = 0
    for index in 0..<4 {
      let name = try room("c\(index)")
      let join = ChannelJoin(role: .audience, uid: 0, name: name.name)
      for program in [end.program, ChannelProgram(id: .zero, presence: .every)] {
        server.handle(
          ChannelRequest(channel: name.id, stay: 1, number: 0, .join(join)), from: program,
          at: ChannelSource(host: 1, network: 2), mayCheck: true,
          unixMilliseconds: world.unixMilliseconds, now: world.now)
      }
    }
    while let (_, notice) = server.pollNotice() {
      if case .result(let result) = notice.content, result.status == .tooManyChannels {
        refused += 1
      }
    }
    #expect(server.memberCount == 3)
    #expect(refused == 5)
    // What is left is free again.
    server.handle(
      ChannelRequest(channel: try room("c0").id, stay: 1, number: 0, .leave), from: end.program,
      at: ChannelSource(host: 1, network: 2), mayCheck: true,
      unixMilliseconds: world.unixMilliseconds, now: world.now)
    #expect(server.memberCount == 2)
  }

  @Test func `an empty channel is forgotten`() throws {
    let world = ChannelWorld(seed: 8)
    let tea = try room("tea")
    let end = world.addEnd()
    try end.client.join(tea, as: .host, now: world.now)
    world.run(.seconds(1))
    #expect(world.server.channelCount == 1)
    try end.client.leave(tea.id, now: world.now)
    world.run(.seconds(1))
    #expect(world.server.channelCount == 0)
    #expect(world.server.nextDeadline == nil)
  }

  @Test func `a notice that was lost is found missing`() throws {
    let world = ChannelWorld(seed: 9)
    let tea = try room("tea")
    let end = world.addEnd()
    try end.client.join(tea, as: .host, now: world.now)
    world.run(.seconds(1))
    var server = world.server
    let notice = ChannelNotice(channel: tea.id, .head(epoch: 1, revision: 1))
    server.handleLoss(of: notice, to: end.program)
    server.handleTimeout(now: world.now + .milliseconds(300))
    let next = server.pollNotice()
    let told = try #require(next)
    #expect(told.to == end.program)
    guard case .head = told.notice.content else { return #expect(Bool(false), "\(told)") }
  }
}
