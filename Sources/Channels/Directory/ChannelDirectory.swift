package import Primitives
internal import Tokens
package import Wire

/// All channels of a rendezvous: who is a member, in which role, and what the members are told
/// (docs/protocol/channels.md). Soft state, bounded by `ChannelLimits`.
package struct ChannelDirectory: Sendable {
  package struct Counters: Sendable {
    package var joins: UInt64 = 0
    package var refusals: UInt64 = 0
    package var departures: UInt64 = 0
    package var removals: UInt64 = 0
    /// Notices that found no place, and requests beyond the rate of a member.
    package var noticesDropped: UInt64 = 0
    package var requestsDropped: UInt64 = 0
  }

  package let limits: ChannelLimits
  package internal(set) var counters = Counters()
  private var random: RandomSource
  /// In places that do not move: their order decides who is told first.
  var rooms: [ChannelRoom?] = []
  private var places: [Bytes32: Int] = [:]
  private var free: [Int] = []
  var counts = MembershipCounts()
  private(set) var bans = ChannelBans()
  /// Bans that whoever owns this has not written down yet.
  private var newBans: [ChannelBan] = []
  /// Members that have lost the right to be there, of which whoever owns this does not know yet.
  var expelled = ExpelledMembers()
  /// The highest that was given.
  package private(set) var lastJoinNumber: UInt64 = 0
  /// Members of other nodes are heard; always where there are none.
  var isInTouch = true
  /// Which life of the server, and how many rooms it has made.
  private let life: UInt32
  private var roomCount: UInt32 = 0
  /// Places of rooms whose members are to be told of something.
  private var unpushed: [Int] = []
  private var sweepDue: Instant?
  private var outgoing: [(to: ChannelProgram, notice: ChannelNotice)] = []
  private var outgoingStart = 0

  package init(limits: ChannelLimits = ChannelLimits(), random: RandomSource) {
    self.limits = limits
    self.random = random
    life = UInt32(truncatingIfNeeded: self.random.next()) | 1
  }

  // MARK: - Inputs

  /// Takes a request of a program whose identity is proven.
  ///
  /// - Parameters:
  ///   - mayCheck: Whether the program's rate allows to check a token for it.
  ///   - unixMilliseconds: What the clock of the server shows.
  package mutating func handle(
    _ request: ChannelRequest, from program: ChannelProgram, at source: ChannelSource,
    mayCheck: Bool, unixMilliseconds: UInt64, now: Instant
  ) {
    let arrival = Arrival(
      request: request, program: program, source: source, mayCheck: mayCheck,
      unixMilliseconds: unixMilliseconds, now: now)
    if case .join(let join) = request.content {
      handle(join, arrival)
    } else {
      handleMember(arrival)
    }
    push(now: now)
  }

  package mutating func handleTimeout(now: Instant) {
    if let due = sweepDue, due <= now { sweep(now: now) }
    push(now: now)
  }

  /// A notice to a program was lost: it is told later that it lacks something.
  package mutating func handleLoss(of notice: ChannelNotice, to program: ChannelProgram) {
    guard let place = places[notice.channel] else { return }
    rooms[place]?.setBehind(program, true)
  }

  // MARK: - Outputs

  package mutating func pollNotice() -> (to: ChannelProgram, notice: ChannelNotice)? {
    guard outgoingStart < outgoing.count else {
      outgoing.removeAll(keepingCapacity: true)
      outgoingStart = 0
      return nil
    }
    defer { outgoingStart += 1 }
    return outgoing[outgoingStart]
  }

  /// The next ban that is to outlive this process; it stays until `removeNewBan`.
  package var newBan: ChannelBan? { newBans.last }

  /// It has been written down.
  package mutating func removeNewBan() { _ = newBans.popLast() }

  /// The next member that was removed or banned, whose token has ended, or whose uid another one
  /// has: it may have a seat at a relay. Or a host that has left its seat, or has become audience:
  /// the channel is `EndedSeat.hosts(of:)` then.
  package mutating func pollExpelled() -> ExpelledMember? { expelled.popLast() }

  package var nextDeadline: Instant? {
    var next = sweepDue
    for place in unpushed { next = earliest(next, rooms[place]?.pushDue(limits)) }
    return next
  }

  /// Keeps an identity out of a channel, and puts out who is in it. Of two ends the later counts.
  package mutating func ban(_ id: PeerID, from channel: Bytes32, until end: Instant, now: Instant) {
    bans.insert(ChannelBan(channel: channel, id: id, until: end), limits, now: now)
    let room = places[channel].flatMap { rooms[$0] }
    expelled.endLostSeat(of: id, in: channel)
    guard let place = places[channel], let room else { return }
    for member in room.members where member.stated.id == id {
      remove(member.uid, .banned, in: place, now: now)
    }
  }

  /// Takes the bans that a store has. Those that it lacks are to be written down anew: it may have
  /// lost them.
  package mutating func merge(_ stored: [ChannelBan], now: Instant) {
    bans.end(now: now)
    var lacking = bans.ends
    let known = lacking
    for ban in stored {
      lacking[ban.place] = nil
      // The same end, read by a clock of milliseconds, is another one by less than that.
      if let end = known[ban.place], end + .seconds(1) >= ban.until { continue }
      self.ban(ban.id, from: ban.channel, until: ban.until, now: now)
    }
    for ban in newBans { lacking[ban.place] = nil }
    for ban in bans.all where lacking[ban.place] != nil { noteNew(ban) }
  }

  // MARK: - Getters

  package var channelCount: Int { places.count }
  package var memberCount: Int { counts.total }

  /// The members of a channel, by rising uid.
  package func members(of channel: Bytes32) -> [ChannelMember] {
    places[channel].flatMap { rooms[$0]?.members.map(\.stated) } ?? []
  }

  // MARK: - Parts

  /// One request and all that is known of where it came from.
  struct Arrival {
    let request: ChannelRequest
    let program: ChannelProgram
    let source: ChannelSource
    let mayCheck: Bool
    let unixMilliseconds: UInt64
    let now: Instant
  }

  func place(of channel: Bytes32) -> Int? { places[channel] }

  /// It is to outlive this process.
  mutating func noteNew(_ ban: ChannelBan) {
    if newBans.count >= limits.bansInAll { newBans.removeFirst() }
    newBans.append(ban)
  }

  mutating func makeRoom(_ identity: ChannelIdentity, by maker: ChannelSource) -> Int {
    roomCount &+= 1
    let epoch = UInt64(roomCount) << 32 | UInt64(life)
    let room = ChannelRoom(identity, epoch: epoch, by: maker)
    counts.addChannel(by: maker)
    let place = free.popLast() ?? rooms.count
    if place == rooms.count { rooms.append(room) } else { rooms[place] = room }
    places[identity.id] = place
    return place
  }

  /// Above all that were given before, and above the server's clock, so over restarts as well.
  mutating func makeJoinNumber(_ unixMilliseconds: UInt64) -> UInt64 {
    lastJoinNumber = max(lastJoinNumber &+ 1, unixMilliseconds)
    return lastJoinNumber
  }

  /// Another node has given it: those that are given next are higher.
  package mutating func raiseJoinNumber(to number: UInt64) {
    lastJoinNumber = max(lastJoinNumber, number)
  }

  /// Random, and in use by nobody in the room.
  mutating func makeUID(in place: Int) -> UInt32 {
    while true {
      let uid = UInt32(truncatingIfNeeded: random.next())
      if uid != 0, rooms[place]?[uid] == nil { return uid }
    }
  }

  mutating func send(_ content: ChannelNotice.Content?, _ channel: Bytes32, to: ChannelProgram) {
    // More than its share.
    guard let content else { return counters.requestsDropped &+= 1 }
    guard outgoing.count - outgoingStart < limits.notices else {
      counters.noticesDropped &+= 1
      return
    }
    outgoing.append((to, ChannelNotice(channel: channel, content)))
  }

  /// The members of a room are to be told of something.
  mutating func noteChange(in place: Int, now: Instant) {
    if !unpushed.contains(place) { unpushed.append(place) }
    if sweepDue == nil { sweepDue = now + limits.sweepInterval }
  }

  /// Tells the members of what has changed, where it is time.
  private mutating func push(now: Instant) {
    var waiting: [Int] = []
    for place in unpushed {
      guard var room = rooms[place], let due = room.pushDue(limits) else { continue }
      guard due <= now else {
        waiting.append(place)
        continue
      }
      let notices = room.takePush(now: now)
      rooms[place] = room
      for notice in notices {
        for member in room.members { send(notice, room.identity.id, to: member.program) }
      }
    }
    unpushed = waiting
  }

  // MARK: - Time

  private mutating func sweep(now: Instant) {
    bans.end(now: now)
    var next = now + limits.sweepInterval
    for place in rooms.indices {
      guard let room = rooms[place] else { continue }
      for member in room.members {
        look(at: member, in: place, room, now: now)
        if member.hostingEnd != nil, rooms[place]?.endHosting(of: member.uid, now: now) == true {
          expelled.append(
            ExpelledMember(
              channel: EndedSeat.hosts(of: room.identity.id), uid: member.uid,
              source: member.source, isOrdinary: true))
        }
        let end = silenceEnd(of: member)
        if end > now { next = min(next, end) }
      }
      forgetIfEmpty(place)
    }
    sweepDue = places.isEmpty ? nil : max(next, now + limits.shortestSweep)
  }

  /// When a member counts as lost.
  private func silenceEnd(of member: RoomMember) -> Instant {
    // Whether another node is in touch shows after 3 s: its members have the longer time.
    let isShort = member.isFollowed && !member.program.isAway
    return member.heard + member.period + (isShort ? limits.followedSilence : limits.silence)
  }

  private mutating func look(
    at member: RoomMember, in place: Int, _ room: ChannelRoom, now: Instant
  ) {
    if let end = member.expires, end <= now {
      remove(member.uid, .expired, in: place, now: now)
    } else if now >= silenceEnd(of: member), isInTouch || !member.program.isAway {
      remove(member.uid, .lost, in: place, now: now)
    } else if member.isBehind {
      rooms[place]?.setBehind(member.program, false)
      send(
        .head(epoch: room.epoch, revision: room.revision), room.identity.id, to: member.program)
    }
  }

  /// Ends a membership; whoever lost it is told, unless it asked for it or is not heard.
  mutating func remove(_ uid: UInt32, _ departure: Departure, in place: Int, now: Instant) {
    guard let channel = rooms[place]?.identity.id,
      let member = rooms[place]?.remove(uid, departure, limits), let room = rooms[place]
    else { return }
    counts.remove(member.program, at: member.source)
    counters.departures &+= 1
    if !departure.isOrdinary {
      send(.gone(stay: member.stay, departure), channel, to: member.program)
      let isRemoval = departure == .removed || departure == .banned
      expelled.append(
        ExpelledMember(channel: channel, uid: uid, source: isRemoval ? nil : member.source))
    } else {
      expelled.handleDeparture(of: member, departure, from: room, limits, now: now)
    }
    noteChange(in: place, now: now)
  }

  mutating func forgetIfEmpty(_ place: Int) {
    guard let room = rooms[place], room.isEmpty else { return }
    places[room.identity.id] = nil
    counts.removeChannel(by: room.maker)
    rooms[place] = nil
    free.append(place)
  }
}
