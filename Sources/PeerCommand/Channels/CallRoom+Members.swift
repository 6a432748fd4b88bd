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
    await limitCalls(to: Self.mostMembers)
    do throws(EarshotError) {
      var options = callOptions
      options.userExtension = Self.invitation
      let call = try await session.endpoint.call(target, options: options)
      let name = PeerID(target).map { people.name(of: $0) ?? Wording.short($0) } ?? target
      people.add(call.id, PeerID(target), name, target: target, .invited)
      session.console.say("Inviting \(name) ...")
    } catch {
      session.console.sayFailed("\(target): \(error.message) \(error.advice)")
      if !isOpen { await limitCalls(to: 1) }
    }
  }

  /// Why somebody cannot be invited, in a sentence.
  private func trouble(with target: String) async -> String? {
    if isLeft { return "The call is over." }
    if channel != nil, key == nil {
      return "Only who made the channel of the call can invite."
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
      let name = people.name(of: first) ?? "the other side"
      return "Nobody can be invited: the program of \(name) does not let a call become a "
        + "channel; it has to be a newer one."
    }
    return nil
  }

  /// Whom we have invited has accepted: only now it gets what opens the channel.
  func letIn(_ call: CallID) async {
    let link = await session.endpoint.call(call)
    guard await link.canBecomeChannel else {
      session.console.sayFailed(
        "\(people.name(of: call) ?? "It") cannot come into a channel: its program does not know "
          + "how a call becomes one.")
      return await link.hangUp()
    }
    do throws(EarshotError) {
      if channel == nil { try await makeChannel() }
      try await pass(call, life: Self.entranceLife)
    } catch {
      session.console.sayFailed("\(error.message) \(error.advice)")
      await link.hangUp()
    }
  }

  private func makeChannel() async throws(EarshotError) {
    let key = ChannelKey()
    guard let name = key.channel(named: Self.name) else { return }
    let token = key.pass(
      to: session.endpoint.id, for: name, life: Self.memberLife, mayManage: true)
    channel = try await session.endpoint.join(name, as: .host, token: token)
    self.key = key
    awaitAnswer()
    if hasFirst { try await pass(first, life: Self.entranceLife) }
  }

  private func pass(_ call: CallID, life: Duration) async throws(EarshotError) {
    guard let key, let name = channel?.name, let id = await peer(of: call) else { return }
    let token = key.pass(to: id, for: name, life: life)
    try await session.endpoint.call(call).invite(
      to: ChannelInvitation(channel: name, token: token))
    if life == Self.entranceLife { people.handlePass(call) }
  }

  private func peer(of call: CallID) async -> PeerID? {
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
          to: session.endpoint.id, for: channel.name, life: Self.memberLife, mayManage: true))
      for (_, call) in links.linked { try await pass(call, life: Self.memberLife) }
    } catch {
      session.console.log(.warning, error.message)
    }
  }

  // MARK: - Being invited

  /// The other side of the first call makes a channel of it, or has a newer token for us.
  func follow(_ invitation: ChannelInvitation) async {
    do throws(EarshotError) {
      if let channel {
        guard channel.name == invitation.channel else {
          return session.console.sayOfOthers(
            "\(people.name(of: first) ?? "The other side") made another channel of the call, "
              + "which is not joined: this side has made one.")
        }
        return try await channel.renewToken(invitation.token)
      }
      guard !isLeft else { return }
      _ = await peer(of: first)
      for call in people.invited { await session.endpoint.call(call).hangUp() }
      await limitCalls(to: Self.mostMembers)
      channel = try await session.endpoint.join(
        invitation.channel, as: .host, token: invitation.token)
      awaitAnswer()
      session.console.say(
        "\(people.name(of: first) ?? "The other side") has invited others: the call is a channel "
          + "now.")
    } catch {
      // How often there is one is up to the other side.
      session.console.sayOfOthers("\(error.message) \(error.advice)")
    }
  }

  // MARK: - Members

  /// Somebody is in the roster.
  func welcome(_ user: ChannelUser) async {
    guard user.id != session.endpoint.id else { return }
    if key != nil, people.isDismissed(user.id) { return await remove(user) }
    let pin = pin(of: user.id)
    let call = people.handleArrival(user.id)
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
      try await pass(call, life: Self.memberLife)
    } catch {
      session.console.log(.info, error.message)
    }
  }

  private func remove(_ user: ChannelUser) async {
    do throws(EarshotError) {
      // No longer than what it has to come in with: it may be invited again.
      try await channel?.remove(user.uid, banSeconds: Self.entranceSeconds)
    } catch {
      session.console.log(.warning, error.message)
    }
  }

  /// What somebody is called here, and what that is worth.
  private func pin(of id: PeerID) -> (name: String?, trust: Trust)? {
    do throws(EarshotError) {
      let entries = try ContactBook(identityFile: session.options.identity).entries()
        .filter { $0.id == id }
      for entry in entries {
        if case .name(let name) = entry.place { return (name, entry.trust) }
      }
      return entries.first.map { (nil, $0.trust) }
    } catch {
      return nil
    }
  }

  func dial(_ user: ChannelUser) async {
    do throws(EarshotError) {
      var options = callOptions
      options.userExtension = words
      let call = try await session.endpoint.call("\(user.id)", options: options)
      links.begin(call.id, with: user.uid)
      let name = people.name(of: user.id) ?? pin(of: user.id)?.name
      people.add(call.id, user.id, name ?? Wording.short(user.id), .there)
    } catch {
      session.console.log(.info, "no link to \(user.uid): \(error.message)")
      links.fail(user.uid, now: SystemClock.now)
    }
  }

  /// Takes a call of a member; to anybody else this side is busy.
  func answer(_ call: IncomingCall) async {
    let link = await session.endpoint.call(call.id)
    let isOurs = [words, plainWords].contains(call.userExtension)
    do throws(EarshotError) {
      guard isOurs else { return try await link.rejectAsBusy() }
      guard let uid = links.caller(call.peer, own: .host, isSeatless: true) else {
        return try await link.rejectAsBusy()
      }
      links.begin(call.id, with: uid)
      people.add(
        call.id, call.peer, pin(of: call.peer)?.name ?? Wording.briefName(call), .there)
      try await link.accept(callOptions)
    } catch {
      session.console.log(.info, error.message)
    }
  }

  /// What a call with a further member has: the same sound, and no pictures.
  private var callOptions: CallOptions {
    var options = sound.callOptions(ends)
    (options.videoSource, options.videoSink, options.arrivals) = (nil, nil, nil)
    options.startsMuted = isMuted
    options.remembersPeer = false
    options.userExtension = nil
    options.rejoin = nil
    return options
  }

  /// By which members know their calls (docs/protocol/channels.md §8). All call all: not every
  /// program can be called.
  private var words: String { "{\"channel\":\"\(channel?.name.audience ?? "")\",\"seat\":false}" }
  private var plainWords: String { "{\"channel\":\"\(channel?.name.audience ?? "")\"}" }

  /// Whether a call is one of members of a channel.
  static func isOfChannel(_ call: IncomingCall) -> Bool {
    call.userExtension?.hasPrefix("{\"channel\":\"") ?? false
  }

  /// This program is not in the channel; another one of the same identity may be. So it is busy:
  /// a rejection would end the call for all of them.
  static func turnAway(_ call: IncomingCall, _ session: OnlineSession) async {
    do throws(EarshotError) {
      try await session.endpoint.call(call.id).rejectAsBusy()
    } catch {
      session.console.log(.info, error.message)
    }
  }

  /// What an invited person's program may say before it is accepted.
  static let invitation = "{\"invitation\":\"channel\"}"
  private static let name = "call"
  /// To come in: whoever is let go in between has nothing that holds for long.
  private static let entranceLife = Duration.seconds(Int64(entranceSeconds))
  private static let entranceSeconds: UInt32 = 600
  /// Longer than any call.
  private static let memberLife = Duration.seconds(7 * 86_400)
}
