internal import Earshot
internal import Primitives
internal import Reactor

/// What the members of a call's channel say to each other about it, and what a person is asked
/// (`RoomAccord`).
extension CallRoom {
  /// Who is at the other end of the first call.
  var firstName: String { people.name(of: first) ?? "the other side" }

  // MARK: - The person

  /// What the person is asked; `nil` when nothing is.
  var question: String? {
    RoomWords.question(of: accord, people, first: firstName) { session.pin(of: $0)?.name }
  }

  /// - Returns: Whether the key was an answer.
  func answer(_ key: Character) async -> Bool {
    guard accord.question != nil, "yYnN".contains(key) else { return false }
    await carryOut(accord.answer("yY".contains(key), now: SystemClock.now))
    return true
  }

  // MARK: - The other end of the first call

  /// It makes a channel of the call, or has a newer token for us.
  func follow(_ invitation: ChannelInvitation) async {
    guard !isLeft else { return }
    _ = await peer(of: first)
    await carryOut(accord.handleInvitation(invitation, now: SystemClock.now))
  }

  func handleWord(_ word: ChannelWord, of call: CallID) async {
    switch word {
    case .guest(let id, let name): if call == first { accord.handleGuest(id, name) }
    case .declined, .unanswered:
      if call == first, key != nil, accord.mayDecline { await dissolve(word) }
    case .wish(let id, let name):
      guard people.isThere(call), let member = await peer(of: call) else { return }
      let pin = session.pin(of: id)
      let isAdmitted =
        manners.filter?.admits(id, name: pin?.name, trust: pin?.trust ?? .new) ?? true
      let isThere = id == session.endpoint.id || people.hasCall(with: id)
      await carryOut(
        accord.handleWish(
          id, name, of: call, by: member, isAdmitted: isAdmitted, isThere: isThere,
          now: SystemClock.now))
    case .entry(let id, let token):
      if call == first, key == nil { await handOn(token, to: id) }
    case .refused(let id):
      guard call == first, let guest = people.invitedCall(of: id) else { return }
      session.console.sayOfOthers(
        "\(firstName) does not let \(people.name(of: guest) ?? "it") in.")
      await session.endpoint.call(guest).hangUp()
    case .asked:
      if call == first, accord.handleAsked() {
        session.console.sayOfOthers(RoomWords.asked(firstName))
      }
    case .withdrawn(let id):
      if call == first { accord.handleGuestGone(id) }
      if accord.withdraw(id, by: call) { people.dismiss(id) }
    }
  }

  /// It does not want others in the call, which is one of two as before.
  private func dissolve(_ word: ChannelWord) async {
    session.console.sayOfOthers(RoomWords.declined(by: firstName, word))
    for call in others { await session.endpoint.call(call).hangUp() }
    await drop()
    await carryOut(accord.handleDeclined(now: SystemClock.now))
  }

  func carryOut(_ step: RoomAccord.Step) async {
    switch step {
    case .nothing: break
    case .ask:
      session.console.ring()
      session.console.say(question ?? "")
      await session.say(.asked, on: accord.question?.asker ?? first)
    case .join(let invitation): await join(invitation)
    case .move(let invitation):
      await drop()
      await join(invitation)
      awaitStrays()
      for call in people.inviteAgain(but: first) where book.isTalking(call) { await letIn(call) }
    case .renew(let invitation): await session.renew(invitation.token, in: channel)
    case .decline(let word):
      session.console.sayOfOthers(
        "Nobody else comes in: \(firstName) is told, and the call between you goes on.")
      await session.say(word, on: first)
    case .admit(let id, let call):
      guard let key, let name = channel?.name else {
        return await session.say(.refused(id), on: call)
      }
      await session.say(
        .entry(id, token: key.pass(to: id, for: name, life: RoomTimes.entranceLife)), on: call)
    case .refuse(let id, let call): await session.say(.refused(id), on: call)
    }
  }

  private func join(_ invitation: ChannelInvitation) async {
    await session.limitCalls(to: Self.mostMembers)
    do throws(EarshotError) {
      channel = try await session.endpoint.join(
        invitation.channel, as: .host, token: invitation.token)
      awaitAnswer()
      session.console.say("\(firstName) has invited others: the call is a channel now.")
    } catch {
      accord.end()
      // How often there is one is up to the other side.
      session.console.sayOfOthers("\(error.message) \(error.advice)")
    }
  }

  /// A token has come for somebody whom we have invited.
  private func handOn(_ token: String, to id: PeerID) async {
    guard let name = channel?.name, let (guest, isFirst) = people.handleEntry(of: id) else {
      return
    }
    do throws(EarshotError) {
      try await session.endpoint.call(guest).invite(
        to: ChannelInvitation(channel: name, token: token))
    } catch {
      session.console.log(.info, error.message)
      if isFirst { await session.endpoint.call(guest).hangUp() }
    }
  }

  /// A guest of ours has gone before it came in: the other end is told to forget it.
  func withdraw(_ id: PeerID?) async {
    guard let id, channel != nil, hasFirst, people.isDismissed(id), key == nil || accord.mayDecline
    else { return }
    await session.say(.withdrawn(id), on: first)
  }
}
