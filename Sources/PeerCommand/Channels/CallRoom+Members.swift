internal import Earshot
internal import Primitives
internal import Reactor

/// Who comes into the channel of a call: whom we invite, and whom others do.
extension CallRoom {
  // MARK: - Inviting

  /// Rings at somebody, who comes in by accepting.
  func invite(_ target: String) async {
    if let trouble = await trouble(with: target) {
      return session.console.sayFailed(trouble)
    }
    await session.limitCalls(to: Self.mostMembers)
    do throws(EarshotError) {
      var (options, file) = callOptions()
      options.userExtension = RoomMarks.invitation
      let call = try await session.endpoint.call(target, options: options)
      pictures.assign(file, to: call.id)
      let id = PeerID(target)
      let (name, basis) = id.map { naming(of: $0, Wording.short($0), .id) } ?? (target, .given)
      people.add(call.id, id, name, by: basis, target: target, .invited)
      session.console.say("Inviting \(name) ...")
    } catch {
      session.console.sayFailed("\(target): \(error.message) \(error.advice)")
      if !isOpen { await session.limitCalls(to: 1) }
    }
  }

  /// Why somebody cannot be invited, in a sentence.
  private func trouble(with target: String) async -> String? {
    if isLeft { return "The call is over." }
    if channel != nil, key == nil, !hasFirst {
      return RoomWords.makerHasLeft
    }
    if hasFailed { return "The channel has ended; nobody can be invited any more." }
    if let name = people.name(ofWhoIs: target) { return "\(name) is here already." }
    guard OnlineOptions.isTarget(target) else {
      return "'\(target)' is neither a name nor an ID."
    }
    if people.calls.count >= Self.mostMembers - 1 {
      return "A channel that was a call has at most \(Self.mostMembers) members."
    }
    if channel == nil, await !session.endpoint.call(first).canBecomeChannel {
      return RoomWords.cannotBecome(firstName)
    }
    return nil
  }

  /// Whom we have invited has accepted: only now it gets what opens the channel.
  func letIn(_ call: CallID) async {
    let link = await session.endpoint.call(call)
    guard await link.canBecomeChannel else {
      session.console.sayFailed(RoomWords.cannotCome(people.name(of: call) ?? "It"))
      return await link.hangUp()
    }
    do throws(EarshotError) {
      if channel != nil, key == nil { return try await wish(for: call) }
      if channel == nil { try await makeChannel(for: call) }
      try await pass(call, life: RoomTimes.entranceLife)
    } catch {
      session.console.sayFailed("\(error.message) \(error.advice)")
      await link.hangUp()
    }
  }

  /// Whoever made the channel is asked for a token.
  private func wish(for call: CallID) async throws(EarshotError) {
    guard let id = await peer(of: call) else { return }
    session.console.say("Asking \(firstName) to let \(people.name(of: call) ?? "it") in ...")
    try await session.endpoint.call(first).send(.wish(id, name: people.target(of: call)))
  }

  /// - Parameter call: With the first one who comes in.
  private func makeChannel(for call: CallID) async throws(EarshotError) {
    let key = ChannelKey()
    guard let name = key.channel(named: Self.name) else { return }
    let token = key.pass(
      to: session.endpoint.id, for: name, life: RoomTimes.memberLife, mayManage: true)
    channel = try await session.endpoint.join(name, as: .host, token: token)
    self.key = key
    accord.handleMade(name)
    awaitAnswer()
    guard hasFirst else { return }
    if let id = await peer(of: call) {
      try await session.endpoint.call(first).send(.guest(id, name: people.target(of: call)))
    }
    try await pass(first, life: RoomTimes.entranceLife)
  }

  private func pass(_ call: CallID, life: Duration) async throws(EarshotError) {
    guard let key, let name = channel?.name, let id = await peer(of: call) else { return }
    let token = key.pass(to: id, for: name, life: life)
    try await session.endpoint.call(call).invite(
      to: ChannelInvitation(channel: name, token: token))
    if life == RoomTimes.entranceLife { people.handlePass(call) }
  }

  func peer(of call: CallID) async -> PeerID? {
    if let id = people.id(of: call) { return id }
    guard let id = await session.endpoint.call(call).peer?.id else { return nil }
    people.identify(call, as: id, nil)
    return id
  }

