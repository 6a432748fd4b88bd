internal import Primitives
internal import Reactor

/// What the members of a call's channel say to each other about it, and what a person is asked
/// (`CallChannelAccord`).
extension CallChannel {
  /// Who is at the other end of the first call.
  var firstName: String { people.name(of: first) ?? "the other side" }

  /// What the person is asked; `nil` when nothing is.
  var question: Question? {
    accord.question.map { question in
      Question(
        asker: question.asker.flatMap { member(of: $0) }, guest: question.guest?.id,
        guestName: question.guest?.name)
    }
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
      let isThere = id == endpoint.id || people.hasCall(with: id)
      await carryOut(
        accord.handleWish(
          id, name, of: call, by: member, isAdmitted: options.admits(id), isThere: isThere,
          now: SystemClock.now))
    case .entry(let id, let token):
      if call == first, key == nil { await handOn(token, to: id) }
    case .refused(let id):
      guard call == first, let guest = people.invitedCall(of: id) else { return }
      if let member = member(of: guest) { emit(.refused(member)) }
      await calls.hangUp(guest)
    case .asked: if call == first, accord.handleAsked() { emit(.isAsked) }
    case .withdrawn(let id):
      if call == first { accord.handleGuestGone(id) }
      if accord.withdraw(id, by: call) { people.dismiss(id) }
    }
  }

  /// It does not want others in the call, which is one of two as before.
  private func dissolve(_ word: ChannelWord) async {
    emit(.remoteDeclined(isAnswered: word != .unanswered))
    for call in others { await calls.hangUp(call) }
    await drop()
    await carryOut(accord.handleDeclined(now: SystemClock.now))
  }

  func carryOut(_ step: CallChannelAccord.Step) async {
    switch step {
    case .nothing: break
    case .ask:
      if let question { emit(.question(question)) }
      await calls.say(.asked, on: accord.question?.asker ?? first)
    case .join(let invitation): _ = await join(invitation)
    case .move(let invitation): await move(to: invitation)
    case .renew(let invitation):
      await calls.renew(invitation.token, of: channel, for: .other)
    case .decline(let word):
      emit(.declined)
      await calls.say(word, on: first)
    case .admit(let id, let call):
      guard let key, let name = channel?.name else {
        return await calls.say(.refused(id), on: call)
      }
      let token = key.pass(to: id, for: name, life: CallChannelTimes.entranceLife)
      await calls.say(.entry(id, token: token), on: call)
    case .refuse(let id, let call): await calls.say(.refused(id), on: call)
    }
  }

  /// Leaves the own channel for the one that the other end has made at the same time.
  private func move(to invitation: ChannelInvitation) async {
    await drop()
    awaitStrays()
    // Without a channel there is nothing that whom we have invited could come into.
    guard await join(invitation) else { return }
    for call in people.inviteAgain(but: first) where people.isConnected(call) {
      await letIn(call)
    }
  }

  /// - Returns: Whether it is being joined.
  private func join(_ invitation: ChannelInvitation) async -> Bool {
    await calls.setRoom(true)
    do throws(EarshotError) {
      channel = try await endpoint.join(invitation.channel, as: .host, token: invitation.token)
      awaitAnswer()
      emit(.became(invitation.channel, isOwn: false))
      return true
    } catch {
      accord.end()
      emit(.failed(error, .other))
      if !standing.isOpen { await calls.setRoom(false) }
      return false
    }
  }

  /// A token has come for somebody whom we have invited.
  private func handOn(_ token: String, to id: PeerID) async {
    guard let name = channel?.name, let (guest, isFirst) = people.handleEntry(of: id) else {
      return
    }
    do throws(EarshotError) {
      try await endpoint.call(guest).invite(to: ChannelInvitation(channel: name, token: token))
    } catch {
      emit(.failed(error, .minor))
      if isFirst { await calls.hangUp(guest) }
    }
  }

  /// A guest of ours has gone before it came in: the other end is told to forget it.
  func withdraw(_ id: PeerID?) async {
    guard let id, channel != nil, hasFirst, people.isDismissed(id), key == nil || accord.mayDecline
    else { return }
    await calls.say(.withdrawn(id), on: first)
  }
}
