import Primitives
import Tokens
import Wire

/// A member as the server has it.
struct RoomMember {
  var program: ChannelProgram
  let stay: UInt64
  let source: ChannelSource
  var stated: ChannelMember
  var heard: Instant
  /// From one SYNC of it to the next: what WELCOME told it last.
  var period: Duration
  /// Text of the token it has shown last, what that grants, and its end.
  var token: [UInt8] = []
  var grant: TokenGrant?
  var expires: Instant?
  /// The newest request that changed something, and what became of it.
  var answered: ChannelResult?
  /// A notice to it was lost.
  var isBehind = false
  /// Another program of its identity has come since: it may be this one, started anew.
  var isFollowed = false
  /// Until when the grant for a seat at a relay that it was given last is good; `nil` where no
  /// RELAY of it was answered.
  var grantedUntil: Instant?
  /// When its relay is told that it is no host any more: it has become audience.
  var hostingEnd: Instant?
  /// All its requests, those that change its role, and those that draw a part of the roster.
  var meter = RequestMeter()
  var roleMeter = RequestMeter()
  var pageMeter = RequestMeter()

  var uid: UInt32 { stated.uid }

  /// Whether a grant of it may be good.
  func hasSeat(now: Instant) -> Bool { grantedUntil.map { $0 > now } ?? false }

  /// Whether its relay may take it for a host.
  var isHeardAsHost: Bool { stated.role == .host || hostingEnd != nil }
}

/// One channel at a rendezvous: its members, and the latest changes of its roster.
struct ChannelRoom {
  let identity: ChannelIdentity
  /// Which life of the channel.
  let epoch: UInt64
  /// Where the member was that came first: the channel counts for that address until it ends.
  let maker: ChannelSource
  private(set) var revision: UInt64 = 0
  /// By rising uid.
  private(set) var members: [RoomMember] = []
  private(set) var hostCount = 0
  private var uids: [ChannelProgram: UInt32] = [:]
  /// The newest changes; the last one has `revision`.
  private var log: [RosterChange] = []
  private var departed: [(stay: UInt64, departure: Departure)] = []
  /// What the members were told of, and when.
  private(set) var pushed: UInt64 = 0
  private var lastPush: Instant?
  /// Somebody must not hear the others any more, and they do not know.
  private var isUrgent = false
  /// The one that its members were granted last: who comes is to be where they are.
  var relay: PeerID?

  init(_ identity: ChannelIdentity, epoch: UInt64, by maker: ChannelSource) {
    self.identity = identity
    self.epoch = epoch
    self.maker = maker
  }

  // MARK: - Members

  subscript(uid: UInt32) -> RoomMember? {
    get {
      let place = place(of: uid)
      return place < members.count && members[place].uid == uid ? members[place] : nil
    }
    set {
      let place = place(of: uid)
      guard let newValue, place < members.count, members[place].uid == uid else { return }
      members[place] = newValue
    }
  }

  func member(_ program: ChannelProgram) -> RoomMember? { uids[program].flatMap { self[$0] } }

  func departure(of stay: UInt64) -> Departure? {
    departed.last { $0.stay == stay }?.departure
  }

  mutating func insert(_ member: RoomMember, _ limits: ChannelLimits) {
    members.insert(member, at: place(of: member.uid))
    judgeFollowers(of: member.stated.id)
    uids[member.program] = member.uid
    if member.stated.role == .host { hostCount += 1 }
    append(.present(member.stated), limits)
  }

  mutating func remove(
    _ uid: UInt32, _ departure: Departure, _ limits: ChannelLimits
  ) -> RoomMember? {
    let place = place(of: uid)
    guard place < members.count, members[place].uid == uid else { return nil }
    let member = members.remove(at: place)
    uids[member.program] = nil
    if member.stated.role == .host { hostCount -= 1 }
    judgeFollowers(of: member.stated.id)
    append(.gone(uid: uid, departure), limits)
    if departure.endsRight { isUrgent = true }
    if departure != .left, departure != .lost {
      if departed.count >= limits.departed { departed.removeFirst() }
      departed.append((member.stay, departure))
    }
    return member
  }

  /// Which programs of an identity another one has come after.
  private mutating func judgeFollowers(of id: PeerID) {
    let newest = members.lazy.filter { $0.stated.id == id }.map(\.stated.joinNumber).max()
    for index in members.indices where members[index].stated.id == id {
      members[index].isFollowed = members[index].stated.joinNumber != newest
    }
  }

  mutating func setRole(
    _ role: MemberRole, of uid: UInt32, _ limits: ChannelLimits, now: Instant
  ) {
    guard var member = self[uid], member.stated.role != role else { return }
    hostCount += role == .host ? 1 : -1
    member.stated.role = role
    // Until then a host that asks for its former role back has lost nothing at its relay.
    let isSeated = role == .audience && member.hasSeat(now: now)
    member.hostingEnd = isSeated ? now + limits.hostingGrace : nil
    self[uid] = member
    append(.present(member.stated), limits)
  }

  /// Whether a relay is to be told that a member is no host any more; it is told once.
  mutating func endHosting(of uid: UInt32, now: Instant) -> Bool {
    guard let end = self[uid]?.hostingEnd, end <= now else { return false }
    self[uid]?.hostingEnd = nil
    return true
  }

