internal import Earshot
internal import Primitives
internal import Reactor

/// The channel that a call becomes when one of the two invites a third (docs/protocol/channels.md
/// §10). The call goes on as the pair of the two; with each further member there is a call of its
/// own.
final class CallRoom {
  /// Who is there on one's own side of the call, and what it may do.
  struct Manners {
    /// A person answers and hears: without one the channel ends here with the first call.
    var isAttended = true
    /// Who is talked with.
    var filter: CallerFilter?
    /// A person can be asked whether others may come.
    var asks = false
    /// It knew of others when it took the call.
    var hasAgreed = false
  }

  /// Members at the most, we included: a mesh has no more.
  static let mostMembers = 8

  let session: OnlineSession
  let sound: SoundOptions
  let ends: OpenedSound
  let manners: Manners
  let pictures: RoomPictures
  private(set) var first: CallID
  private(set) var hasFirst = true
  var people = RoomPeople()
  var links: ChannelLinks
  /// Ours, if we have made the channel.
  var key: ChannelKey?
  var channel: Channel?
  /// Ourselves in the channel, since when.
  private(set) var stay: (uid: UInt32, since: Instant)?
  private(set) var isLeft = false
  /// The channel has ended, or never came to be; calls go on.
  private(set) var hasFailed = false
  private(set) var book = RoomBook()
  var accord: RoomAccord
  /// Set by the keys; holds for calls that begin later.
  var isMuted: Bool
  var isVideoMuted = false
  /// When the rendezvous is to have let us into the channel.
  private var answerDue: Instant?
  /// When those are to be in the channel whom we have calls with of one that was left.
  private var straysDue: Instant?

  init(
    _ session: OnlineSession, _ sound: SoundOptions, _ ends: OpenedSound, first: CallID,
    name: String, _ manners: Manners, isMuted: Bool
  ) {
    self.session = session
    self.sound = sound
    self.ends = ends
    self.first = first
    self.manners = manners
    self.isMuted = isMuted
    pictures = RoomPictures(
      sound, saveName: ends.video?.saveName, overwrites: session.options.overwrites)
    accord = RoomAccord(asks: manners.asks, hasAgreed: manners.hasAgreed)
    links = ChannelLinks(own: session.endpoint.id, checks: true)
    people.add(first, nil, name, .there)
  }

  /// Whether there is a channel, or somebody is being invited.
  var isOpen: Bool { !isLeft && (channel != nil || !people.invited.isEmpty) }

  /// The calls of the channel but the first.
  var others: [CallID] { people.calls.filter { $0 != first } }

  // MARK: - Inputs

  func handle(_ event: EndpointEvent) async {
    guard !isLeft else { return handleLate(event) }
    switch event {
    case .channel(let name, let step) where name == channel?.name: await handleStep(step)
    case .incomingCall(let call): await answer(call)
    case .callProgress(let call, let step): await handleProgress(step, of: call)
    case .callStateChanged(let call, .connected, _) where call != first:
      await handleConnected(call)
    case .callEnded(let call, let report): await handleEnd(of: call, report)
    case .statistics(let call, let numbers): book.keep(numbers, of: call)
    default: break
    }
    await advance()
  }

  /// After leaving: a call that was over already has its numbers in its report.
  private func handleLate(_ event: EndpointEvent) {
    guard case .callEnded(let call, let report) = event else { return }
    enter(call, report.statistics)
    _ = book.handleEnd(call)
  }

  private func handleProgress(_ step: CallProgress, of call: CallID) async {
    switch step {
    case .invitedToChannel(let invitation):
      if call == first { await follow(invitation) }
      return
    case .channelWord(let word): return await handleWord(word, of: call)
    default: break
    }
    guard call != first, let name = people.name(of: call) else { return }
    switch step {
    case .lookingAgain(let sentence): session.console.say(Wording.lookingAgain(sentence))
    case .delivered:
      if people.stage(of: call) == .invited {
        session.console.say("\(name) has the invitation; it rings.")
      }
    case .answered(let who): people.identify(call, as: who)
    case .shortCode:
      // It is shown next, and comes before the answer.
      if let who = await session.endpoint.call(call).peer { people.identify(call, as: who) }
    case .firstVideoFrameDecoded:
      if let file = pictures.saveName(of: call), pictures.fault == nil {
        session.console.sayOfOthers("Pictures of \(name) go to \(file).")
      }
    case .replaced(let new):
      people.replace(call, by: new)
      pictures.replace(call, by: new)
    case .audioFailed(let text): session.remember("The audio could not be started: \(text)")
    default: break
    }
  }

  private func handleConnected(_ call: CallID) async {
    guard let name = people.name(of: call) else { return }
    book.handleConnected(call)
    session.console.sayOfOthers("Connected with \(name), in the channel.")
    if people.stage(of: call) == .invited { await letIn(call) }
  }

