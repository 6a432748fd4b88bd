import Primitives
import Testing
import Wire

@testable import Channels

/// A roster's copy and how it is shown, step by step (docs/protocol/channels.md §4).
@Suite struct RosterTests {
  private static let now = Instant(nanoseconds: 1_000_000_000)

  private static func member(
    _ uid: UInt32, joined: UInt64 = 1, of identity: UInt64? = nil
  ) -> ChannelMember {
    ChannelMember(
      uid: uid, role: .host, joinNumber: joined,
      id: PeerID(word0: identity ?? UInt64(uid), word1: 0, word2: 0, word3: 0))
  }

  private static func changes(
    _ first: UInt64, latest: UInt64? = nil, _ changes: [RosterChange]
  ) -> RosterChanges {
    RosterChanges(
      epoch: 9, latest: latest ?? first + UInt64(changes.count) - 1, first: first, changes: changes)
  }

  @Test func `changes are applied in their order, whatever the order of their coming`() {
    var roster = RosterCopy(limits: ChannelLimits())
    roster.begin(9)
    _ = roster.handle(Self.changes(3, [.gone(uid: 1, .left)]), now: Self.now)
    #expect(!roster.isComplete && roster.lackingSince == Self.now)
    _ = roster.handle(Self.changes(2, [.present(Self.member(2))]), now: Self.now)
    _ = roster.handle(Self.changes(1, [.present(Self.member(1))]), now: Self.now)
    #expect(roster.isComplete && roster.lackingSince == nil)
    #expect(Array(roster.members.keys) == [2])
    let (first, second) = (roster.takeReasons(), roster.takeReasons())
    #expect(first == [1: .left] && second.isEmpty)
  }

  @Test func `the next change has room, however many wait`() {
    var limits = ChannelLimits()
    limits.ahead = 2
    var roster = RosterCopy(limits: limits)
    roster.begin(9)
    for revision in UInt64(3)...6 {
      _ = roster.handle(Self.changes(revision, [.present(Self.member(9))]), now: Self.now)
    }
    _ = roster.handle(
      Self.changes(1, [.present(Self.member(1)), .present(Self.member(2))]), now: Self.now)
    #expect(roster.position.revision == 4)
  }

  @Test func `a message without room for all says that there is more`() {
    var roster = RosterCopy(limits: ChannelLimits())
    roster.begin(9)
    let isPart = roster.handle(
      Self.changes(1, latest: 5, [.present(Self.member(1))]), now: Self.now)
    #expect(isPart && !roster.isComplete)
  }

  @Test func `pages make a whole with the changes that came meanwhile`() {
    var roster = RosterCopy(limits: ChannelLimits())
    roster.begin(9)
    let wantsMore = roster.handle(
      RosterPage(
        epoch: 9, revision: 10, after: 0, isLast: false,
        members: [Self.member(1), Self.member(2)]), now: Self.now)
    #expect(wantsMore && roster.position == RosterPosition(epoch: 9, revision: 0, after: 2))
    _ = roster.handle(Self.changes(11, [.gone(uid: 1, .left)]), now: Self.now)
    // The second page is one change younger than the first.
    let wantsAnother = roster.handle(
      RosterPage(epoch: 9, revision: 11, after: 2, isLast: true, members: [Self.member(5)]),
      now: Self.now)
    #expect(!wantsAnother && roster.isComplete)
    #expect(roster.members.keys.sorted() == [2, 5])
  }

  @Test func `a roster without end is not kept`() {
    var limits = ChannelLimits()
    limits.members = 3
    var roster = RosterCopy(limits: limits)
    roster.begin(9)
    for first in stride(from: UInt32(1), to: 9, by: 2) {
      _ = roster.handle(
        RosterPage(
          epoch: 9, revision: 10, after: first - 1, isLast: false,
          members: [Self.member(first), Self.member(first + 1)]), now: Self.now)
    }
    #expect(roster.position.after == 2)
  }