  /// Marks a member as heard; `nil` if it is none, or of another stay.
  mutating func hear(_ program: ChannelProgram, stay: UInt64, now: Instant) -> UInt32? {
    guard let uid = uids[program], self[uid]?.stay == stay else { return nil }
    let place = place(of: uid)
    members[place].heard = now
    members[place].program = program
    return uid
  }

  /// Whether a member's rate allows one request more; if so it is counted.
  mutating func admitRequest(of uid: UInt32, _ limits: ChannelLimits, now: Instant) -> Bool {
    let place = place(of: uid)
    guard place < members.count, members[place].uid == uid else { return false }
    return members[place].meter.admit(limits, nanoseconds: now.nanoseconds)
  }

  /// Members of other nodes count as heard.
  mutating func hearAway(now: Instant) {
    for index in members.indices where members[index].program.isAway { members[index].heard = now }
  }

  /// Nobody is in it any more, and nobody is told.
  mutating func removeAll() -> [RoomMember] {
    defer { members = [] }
    return members
  }

  mutating func setBehind(_ program: ChannelProgram, _ isBehind: Bool) {
    guard let uid = uids[program] else { return }
    members[place(of: uid)].isBehind = isBehind
  }

  /// Whether it may be forgotten.
  var isEmpty: Bool { members.isEmpty }

  // MARK: - The roster

  private mutating func append(_ change: RosterChange, _ limits: ChannelLimits) {
    revision += 1
    if log.count >= limits.changes { log.removeFirst() }
    log.append(change)
  }

  /// What a member that knows `position` lacks (docs/protocol/channels.md §4); `nil` where it has
  /// drawn more than its share.
  mutating func answer(
    _ uid: UInt32, to position: RosterPosition, _ limits: ChannelLimits, now: Instant
  ) -> ChannelNotice.Content? {
    guard position != RosterPosition(epoch: epoch, revision: revision) else {
      return .head(epoch: epoch, revision: revision)
    }
    let isPaced = self[uid]?.pageMeter.admit(
      perSecond: limits.pagesPerSecond, burst: limits.pageBurst, nanoseconds: now.nanoseconds)
    return isPaced == true ? answer(to: position) : nil
  }

  private func answer(to position: RosterPosition) -> ChannelNotice.Content {
    guard position.after == 0, position.epoch == epoch, position.revision <= revision else {
      return .roster(page(after: position.after))
    }
    return changes(after: position.revision) ?? .roster(page(after: 0))
  }

  /// At most one message of changes; `nil` if they are not kept any more.
  private func changes(after known: UInt64) -> ChannelNotice.Content? {
    let first = revision - UInt64(log.count) + 1
    guard known + 1 >= first, known < revision else { return nil }
    let rest = log[Int(known + 1 - first)...].prefix(RosterChanges.limit)
    return .changes(
      RosterChanges(epoch: epoch, latest: revision, first: known + 1, changes: Array(rest)))
  }

  private func page(after uid: UInt32) -> RosterPage {
    var start = place(of: uid)
    if start < members.count, members[start].uid == uid { start += 1 }
    let rest = members[start...]
    return RosterPage(
      epoch: epoch, revision: revision, after: uid, isLast: rest.count <= RosterPage.limit,
      members: rest.prefix(RosterPage.limit).map(\.stated))
  }

  /// When the members are to be told of what has changed; `nil` if they have been.
  func pushDue(_ limits: ChannelLimits) -> Instant? {
    guard pushed < revision else { return nil }
    // A full message costs no more sooner, and of the changes only the newest are kept.
    let isFull = revision - pushed >= RosterChanges.limit
    let wait = isFull || isUrgent ? limits.pushInterval : pushInterval(limits)
    return lastPush.map { $0 + wait } ?? .zero
  }

  /// From one push to the next: in proportion to the copies that it makes.
  private func pushInterval(_ limits: ChannelLimits) -> Duration {
    let share = max(1, limits.promptMembers)
    guard members.count > share else { return limits.pushInterval }
    return min(limits.pushInterval * members.count / share, limits.longestPushInterval)
  }

  /// What the members were not told of yet: they count as told now.
  mutating func takePush(now: Instant) -> [ChannelNotice.Content] {
    var notices: [ChannelNotice.Content] = []
    // What is not kept any more each of them finds missing, and asks for.
    pushed = max(pushed, revision - UInt64(log.count))
    while pushed < revision, let notice = changes(after: pushed) {
      notices.append(notice)
      guard case .changes(let changes) = notice else { break }
      pushed += UInt64(changes.changes.count)
    }
    lastPush = now
    isUrgent = false
    return notices
  }

  /// Where the uid stands, or would.
  private func place(of uid: UInt32) -> Int {
    var low = 0
    var high = members.count
    while low < high {
      let middle = (low + high) / 2
      if members[middle].uid < uid { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

extension Departure {
  /// Whether others are to make fresh keys at once. A newer stay that has the uid is the same
  /// identity's, unless a token says otherwise.
  var endsRight: Bool {
    switch self {
    case .expired, .removed, .banned: true
    case .left, .lost, .replaced: false
    }
  }
}
