import Primitives
import Testing
import Wire

@testable import Channels

/// One endpoint and its channels (docs/protocol/channels.md §3, §4).
@Suite struct ChannelClientTests {
  private func joined(_ world: ChannelWorld, _ rooms: ChannelIdentity...) throws
    -> ChannelWorld.End
  {
    let end = world.addEnd()
    for room in rooms { try end.client.join(room, as: .audience, now: world.now) }
    world.run(.seconds(2))
    return end
  }

  @Test func `joining tells the states in order`() throws {
    let world = ChannelWorld(seed: 1)
    let tea = try room("tea")
    let end = try joined(world, tea)
    let events = end.all(tea)
    try #require(events.count == 3)
    #expect(events[0] == .stateChanged(.joining, .joining))
    #expect(events[1] == .stateChanged(.joined, .joinSucceeded))
    guard case .joined(end.uid(in: tea), let elapsed) = events[2] else {
      return #expect(Bool(false), "\(events)")
    }
    #expect(elapsed > .zero && elapsed < .seconds(1))
  }

  @Test(arguments: [3, 6, 12])
  func `an outage is told after 4 s, its loss after 10 s, and nobody goes offline`(
    seconds: Int64
  ) throws {
    let world = ChannelWorld(seed: 2)
    let tea = try room("tea")
    let (end, other) = (try joined(world, tea), try joined(world, tea))
    let start = world.now
    for end in [end, other] { _ = end.take() }
    world.cut(end)
    world.run(.seconds(seconds))
    world.connect(end)
    world.run(.seconds(5))
    let events = end.events.map(\.event)
    #expect(other.events.isEmpty)
    guard seconds > 4 else { return #expect(events.isEmpty, "\(events)") }
    #expect(events.first == .stateChanged(.reconnecting, .interrupted))
    let at = try #require(end.events.first).at - start
    #expect(at >= .milliseconds(3400) && at <= .milliseconds(4600), "\(at)")
    #expect(events.count { $0 == .contactLost } == (seconds > 10 ? 1 : 0))
    #expect(events.suffix(2).first == .stateChanged(.joined, .rejoinSucceeded))
    guard case .rejoined(_, let elapsed)? = events.last else {
      return #expect(Bool(false), "\(events)")
    }
    #expect(elapsed > .seconds(seconds - 5) && elapsed < .seconds(seconds - 3))
  }

  /// Three in a channel, and the rendezvous away for so long.
  private func awayFor(
    _ seconds: Int64, _ world: ChannelWorld, isCarried: Bool
  ) throws -> [ChannelWorld.End] {
    let tea = try room("tea")
    let ends = [try joined(world, tea), try joined(world, tea), try joined(world, tea)]
    world.isServerUp = false
    for end in ends {
      try end.client.setCarried(isCarried, in: tea.id)
      _ = end.take()
      world.disconnect(end)
    }
    world.run(.seconds(seconds))
    return ends
  }

  /// Goal: 20 minutes without the rendezvous end no channel whose sound goes on, and whoever comes
  /// back finds the others there.
  @Test func `without the rendezvous for 1300 s a channel goes on while it is carried`() throws {
    let world = ChannelWorld(seed: 4)
    let tea = try room("tea")
    let ends = try awayFor(1300, world, isCarried: true)
    #expect(ends.allSatisfy { $0.client.state(of: tea.id) == .reconnecting })
    // A rendezvous that has forgotten all; the last one finds it 8 s after the first.
    world.restartServer()
    world.isServerUp = true
    for end in ends {
      world.connect(end)
      world.run(.seconds(4))
    }
    world.run(.seconds(20))
    for end in ends {
      #expect(end.client.state(of: tea.id) == .joined)
      #expect(end.client.members(of: tea.id).count == 3)
      let gone = end.events.filter {
        switch $0.event {
        case .userOffline, .audienceLeft, .audienceJoined: true
        default: false
        }
      }
      #expect(gone.isEmpty, "\(gone)")
    }
  }

  @Test func `what carries no sound, or none any more, ends after 20 minutes`() throws {
    let world = ChannelWorld(seed: 5)
    let tea = try room("tea")
    let others = try awayFor(1300, world, isCarried: false)
    #expect(others.allSatisfy { $0.client.state(of: tea.id) == .failed })
    world.isServerUp = true
    let ends = try awayFor(1100, world, isCarried: true)
    try ends[0].client.setCarried(false, in: tea.id)
    world.run(.seconds(150))
    #expect(ends.map { $0.client.state(of: tea.id) } == [.failed, .reconnecting, .reconnecting])
  }

  @Test func `after 25 s both are new to each other`() throws {
    let world = ChannelWorld(seed: 3)
    let tea = try room("tea")
    let (end, other) = (world.addEnd(), world.addEnd())
    for end in [end, other] { try end.client.join(tea, as: .audience, now: world.now) }
    world.run(.seconds(2))
    let uid = end.uid(in: tea)
    for end in [end, other] { _ = end.take() }
    world.cut(end)
    world.run(.seconds(25))
    world.connect(end)
    world.run(.seconds(2))
    #expect(
      other.take() == [.audienceLeft(uid: uid, .lost), .audienceJoined(uid: uid, end.program.id)])
    #expect(end.client.state(of: tea.id) == .joined)
    #expect(end.uid(in: tea) == uid)
    // Its own stay of before is nobody who left.
    let gone = end.all(tea).filter { $0 == .audienceLeft(uid: uid, .lost) }
    #expect(gone.isEmpty, "\(end.all(tea))")
  }