  @Test func `reasons of uids without end are not kept`() {
    var limits = ChannelLimits()
    limits.members = 3
    var roster = RosterCopy(limits: limits)
    roster.begin(9)
    for revision in UInt64(1)...100 {
      _ = roster.handle(
        Self.changes(revision, latest: 1000, [.gone(uid: UInt32(revision), .left)]), now: Self.now)
    }
    let reasons = roster.takeReasons()
    #expect(reasons == [1: .left, 2: .left, 3: .left])
  }

  @Test func `a server that begins anew again and again fills no memory`() {
    var view = RosterView()
    for start in UInt32(1)...4 {
      var roster = RosterCopy(limits: ChannelLimits())
      roster.begin(UInt64(start))
      let members = (0..<2048).map { Self.member(start * 4096 + $0) }
      _ = roster.handle(
        RosterPage(epoch: UInt64(start), revision: 1, after: 0, isLast: true, members: members),
        now: Self.now)
      _ = view.update(to: roster, reasons: [:], awaitingUntil: Self.now + .seconds(20))
    }
    #expect(view.members.count == 4096 + 2048)
  }

  @Test func `after a new start of the server the missing are kept for a while`() {
    var view = RosterView()
    var roster = RosterCopy(limits: ChannelLimits())
    roster.begin(0x1_0000_0001)
    _ = roster.handle(
      RosterChanges(
        epoch: 0x1_0000_0001, latest: 2, first: 1,
        changes: [.present(Self.member(1)), .present(Self.member(2))]), now: Self.now)
    let both = view.update(to: roster, reasons: [:], awaitingUntil: Self.now)
    #expect(both.count == 2)
    roster.begin(0x1_0000_0002)
    _ = roster.handle(
      RosterChanges(
        epoch: 0x1_0000_0002, latest: 1, first: 1, changes: [.present(Self.member(1, joined: 8))]),
      now: Self.now)
    let end = Self.now + .seconds(5)
    let steps = view.update(to: roster, reasons: [:], awaitingUntil: end)
    #expect(steps == [.changed(from: Self.member(1), Self.member(1, joined: 8))])
    #expect(view.members.count == 2 && view.nextDeadline == end)
    let (early, late) = (view.endWaiting(now: Self.now), view.endWaiting(now: end))
    #expect(early.isEmpty && late == [.disappeared(Self.member(2), .lost)])
    #expect(view.members == [Self.member(1, joined: 8)])
  }

