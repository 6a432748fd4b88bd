internal import Peer
internal import Primitives
internal import Reactor
internal import Wire

/// Who comes into the channel of a call: whom we invite, and whom others do.
extension CallChannel {
  // MARK: - Inviting

  /// Rings at somebody, who comes in by accepting.
  func ring(at target: String) async throws(EarshotError) -> CallID {
    if let trouble = await trouble(with: target) { throw trouble.error }
    await calls.setRoom(true)
    do throws(EarshotError) {
      let call = try await calls.begin(target, CallChannelMarks.invitation)
      let id = PeerID(target)
      let (name, basis) = id.map { naming(of: $0, $0.shortText, .id) } ?? (target, .given)
      people.add(call, id, name, by: basis, target: target, .invited)
      return call
    } catch {
      if !standing.isOpen { await calls.setRoom(false) }
      throw error
    }
  }

  /// Why somebody cannot be invited.
  private func trouble(with target: String) async -> CallChannelRefusal? {
    if isLeft { return .isLeft }
    if isOver { return .isOver }
    if channel != nil, key == nil, !hasFirst { return .makerHasLeft }
    if hasFailed { return .hasEnded }
    if let name = people.name(ofWhoIs: target) { return .isHere(name) }
    guard PeerName(target) != nil || PeerID(target) != nil else { return .noTarget(target) }
    if people.calls.count >= Self.mostMembers - 1 { return .isFull }
    guard channel == nil else { return nil }
    let link = await endpoint.call(first)
    switch await link.state {
    case .ended: return .isOver
    case .connected: return await link.canBecomeChannel ? nil : .cannotBecome(firstName)
    default: return .notConnected
    }
  }

  /// Whom we have invited has accepted: only now it gets what opens the channel.
  func letIn(_ call: CallID) async {
    let link = await endpoint.call(call)
    guard await link.canBecomeChannel else {
      if let member = member(of: call) { emit(.cannotCome(member)) }
      return await link.hangUp()
    }
    do throws(EarshotError) {
      if channel != nil, key == nil { return try await wish(for: call) }
      if channel == nil { try await makeChannel(for: call) }
      try await pass(call, life: CallChannelTimes.entranceLife)
    } catch {
      emit(.failed(error, .own))
      await link.hangUp()
    }
  }

  /// Whoever made the channel is asked for a token.
  private func wish(for call: CallID) async throws(EarshotError) {
    guard let id = await peer(of: call) else { return }
    if let member = member(of: call) { emit(.wished(member)) }
    try await endpoint.call(first).send(.wish(id, name: people.target(of: call)))
  }

  /// - Parameter call: With the first one who comes in.
  private func makeChannel(for call: CallID) async throws(EarshotError) {
    let key = ChannelKey()
    guard let name = key.channel(named: PeerChannels.nameOfCalls) else { return }
    let token = key.pass(
      to: endpoint.id, for: name, life: CallChannelTimes.memberLife, mayManage: true)
    channel = try await endpoint.join(name, as: .host, token: token)
    self.key = key
    accord.handleMade(name)
    awaitAnswer()
    emit(.became(name, isOwn: true))
    guard hasFirst else { return }
    if let id = await peer(of: call) {
      try await endpoint.call(first).send(.guest(id, name: people.target(of: call)))
    }
    try await pass(first, life: CallChannelTimes.entranceLife)
  }

  private func pass(_ call: CallID, life: Duration) async throws(EarshotError) {
    guard let key, let name = channel?.name, let id = await peer(of: call) else { return }
    let token = key.pass(to: id, for: name, life: life)
    try await endpoint.call(call).invite(to: ChannelInvitation(channel: name, token: token))
    if life == CallChannelTimes.entranceLife { people.handlePass(call) }
  }

  func peer(of call: CallID) async -> PeerID? {
    if let id = people.id(of: call) { return id }
    guard let id = await endpoint.call(call).peer?.id else { return nil }
    people.identify(call, as: id, nil)
    return id
  }

  /// Tokens are about to end: all get newer ones of whoever has the key. Where one cannot be
  /// handed over, the others get theirs all the same.
  func renewPasses() async {
    guard let key, let channel else { return }
    let own = key.pass(
      to: endpoint.id, for: channel.name, life: CallChannelTimes.memberLife, mayManage: true)
    await calls.renew(own, of: channel, for: .upkeep)
    for (user, call) in links.linked {
      if let inviter = accord.inviter(of: user.id) {
        await handToInviter(of: user.id, inviter)
      } else {
        await renewPass(of: call, for: .upkeep)
      }
    }
  }

  /// What it has from then on holds for as long as the channel does.
  private func renewPass(of call: CallID, for sake: Sake) async {
    do throws(EarshotError) {
      try await pass(call, life: CallChannelTimes.memberLife)
    } catch {
      emit(.failed(error, sake))
    }
  }

  // MARK: - Members

  /// Somebody is in the roster.
  func welcome(_ user: ChannelUser) async {
    guard user.id != endpoint.id else { return }
    accord.handleArrival(user.id)
    if let call = accord.inviter(of: user.id) { await handToInviter(of: user.id, call) }
    if key != nil, people.isDismissed(user.id) { return await calls.remove(user, of: channel) }
    let call = people.handleArrival(user.id)
    if call == first { accord.handleFollowed() }
    if call == nil, !options.admits(user.id) {
      if people.turnAway(user.id) { emit(.turnedAway(user)) }
      return
    }
    guard links.counts.members < Self.mostMembers - 1 else { return }
    links.add(user)
    guard let call else { return }
    links.begin(call, with: user.uid)
    if key != nil { await renewPass(of: call, for: .minor) }
  }

  /// Who came in by a member's wish has its tokens of that one.
  private func handToInviter(of id: PeerID, _ call: CallID) async {
    guard let key, let name = channel?.name else { return }
    let token = key.pass(to: id, for: name, life: CallChannelTimes.memberLife)
    await calls.say(.entry(id, token: token), on: call)
  }

  /// What a member is called: as it is known here, or as it was called before.
  private func naming(
    of id: PeerID, _ name: String, _ naming: CallChannelPeople.Naming
  ) -> (String, CallChannelPeople.Naming) {
    if let known = options.name(id) { return (known, .pinned) }
    return people.naming(of: id) ?? (name, naming)
  }

  func dial(_ user: ChannelUser) async {
    do throws(EarshotError) {
      let call = try await calls.begin("\(user.id)", CallChannelMarks.member(of: channel?.name))
      links.begin(call, with: user.uid)
      let (name, basis) = naming(of: user.id, user.id.shortText, .id)
      people.add(call, user.id, name, by: basis, .there)
    } catch {
      emit(.failed(error, .minor))
      links.fail(user.uid, now: SystemClock.now)
    }
  }

  /// Takes a call of a member; one that is none of those who are to have a call with us finds this
  /// side busy.
  func answer(_ call: IncomingCall) async {
    do throws(EarshotError) {
      guard !isLeft, let uid = links.caller(call.peer, own: .host, isSeatless: true) else {
        return try await endpoint.call(call.id).rejectAsBusy()
      }
      links.begin(call.id, with: uid)
      let claimed = call.name.map { call.nameTrust == .claimed ? "\($0)?" : $0 }
      let (name, basis) = naming(
        of: call.peer, claimed ?? call.peer.shortText, call.name == nil ? .id : .claimed)
      people.add(call.id, call.peer, name, by: basis, .there)
      try await calls.accept(call.id)
    } catch {
      emit(.failed(error, .minor))
    }
  }
}