  @Test func `without an answer it is told after 10 s, and given up after 20 minutes`() throws {
    let world = ChannelWorld(seed: 4)
    let tea = try room("tea")
    world.isServerUp = false
    let end = world.addEnd()
    try end.client.join(tea, as: .host, now: world.now)
    let start = world.now
    world.run(.seconds(1300))
    #expect(
      end.events.map(\.event) == [
        .stateChanged(.joining, .joining), .contactLost, .stateChanged(.failed, .contactLost),
      ])
    #expect(end.events.map { $0.at - start } == [.zero, .seconds(10), .seconds(1200)])
    #expect(end.client.nextDeadline == nil)
    let request = end.client.pollRequest(now: world.now)
    #expect(request == nil)
  }

  @Test func `a restart of the server is nothing that users notice`() throws {
    let world = ChannelWorld(seed: 5)
    let tea = try room("tea")
    let ends = (0..<5).map { _ in world.addEnd() }
    for end in ends { try end.client.join(tea, as: .host, now: world.now) }
    world.run(.seconds(2))
    let uids = ends.map { $0.uid(in: tea) }
    for end in ends { _ = end.take() }
    world.restartServer()
    world.run(.seconds(30))
    // Nobody comes or goes; each is told once of each, itself too, that it is another stay.
    for end in ends {
      let returned = end.all(tea).compactMap { event -> UInt32? in
        if case .returned(let uid) = event { uid } else { nil }
      }
      #expect(Set(returned) == Set(uids) && returned.count == uids.count, "\(returned)")
    }
    #expect(ends.map { $0.uid(in: tea) } == uids)
    #expect(world.server.members(of: tea.id).count == 5)
  }

  @Test func `one channel has the publish slot until it is free`() throws {
    let world = ChannelWorld(seed: 6)
    let (one, two) = (try room("one"), try room("two"))
    let end = world.addEnd()
    try end.client.join(one, as: .host, now: world.now)
    #expect(throws: ChannelRefusal.publishSlotTaken) {
      try end.client.join(two, as: .host, now: world.now)
    }
    try end.client.join(two, as: .audience, now: world.now)
    #expect(throws: ChannelRefusal.alreadyJoined) {
      try end.client.join(two, as: .audience, now: world.now)
    }
    world.run(.seconds(1))
    #expect(throws: ChannelRefusal.publishSlotTaken) { try end.client.setRole(.host, in: two.id) }
    try end.client.setRole(.audience, in: one.id)
    // The slot is ours until the server has said that it is not.
    #expect(throws: ChannelRefusal.publishSlotTaken) { try end.client.setRole(.host, in: two.id) }
    world.run(.seconds(1))
    #expect(end.client.publishing == nil)
    try end.client.setRole(.host, in: two.id)
    #expect(end.client.publishing == two.id)
    try end.client.leave(two.id, now: world.now)
    #expect(end.client.publishing == nil)
    #expect(end.client.channels == [one])
    #expect(throws: ChannelRefusal.unknownChannel) { try end.client.leave(two.id, now: world.now) }
  }

  @Test func `channels know nothing of each other`() throws {
    let world = ChannelWorld(seed: 7)
    let rooms = try (0..<21).map { try room("room-\($0)") }
    let end = world.addEnd()
    let hosts = rooms.map { _ in world.addEnd() }
    for (room, host) in zip(rooms, hosts) {
      try host.client.join(room, as: .host, uid: 5, now: world.now)
      try end.client.join(room, as: .audience, uid: 6, now: world.now)
    }
    world.run(.seconds(3))
    for (room, host) in zip(rooms, hosts) {
      let users = end.all(room).filter { if case .userJoined = $0 { true } else { false } }
      #expect(users.count == 1)
      guard case .userJoined(5, host.program.id, _)? = users.first else {
        return #expect(Bool(false), "\(users)")
      }
    }
    _ = end.take()
    hosts[3].isAlive = false
    world.run(.seconds(25))
    #expect(end.events.count == 1)
    #expect(end.events.first?.channel == rooms[3].id)
    #expect(end.events.first?.event == .userOffline(uid: 5, .dropped))
  }

  @Test func `a roster of several pages is whole`() throws {
    let world = ChannelWorld(seed: 8)
    let tea = try room("tea")
    for _ in 0..<200 { try world.addEnd().client.join(tea, as: .audience, now: world.now) }
    world.run(.seconds(3))
    let late = try joined(world, tea)
    #expect(late.client.members(of: tea.id).count == 201)
    #expect(world.ends[0].client.members(of: tea.id) == world.server.members(of: tea.id))
  }

  @Test func `notices of others' stays, epochs and channels change nothing`() throws {
    let world = ChannelWorld(seed: 9)
    let tea = try room("tea")
    let end = try joined(world, tea)
    let members = end.client.members(of: tea.id)
    _ = end.take()
    let stranger = ChannelMember(uid: 9, role: .host, joinNumber: 1, id: .zero)
    let contents: [ChannelNotice.Content] = [
      .gone(stay: 1, .banned), .head(epoch: 1, revision: 99),
      .changes(RosterChanges(epoch: 1, latest: 2, first: 2, changes: [.present(stranger)])),
      .roster(
        RosterPage(epoch: 1, revision: 99, after: 0, isLast: true, members: [stranger])),
      .result(ChannelResult(stay: 1, number: 0, status: .banned)),
    ]
    for content in contents {
      end.client.handle(ChannelNotice(channel: tea.id, content), now: world.now)
      end.client.handle(ChannelNotice(channel: .zero, content), now: world.now)
    }
    let told = end.client.pollEvent()
    #expect(told == nil)
    #expect(end.client.members(of: tea.id) == members)
    world.run(.seconds(3))
    #expect(end.client.state(of: tea.id) == .joined)
  }
}