  /// Goal: who is banned after a new start of the server does not hear on as its stay of before,
  /// which hosts keep for 20 s and give their fresh keys.
  /// Method: member 2 is back with the uid 9, and is banned.
  @Test(arguments: [Departure.banned, .removed, .expired])
  func `a former stay is not kept where its identity has lost the right`(departure: Departure) {
    var view = RosterView()
    var roster = RosterCopy(limits: ChannelLimits())
    func show(_ first: UInt64, _ changes: [RosterChange], isOther: Bool) -> [RosterView.Step] {
      let epoch: UInt64 = isOther ? 0x1_0000_0002 : 0x1_0000_0001
      roster.begin(epoch)
      _ = roster.handle(
        RosterChanges(
          epoch: epoch, latest: first + UInt64(changes.count) - 1, first: first, changes: changes),
        now: Self.now)
      let (reasons, expelled) = (roster.takeReasons(), roster.takeExpelled())
      return view.update(
        to: roster, reasons: reasons, expelled: expelled, awaitingUntil: Self.now + .seconds(20))
    }
    _ = show(1, (1...3).map { .present(Self.member($0)) }, isOther: false)
    _ = show(1, [.present(Self.member(1, joined: 8))], isOther: true)
    #expect(view.members.map(\.uid) == [1, 2, 3])
    _ = show(2, [.present(Self.member(9, of: 2))], isOther: true)
    #expect(view.members.map(\.uid) == [1, 2, 3, 9])
    let steps = show(3, [.gone(uid: 9, departure)], isOther: true)
    #expect(view.members.map(\.uid) == [1, 3])
    #expect(
      steps == [
        .disappeared(Self.member(2), departure),
        .disappeared(Self.member(9, of: 2), departure),
      ])
    // Also where it was there only between two looks.
    let changes: [RosterChange] = [
      .present(Self.member(10, of: 3)), .gone(uid: 10, departure),
    ]
    let last = show(4, changes, isOther: true)
    #expect(last == [.disappeared(Self.member(3), departure)])
  }

  @Test func `who leaves takes no former stay with it`() {
    var roster = RosterCopy(limits: ChannelLimits())
    roster.begin(9)
    _ = roster.handle(
      Self.changes(
        1, [.present(Self.member(1)), .gone(uid: 1, .left), .gone(uid: 7, .banned)]),
      now: Self.now)
    let expelled = roster.takeExpelled()
    #expect(expelled.isEmpty)
  }

  @Test func `bans are remembered until they end, as many as there may be`() {
    var limits = ChannelLimits()
    limits.bans = 2
    limits.bansInAll = 3
    var bans = ChannelBans()
    let channels = [UInt8(1), 2].map { Bytes32(InlineArray(repeating: $0)) }
    func id(_ number: UInt64) -> PeerID { PeerID(word0: number, word1: 0, word2: 0, word3: 0) }
    func isBanned(_ number: UInt64, _ place: Int) -> Bool {
      bans.contains(id(number), in: channels[place], now: Self.now)
    }
    for number in UInt64(1)...3 {
      let ban = ChannelBan(
        channel: channels[0], id: id(number), until: Self.now + .seconds(Int64(number)))
      bans.insert(ban, limits, now: Self.now)
      #expect(isBanned(number, 0) && !isBanned(number, 1))
    }
    #expect(!isBanned(1, 0) && bans.count == 2)
    for number in UInt64(4)...5 {
      let ban = ChannelBan(
        channel: channels[1], id: id(number), until: Self.now + .seconds(Int64(number)))
      bans.insert(ban, limits, now: Self.now)
    }
    #expect(bans.count == 3 && !isBanned(2, 0) && isBanned(3, 0) && isBanned(5, 1))
    bans.end(now: Self.now + .seconds(4))
    #expect(bans.count == 1 && isBanned(5, 1))
  }

  @Test func `who bans many in channels of its own displaces nobody else's`() {
    var limits = ChannelLimits()
    limits.bans = 4
    limits.bansInAll = 9
    var bans = ChannelBans()
    func channel(_ number: UInt8) -> Bytes32 { Bytes32(InlineArray(repeating: number)) }
    func id(_ number: Int) -> PeerID { PeerID(word0: UInt64(number), word1: 0, word2: 0, word3: 0) }
    bans.insert(
      ChannelBan(channel: channel(0), id: id(0), until: Self.now + .seconds(1)), limits,
      now: Self.now)
    for number in 1...400 {
      let other = channel(UInt8(1 + number % 4))
      bans.insert(
        ChannelBan(channel: other, id: id(number), until: Self.now + .seconds(99)), limits,
        now: Self.now)
    }
    #expect(bans.count == 9 && bans.contains(id(0), in: channel(0), now: Self.now))
  }

  @Test func `a room remembers removed stays, as many as it may`() throws {
    var limits = ChannelLimits()
    limits.departed = 1
    let source = ChannelSource(host: 1, network: 1)
    var room = ChannelRoom(try #require(ChannelIdentity("tea")), epoch: 5, by: source)
    for stay in UInt64(1)...2 {
      let program = ChannelProgram(id: .zero, presence: PresenceID(rawValue: stay))
      room.insert(
        RoomMember(
          program: program, stay: stay, source: source, stated: Self.member(UInt32(stay)),
          heard: Self.now, period: .seconds(1)), limits)
      _ = room.remove(UInt32(stay), .removed, limits)
    }
    #expect(room.departure(of: 1) == nil && room.departure(of: 2) == .removed)
  }

  @Test func `contact asks each period, whatever is heard meanwhile`() {
    var contact = ChannelContact(limits: ChannelLimits(), now: Self.now)
    contact.noteRequest(now: Self.now)
    for tick in Int64(1)...9 { contact.hear(now: Self.now + .milliseconds(tick * 100)) }
    #expect(contact.requestDue == Self.now + .seconds(1))
    #expect(!contact.isInterrupted(now: Self.now + .seconds(5)))
    #expect(contact.isInterrupted(now: Self.now + .milliseconds(5400)))
  }

  @Test func `a token is warned of once, and again after a renewal`() {
    var token = ChannelToken([1], limits: ChannelLimits())
    token.handleLife(60_000, now: Self.now)
    token.handleLife(60_000, now: Self.now)
    let warnings = [29_999, 30_000, 31_000].map {
      token.takeWarning(now: Self.now + .milliseconds($0))
    }
    #expect(warnings == [false, true, false])
    token.handleRenewal([2], 60_000, now: Self.now + .seconds(40))
    #expect(token.text == [2] && token.warning == Self.now + .seconds(70))
  }

  @Test func `commands go one after the other, and again until there is a result`() {
    var commands = CommandQueue()
    let areTaken = [.role(.host), .proof(uid: 1), .proof(uid: 2)].map {
      commands.append($0, limit: 2)
    }
    #expect(areTaken == [true, true, false] && commands.wantsHost)
    let first = commands.takeDue(now: Self.now, repetition: .seconds(1))
    #expect(first?.number == 1)
    let early = commands.takeDue(now: Self.now, repetition: .seconds(1))
    #expect(early == nil)
    let again = commands.takeDue(now: Self.now + .seconds(1), repetition: .seconds(1))
    #expect(again?.number == 1)
    let wrong = commands.finish(2)
    let right = commands.finish(1)
    #expect(wrong == nil && right == .role(.host))
    let proof = commands.takeDue(now: Self.now, repetition: .seconds(1))
    #expect(proof?.content == .proof(uid: 1) && commands.due == nil)
  }

  @Test func `the roster of a full channel is drawn twice at once, then at a pace`() throws {
    let limits = ChannelLimits()
    var directory = ChannelDirectory(limits: limits, random: RandomSource(seed: 1))
    let tea = try #require(ChannelIdentity("tea"))
    let program = ChannelProgram(id: .zero, presence: PresenceID(rawValue: 1))
    /// - Returns: How many pages were sent.
    func ask(_ content: ChannelRequest.Content, _ now: Instant) -> Int {
      directory.handle(
        ChannelRequest(channel: tea.id, stay: 1, number: 0, content), from: program,
        at: ChannelSource(host: 1, network: 1), mayCheck: true, unixMilliseconds: 1, now: now)
      var count = 0
      while let (_, notice) = directory.pollNotice() {
        if case .roster = notice.content { count += 1 }
      }
      return count
    }
    let join = ChannelRequest.Content.join(ChannelJoin(role: .host, uid: 0, name: tea.name))
    var pages = ask(join, Self.now)
    // Nobody may draw it by JOIN instead.
    for number in 0..<180 {
      pages += ask(number % 2 == 0 ? join : .sync(RosterPosition()), Self.now)
    }
    #expect(pages == limits.pageBurst && directory.counters.requestsDropped == 181 - 128)
    var later = 0
    for step in 1...50 {
      later += ask(.sync(RosterPosition()), Self.now + .milliseconds(Int64(step) * 100))
    }
    #expect((49...50).contains(later), "\(later)")
    // Who asks what it has is answered all the same, and so stays in the channel.
    #expect(ask(.sync(RosterPosition()), Self.now + .milliseconds(5_010)) == 0)
    #expect(directory.memberCount == 1)
  }

  @Test func `a member that floods is dropped, not served`() throws {
    var limits = ChannelLimits()
    limits.requestBurst = 5
    limits.requestsPerSecond = 1
    var directory = ChannelDirectory(limits: limits, random: RandomSource(seed: 1))
    let tea = try #require(ChannelIdentity("tea"))
    let program = ChannelProgram(id: .zero, presence: PresenceID(rawValue: 1))
    func ask(_ content: ChannelRequest.Content) {
      directory.handle(
        ChannelRequest(channel: tea.id, stay: 1, number: 0, content), from: program,
        at: ChannelSource(host: 1, network: 1), mayCheck: true, unixMilliseconds: 1, now: Self.now)
    }
    ask(.join(ChannelJoin(role: .host, uid: 0, name: tea.name)))
    for _ in 0..<20 { ask(.sync(RosterPosition())) }
    #expect(directory.counters.requestsDropped == 15)
    #expect(directory.counters.joins == 1 && directory.memberCount == 1)
  }
}
