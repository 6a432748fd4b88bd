package import Primitives
package import Tokens
package import Wire

/// What members, and those who want to be, ask for (docs/protocol/channels.md §3, §5, §6).
extension ChannelDirectory {
  // MARK: - JOIN

  mutating func handle(_ join: ChannelJoin, _ arrival: Arrival) {
    let request = arrival.request
    let identity = ChannelIdentity(name: join.name, key: join.key.map { TokenPublicKey(bytes: $0) })
    guard identity.id == request.channel else { return refuse(arrival, .wrongChannel) }
    if let place = place(of: identity.id) {
      if let departure = rooms[place]?.departure(of: request.stay) {
        return send(
          .gone(stay: request.stay, departure), identity.id, to: arrival.program)
      }
      if let uid = rooms[place]?.hear(arrival.program, stay: request.stay, now: arrival.now) {
        guard admitRequest(of: uid, in: place, now: arrival.now) else { return }
        return welcome(uid, in: place, join, arrival)
      }
    }
    guard arrival.mayCheck else { return refuse(arrival, .tooManyRequests) }
    var grant: TokenGrant?
    do throws(TokenFault) {
      grant = try checkedGrant(join.token, identity, join.role, arrival)
    } catch {
      return refuse(arrival, .token(join.token.isEmpty ? nil : error))
    }
    if let only = grant?.uid, join.uid != 0, join.uid != only {
      return refuse(arrival, .token(.scope))
    }
    let wish = Wish(uid: grant?.uid ?? join.uid, isGranted: grant?.uid != nil, role: join.role)
    if let status = refusal(of: wish, identity, arrival) { return refuse(arrival, status) }
    admit(wish, identity, join, grant, arrival)
  }

  /// What somebody who joins is to be.
  private struct Wish {
    /// 0 = any.
    let uid: UInt32
    /// The token names the uid.
    let isGranted: Bool
    let role: MemberRole
  }

  private func checkedGrant(
    _ token: [UInt8], _ identity: ChannelIdentity, _ role: MemberRole, _ arrival: Arrival
  ) throws(TokenFault) -> TokenGrant? {
    try identity.rule(for: role)?.check(
      token, of: arrival.program.id, unixMilliseconds: arrival.unixMilliseconds)
  }

  /// Why somebody may not join; `nil` if nothing is in the way.
  private func refusal(
    of wish: Wish, _ identity: ChannelIdentity, _ arrival: Arrival
  ) -> ChannelStatus? {
    let program = arrival.program
    if bans.contains(program.id, in: identity.id, now: arrival.now) { return .banned }
    guard let place = place(of: identity.id), let room = rooms[place] else {
      let hasRoom =
        channelCount < limits.channels && counts.hasRoomToMake(at: arrival.source, limits)
        && counts.hasRoom(for: program, at: arrival.source, limits)
      return hasRoom ? nil : .tooManyChannels
    }
    // Those that would make room for it.
    var leaving: [RoomMember] = []
    if let former = room.member(program) { leaving.append(former) }
    if wish.uid != 0, let holder = room[wish.uid], holder.program != program {
      guard wish.isGranted || holder.program.id == program.id else { return .uidTaken }
      leaving.append(holder)
    }
    guard counts.hasRoom(for: program, at: arrival.source, after: leaving, limits) else {
      return .tooManyChannels
    }
    guard room.members.count - leaving.count < limits.members else { return .channelFull }
    let hosts = room.hostCount - leaving.count { $0.stated.role == .host }
    return wish.role == .host && hosts >= limits.hosts ? .tooManyHosts : nil
  }

  private mutating func admit(
    _ wish: Wish, _ identity: ChannelIdentity, _ join: ChannelJoin, _ grant: TokenGrant?,
    _ arrival: Arrival
  ) {
    let now = arrival.now
    let place = place(of: identity.id) ?? makeRoom(identity, by: arrival.source)
    if let former = rooms[place]?.member(arrival.program) {
      remove(former.uid, .left, in: place, now: now)
    }
    if wish.uid != 0, rooms[place]?[wish.uid] != nil {
      remove(wish.uid, .replaced, in: place, now: now)
    }
    let uid = wish.uid != 0 ? wish.uid : makeUID(in: place)
    var member = RoomMember(
      program: arrival.program, stay: arrival.request.stay, source: arrival.source,
      stated: ChannelMember(
        uid: uid, role: wish.role, joinNumber: makeJoinNumber(arrival.unixMilliseconds),
        id: arrival.program.id),
      heard: now, period: limits.period)
    member.token = join.token
    member.grant = grant
    member.expires = grant.map { now + $0.life }
    expelled.reclaimSeat(of: &member, in: rooms[place], limits, now: now)
    rooms[place]?.insert(member, limits)
    counts.add(member.program, at: member.source)
    counters.joins &+= 1
    noteChange(in: place, now: now)
    welcome(uid, in: place, join, arrival)
  }