  /// Tokens are about to end: all get newer ones of whoever has the key.
  func renewPasses() async {
    guard let key, let channel else { return }
    do throws(EarshotError) {
      try await channel.renewToken(
        key.pass(
          to: session.endpoint.id, for: channel.name, life: RoomTimes.memberLife, mayManage: true))
      for (user, call) in links.linked {
        if let inviter = accord.inviter(of: user.id) {
          await handToInviter(of: user.id, inviter)
        } else {
          try await pass(call, life: RoomTimes.memberLife)
        }
      }
    } catch {
      session.console.log(.warning, error.message)
    }
  }

  // MARK: - Members

  /// Somebody is in the roster.
  func welcome(_ user: ChannelUser) async {
    guard user.id != session.endpoint.id else { return }
    accord.handleArrival(user.id)
    if let call = accord.inviter(of: user.id) { await handToInviter(of: user.id, call) }
    if key != nil, people.isDismissed(user.id) { return await session.remove(user, of: channel) }
    let pin = session.pin(of: user.id)
    let call = people.handleArrival(user.id)
    if call == first { accord.handleFollowed() }
    if call == nil, let filter = manners.filter,
      !filter.admits(user.id, name: pin?.name, trust: pin?.trust ?? .new)
    {
      guard people.turnAway(user.id) else { return }
      return session.console.sayOfOthers(
        "\(pin?.name ?? Wording.short(user.id)) is in the channel, and is not talked with "
          + "(--from).")
    }
    guard links.counts.members < Self.mostMembers - 1 else { return }
    links.add(user)
    guard let call else { return }
    links.begin(call, with: user.uid)
    guard key != nil else { return }
    do throws(EarshotError) {
      // It is there: what it has now holds for as long as the channel does.
      try await pass(call, life: RoomTimes.memberLife)
    } catch {
      session.console.log(.info, error.message)
    }
  }

  /// Who came in by a member's wish has its tokens of that one.
  private func handToInviter(of id: PeerID, _ call: CallID) async {
    guard let key, let name = channel?.name else { return }
    do throws(EarshotError) {
      try await session.endpoint.call(call).send(
        .entry(id, token: key.pass(to: id, for: name, life: RoomTimes.memberLife)))
    } catch {
      session.console.log(.info, error.message)
    }
  }

  /// What a member is called: as it is pinned, or as it was called here before.
  private func naming(
    of id: PeerID, _ name: String, _ naming: RoomPeople.Naming
  ) -> (String, RoomPeople.Naming) {
    if let pinned = session.pin(of: id)?.name { return (pinned, .pinned) }
    return people.naming(of: id) ?? (name, naming)
  }

  func dial(_ user: ChannelUser) async {
    do throws(EarshotError) {
      var (options, file) = callOptions()
      options.userExtension = RoomMarks.member(of: channel)
      let call = try await session.endpoint.call("\(user.id)", options: options)
      pictures.assign(file, to: call.id)
      links.begin(call.id, with: user.uid)
      let (name, basis) = naming(of: user.id, Wording.short(user.id), .id)
      people.add(call.id, user.id, name, by: basis, .there)
    } catch {
      session.console.log(.info, "no link to \(user.uid): \(error.message)")
      links.fail(user.uid, now: SystemClock.now)
    }
  }

  /// Takes a call of a member; to anybody else this side is busy.
  func answer(_ call: IncomingCall) async {
    let link = await session.endpoint.call(call.id)
    let isOurs = channel.map { RoomMarks.isMember(call, of: $0) } ?? false
    do throws(EarshotError) {
      guard isOurs else { return try await link.rejectAsBusy() }
      guard let uid = links.caller(call.peer, own: .host, isSeatless: true) else {
        return try await link.rejectAsBusy()
      }
      links.begin(call.id, with: uid)
      let (name, basis) = naming(
        of: call.peer, Wording.briefName(call), call.name == nil ? .id : .claimed)
      people.add(call.id, call.peer, name, by: basis, .there)
      let (options, file) = callOptions()
      pictures.assign(file, to: call.id)
      try await link.accept(options)
    } catch {
      session.console.log(.info, error.message)
    }
  }

  private func callOptions() -> (CallOptions, file: MemberFile?) {
    pictures.callOptions(sound, ends, isMuted: isMuted, isVideoMuted: isVideoMuted)
  }

  private static let name = "call"
}