  private func handleEnd(of call: CallID, _ report: CallReport) async {
    enter(call, report.statistics)
    pictures.handleEnd(of: call)
    links.end(call, now: SystemClock.now)
    let hasTalked = book.handleEnd(call)
    let id = people.id(of: call)
    accord.handleEnd(of: call)
    switch people.handleEnd(call) {
    case .stayedOut(let name):
      // As it would be told of a call of two.
      guard report.outcome != .completed else { break }
      session.console.sayFailed("\(name): \(report.outcome.rawValue): \(report.reason)")
      if let error = report.error { session.console.complain(CommandFailure(error)) }
    case .letGo(let name), .ended(let name):
      // Who could not be reached yet is not gone.
      guard call != first, hasTalked else { break }
      let end = report.reason.hasSuffix(".") ? "" : "."
      session.console.sayOfOthers("\(name) is gone: \(report.reason)\(end)")
    case nil: break
    }
    if call == first { await handleFirstEnd() } else { await withdraw(id) }
    if !isOpen { await session.limitCalls(to: 1) }
  }

  /// Whoever waits for a token of it gets none any more.
  private func handleFirstEnd() async {
    hasFirst = false
    accord.handleFirstEnd()
    guard channel != nil, key == nil else { return }
    for call in people.invited { await session.endpoint.call(call).hangUp() }
  }

  /// What the end says of a member; the first call has a table of its own.
  private func enter(_ call: CallID, _ numbers: CallStatistics?, isThere: Bool = false) {
    guard call != first, book.isTalking(call), let name = people.name(of: call) else { return }
    book.append(numbers, of: name, people.id(of: call), uid: links.uid(of: call), isThere: isThere)
  }

  private func handleStep(_ step: ChannelStep) async {
    switch step {
    case .joined(let uid, _): stay = (uid, SystemClock.now)
    case .userJoined(let user, _), .audienceJoined(let user): await welcome(user)
    case .userOffline(let uid, .becameAudience): links.setAudience(uid)
    case .userOffline(let uid, _), .audienceLeft(let uid, _):
      // Whoever has no call with us any more is gone.
      if let call = links.remove(uid), call != first {
        await session.endpoint.call(call).hangUp()
      }
    case .memberChecked(let uid, let isGenuine): links.check(uid, isGenuine: isGenuine)
    case .stateChanged(.failed, let reason):
      hasFailed = true
      session.console.sayFailed(
        "The channel has ended: \(ChannelWords.text(of: reason)). Calls that there are go on.")
    case .tokenWillExpire: await renewPasses()
    default: break
    }
  }

  // MARK: - What follows

  /// Calls whom we are to call, and leaves where nothing is left to stay for.
  func advance() async {
    guard !isLeft else { return }
    await carryOut(accord.expire(now: SystemClock.now))
    guard isOpen else { return }
    guard
      people.mayStay(
        hasFirst: hasFirst, isAttended: manners.isAttended,
        members: hasFailed ? 0 : links.counts.members)
    else {
      session.console.say(
        manners.isAttended ? "Everybody else has left." : "Who called has left the channel.")
      return await leave()
    }
    let now = SystemClock.now
    if let due = answerDue, stay == nil, !hasFailed, due <= now {
      answerDue = nil
      session.console.sayFailed(RoomWords.silentRendezvous)
    }
    if let due = straysDue, due <= now { await endStrays() }
    guard stay != nil, !hasFailed else { return }
    // Some programs cannot be called, such as `earshot call`: they call themselves.
    links.setCallsAll(true, now: now)
    while let user = links.nextToDial(own: .host, now: now) { await dial(user) }
  }

  var nextDeadline: Instant? {
    guard !isLeft else { return nil }
    let asked = accord.deadline
    guard isOpen, !hasFailed else { return asked }
    return earliest(
      earliest(asked, straysDue),
      stay == nil ? answerDue : links.nextRetry(own: .host))
  }

  /// The channel is being joined.
  func awaitAnswer() { answerDue = SystemClock.now + RoomTimes.joining }

  /// Leaves the channel and ends its calls but the first.
  func leave() async {
    guard !isLeft else { return }
    isLeft = true
    for call in others {
      let link = await session.endpoint.call(call)
      // All may leave at once: a call that is over already has no numbers any more.
      let numbers = await link.statistics() ?? book.newestNumbers(of: call)
      enter(call, numbers, isThere: true)
      _ = book.handleEnd(call)
      await link.hangUp()
    }
    await channel?.leave()
    await session.limitCalls(to: 1)
  }

  /// The channel is left, and the calls go on: another one is joined, or none.
  func drop() async {
    await channel?.leave()
    (channel, key, stay, answerDue, hasFailed) = (nil, nil, nil, nil, false)
    links = ChannelLinks(own: session.endpoint.id, checks: true)
  }

  /// Calls with members of a channel that was left are over if they have not come after.
  func awaitStrays() { straysDue = SystemClock.now + RoomTimes.strays }

  private func endStrays() async {
    straysDue = nil
    for call in others where people.stage(of: call) == .there && links.uid(of: call) == nil {
      await session.endpoint.call(call).hangUp()
    }
  }

  func writeSummary() {
    guard let channel else { return }
    session.lines.write("channelSummary") { object in
      book.fill(
        &object, channel.name, stay.map { ($0.uid, SystemClock.now - $0.since) },
        hasFailed: hasFailed, metCount: links.metCount)
    }
  }
}