  private mutating func welcome(
    _ uid: UInt32, in place: Int, _ join: ChannelJoin, _ arrival: Arrival
  ) {
    guard let room = rooms[place], var member = room[uid] else { return }
    let isSmall =
      room.members.count <= limits.smallChannel && counts.total <= limits.shortPeriods
    member.period = isSmall ? limits.shortPeriod : limits.period
    rooms[place]?[uid] = member
    let life = member.expires.map { UInt32(clamping: max(1, ($0 - arrival.now).milliseconds)) }
    let welcome = ChannelWelcome(
      stay: member.stay, number: arrival.request.number, uid: uid, role: member.stated.role,
      joinNumber: member.stated.joinNumber, epoch: room.epoch,
      period: UInt16(clamping: member.period.milliseconds),
      tokenLife: life ?? ChannelWelcome.unlimited)
    send(.welcome(welcome), room.identity.id, to: arrival.program)
    let known = RosterPosition(epoch: join.epoch, revision: join.revision)
    let answer = rooms[place]?.answer(uid, to: known, limits, now: arrival.now)
    send(answer, room.identity.id, to: arrival.program)
  }

  private mutating func refuse(_ arrival: Arrival, _ status: ChannelStatus) {
    answer(arrival.request, status, to: arrival.program)
  }

  // MARK: - Members

  mutating func handleMember(_ arrival: Arrival) {
    let (request, program, now) = (arrival.request, arrival.program, arrival.now)
    guard let place = place(of: request.channel),
      let uid = rooms[place]?.hear(program, stay: request.stay, now: now)
    else { return answerStranger(arrival) }
    guard admitRequest(of: uid, in: place, now: now), let member = rooms[place]?[uid] else {
      return
    }
    switch request.content {
    case .join: return
    case .leave:
      remove(uid, .left, in: place, now: now)
    case .sync(let position):
      // Another node has had the channel meanwhile, and the program is a member of that life of it.
      guard !program.isAway || position.epoch == rooms[place]?.epoch else {
        return send(.gone(stay: member.stay, .lost), request.channel, to: program)
      }
      let answer = rooms[place]?.answer(uid, to: position, limits, now: now)
      send(answer, request.channel, to: program)
    case .proof(let other):
      guard let other = rooms[place]?[other] else { return refuse(arrival, .unknownMember) }
      send(
        .proven(uid: other.uid, joinNumber: other.stated.joinNumber, token: other.token),
        request.channel, to: program)
    case .role, .renew, .remove: change(member, in: place, arrival)
    case .relay, .relayLost: return  // Whoever owns this answers: `seat(for:from:now:)`.
    }
  }

  /// What somebody who asks for a relay is here, and where it came from; `nil` if it is no member,
  /// or asks too often.
  package mutating func seat(
    for request: ChannelRequest, from program: ChannelProgram, now: Instant
  ) -> (claim: SeatClaim, source: ChannelSource)? {
    guard let place = place(of: request.channel),
      let uid = rooms[place]?.hear(program, stay: request.stay, now: now),
      admitRequest(of: uid, in: place, now: now), let member = rooms[place]?[uid]
    else { return nil }
    return (SeatClaim(channel: request.channel, uid: uid, role: member.stated.role), member.source)
  }

  /// Whether a member's rate allows one request more; who asks too often is not answered.
  private mutating func admitRequest(of uid: UInt32, in place: Int, now: Instant) -> Bool {
    if rooms[place]?.admitRequest(of: uid, limits, now: now) == true { return true }
    counters.requestsDropped &+= 1
    return false
  }

  /// The relay that members of a channel were granted last.
  package func relay(of channel: Bytes32) -> PeerID? {
    place(of: channel).flatMap { rooms[$0]?.relay }
  }

  /// Members are granted that one from now on.
  package mutating func setRelay(_ relay: PeerID, of channel: Bytes32) {
    guard let place = place(of: channel) else { return }
    rooms[place]?.relay = relay
  }

  /// A member is given a grant for a seat, good until `end`.
  package mutating func handleGrant(of seat: SeatClaim, until end: Instant) {
    guard let place = place(of: seat.channel) else { return }
    rooms[place]?[seat.uid]?.grantedUntil = end
  }

  package mutating func answer(
    _ request: ChannelRequest, _ grant: ChannelRelayGrant, to program: ChannelProgram
  ) {
    send(.relay(grant), request.channel, to: program)
  }

  package mutating func answer(
    _ request: ChannelRequest, _ status: ChannelStatus, to program: ChannelProgram
  ) {
    counters.refusals &+= 1
    send(
      .result(ChannelResult(stay: request.stay, number: request.number, status: status)),
      request.channel, to: program)
  }

  /// Somebody who is no member, or no more.
  private mutating func answerStranger(_ arrival: Arrival) {
    if case .leave = arrival.request.content { return }
    let request = arrival.request
    let known = place(of: request.channel).flatMap { rooms[$0]?.departure(of: request.stay) }
    send(.gone(stay: request.stay, known ?? .lost), request.channel, to: arrival.program)
  }

  /// Requests that change something: each is done once, and answered as often as it comes.
  private mutating func change(_ member: RoomMember, in place: Int, _ arrival: Arrival) {
    let request = arrival.request
    if let answered = member.answered, request.number <= answered.number {
      if request.number == answered.number {
        send(.result(answered), request.channel, to: arrival.program)
      }
      return
    }
    var result = ChannelResult(stay: member.stay, number: request.number, status: .done)
    switch request.content {
    case .role(let role): result.status = setRole(role, of: member, in: place, arrival)
    case .renew(let token): renew(token, of: member, in: place, arrival, &result)
    case .remove(let uid, let banSeconds):
      result.status = remove(uid, banSeconds, for: member, in: place, arrival)
    case .join, .leave, .sync, .proof, .relay, .relayLost: return
    }
    if result.status != .done { counters.refusals &+= 1 }
    if result.status != .tooManyRequests, var changed = rooms[place]?[member.uid] {
      changed.answered = result
      rooms[place]?[member.uid] = changed
    }
    send(.result(result), request.channel, to: arrival.program)
  }

  private mutating func setRole(
    _ role: MemberRole, of member: RoomMember, in place: Int, _ arrival: Arrival
  ) -> ChannelStatus {
    guard let room = rooms[place], member.stated.role != role else { return .done }
    if room.identity.key != nil, member.grant?.permits(role.scope) != true {
      return .token(.scope)
    }
    if role == .host, room.hostCount >= limits.hosts { return .tooManyHosts }
    let isPaced = rooms[place]?[member.uid]?.roleMeter.admit(
      perSecond: limits.rolesPerSecond, burst: limits.roleBurst,
      nanoseconds: arrival.now.nanoseconds)
    guard isPaced == true else { return .tooManyRequests }
    rooms[place]?.setRole(role, of: member.uid, limits, now: arrival.now)
    noteChange(in: place, now: arrival.now)
    return .done
  }

  private mutating func renew(
    _ token: [UInt8], of member: RoomMember, in place: Int, _ arrival: Arrival,
    _ result: inout ChannelResult
  ) {
    guard arrival.mayCheck else { return result.status = .tooManyRequests }
    guard let identity = rooms[place]?.identity, identity.key != nil else { return }
    do throws(TokenFault) {
      guard let grant = try checkedGrant(token, identity, member.stated.role, arrival) else {
        return
      }
      guard grant.uid ?? member.uid == member.uid else { throw .scope }
      guard var changed = rooms[place]?[member.uid] else { return }
      changed.token = token
      changed.grant = grant
      changed.expires = arrival.now + grant.life
      rooms[place]?[member.uid] = changed
      result.tokenLife = UInt32(clamping: max(1, grant.life.milliseconds))
    } catch {
      result.status = .token(token.isEmpty ? nil : error)
    }
  }

  private mutating func remove(
    _ uid: UInt32, _ banSeconds: UInt32, for member: RoomMember, in place: Int,
    _ arrival: Arrival
  ) -> ChannelStatus {
    guard let room = rooms[place], member.grant?.permits(ChannelIdentity.manage) == true else {
      return .notPermitted
    }
    guard let target = room[uid] else { return .unknownMember }
    counters.removals &+= 1
    guard banSeconds > 0 else {
      remove(uid, .removed, in: place, now: arrival.now)
      return .done
    }
    let end = arrival.now + .seconds(Int64(min(banSeconds, limits.longestBan)))
    noteNew(ChannelBan(channel: room.identity.id, id: target.stated.id, until: end))
    ban(target.stated.id, from: room.identity.id, until: end, now: arrival.now)
    return .done
  }
}

extension TokenGrant {
  /// An interval of this host's monotonic clock.
  var life: Duration { .milliseconds(Int64(clamping: min(remainingMilliseconds, 1 << 42))) }
}
