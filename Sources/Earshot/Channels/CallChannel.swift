package import Primitives
internal import Reactor

/// The channel that a call of two becomes when one of them invites a third
/// (docs/protocol/channels.md §10). The call goes on as the pair of the two; with each further
/// member there is a call of its own. Made by `Call.allowChannel` at both ends; lives on the
/// endpoint's loop.
///
/// It reads the endpoint's events, and answers the calls of members by itself: whoever reads them
/// too leaves those calls alone for which `isMember` is true.
public actor CallChannel {
  /// The call that it began as.
  public private(set) var first: CallID
  nonisolated let endpoint: Endpoint
  let options: Options
  var calls: CallChannelCalls
  private(set) var hasFirst = true
  package var people = CallChannelPeople()
  var links: ChannelLinks
  /// Ours, if we have made the channel.
  var key: ChannelKey?
  var channel: Channel?
  /// Ourselves in the channel, since when.
  private var stay: (uid: UInt32, since: Instant)?
  private(set) var isLeft = false
  /// The channel has ended, or never came to be; calls go on.
  private(set) var hasFailed = false
  var accord: CallChannelAccord
  /// When the rendezvous is to have let us into the channel; when those are to be in it whom we
  /// have calls with of one that was left.
  private var due: (answer: Instant?, strays: Instant?)
  /// One input after the other; `nil`: the program hands them over itself.
  private nonisolated let queue: CallChannelQueue?

  /// The endpoint's loop: both run on its thread.
  public nonisolated var unownedExecutor: UnownedSerialExecutor { endpoint.loop.executor }

  init(
    _ calls: CallChannelCalls, first: CallID, name: String?, _ queue: CallChannelQueue? = nil
  ) {
    (self.calls, self.first, self.queue) = (calls, first, queue)
    (endpoint, options) = (calls.endpoint, calls.options)
    accord = CallChannelAccord(asks: options.asks, hasAgreed: options.hasAgreed)
    links = ChannelLinks(own: endpoint.id, checks: true)
    people.add(first, nil, name ?? "the other side", by: name == nil ? .id : .given, .there)
  }

  // MARK: - Commands

  /// Rings at somebody, who comes in by accepting: with the first one the call becomes a channel.
  ///
  /// - Parameter target: A name or an ID.
  /// - Returns: The call with it.
  /// - Throws: `channelState` where nobody can be invited, as its message says; else as
  ///   `Endpoint.call` does.
  @discardableResult
  public func invite(_ target: String) async throws(EarshotError) -> CallID {
    try await carryOut { room async -> Result<CallID, EarshotError> in
      do throws(EarshotError) {
        return .success(try await room.ring(at: target))
      } catch {
        return .failure(error)
      }
    }.get()
  }

  /// Answers the question that is open (`CallChannelStep.question`). An answer within a second of
  /// it was meant for something else, and is not taken.
  ///
  /// - Returns: Whether there was a question.
  @discardableResult
  public func answer(_ isYes: Bool) async -> Bool {
    await carryOut { room in
      guard room.accord.question != nil else { return false }
      await room.carryOut(room.accord.answer(isYes, now: SystemClock.now))
      return true
    }
  }

  /// Keeps the own sound back in all calls of the channel, or lets it go on.
  public func setAudioMuted(_ isMuted: Bool) async {
    await carryOut { room in
      room.calls.mutes.audio = isMuted
      await room.calls.setAudioMuted(isMuted, in: room.people.calls)
    }
  }

  /// Does so with the own pictures.
  public func setVideoMuted(_ isMuted: Bool) async {
    await carryOut { room in
      room.calls.mutes.video = isMuted
      await room.calls.setVideoMuted(isMuted, in: room.people.calls)
    }
  }

  /// Leaves the channel and ends its calls but the first, which its owner hangs up.
  public func leave() async { await carryOut { await $0.leave(isAlone: false) } }

  /// Whether a call is one of a member: it is answered here, and by nobody else.
  public func isMember(_ call: IncomingCall) -> Bool {
    channel.map { CallChannelMarks.isMember(call, of: $0.name) } ?? false
  }

  /// How things stand now; also after the end.
  public var standing: Standing { Standing.of(self, stay, isOpen: isOpen) }

  // MARK: - Inputs

  /// Handles one event of the endpoint, for a program that reads them in place of this
  /// (`Call.allowChannel(name:steering:)`), which also calls `advance` at `nextDeadline`.
  package func handle(_ event: EndpointEvent) async {
    switch event {
    case .incomingCall(let call): if isMember(call) { await answer(call) }
    case .callProgress(first, .replaced(let new)) where isLeft: first = new
    case .callEnded(first, _) where isLeft: hasFirst = false
    case _ where isLeft: break
    case .channel(let name, let step) where name == channel?.name: await handleStep(step)
    case .callProgress(let call, let step): await handleProgress(step, of: call)
    case .callStateChanged(let call, .connected, _) where call != first:
      await handleConnected(call)
    case .callEnded(let call, let report): await handleEnd(of: call, report)
    default: break
    }
    await advance()
  }

  /// Calls whom we are to call, and leaves where nothing is left to stay for.
  package func advance() async {
    guard !isLeft else { return }
    await carryOut(accord.expire(now: SystemClock.now))
    guard isOpen else { return }
    guard
      people.mayStay(
        hasFirst: hasFirst, isAttended: options.isAttended,
        members: hasFailed ? 0 : links.counts.members)
    else { return await leave(isAlone: true) }
    let now = SystemClock.now
    if let last = due.answer, stay == nil, !hasFailed, last <= now {
      due.answer = nil
      emit(.isUnanswered)
    }
    if let last = due.strays, last <= now { await endStrays() }
    guard stay != nil, !hasFailed else { return }
    // Some programs cannot be called, such as one that only calls: they call themselves.
    links.setCallsAll(true, now: now)
    while let user = links.nextToDial(own: .host, now: now) { await dial(user) }
  }

  package var nextDeadline: Instant? {
    guard !isLeft else { return nil }
    let asked = accord.deadline
    guard isOpen, !hasFailed else { return asked }
    return earliest(
      earliest(asked, due.strays), stay == nil ? due.answer : links.nextRetry(own: .host))
  }

  /// What holds for calls that begin later.
  package func keepMuted(audio: Bool, video: Bool) { calls.mutes = (audio, video) }

  /// Nothing is left to be done: the first call is over, and there is no channel.
  var isOver: Bool { !hasFirst && !isOpen }

  // MARK: - Parts

  /// Whether there is a channel, or somebody is being invited.
  private var isOpen: Bool { !isLeft && (channel != nil || !people.invited.isEmpty) }

  /// The calls of the channel but the first.
  var others: [CallID] { people.calls.filter { $0 != first } }

  func member(of call: CallID) -> Member? { Member(call, people, links) }

  func schedule(_ timer: EventLoop.Token) { endpoint.loop.setDeadline(timer, nextDeadline) }

  func endSchedule(_ timer: EventLoop.Token) { endpoint.loop.removeTimer(timer) }

  func emit(_ step: CallChannelStep) { options.onStep(step) }

  private func carryOut<Result: Sendable>(
    _ body: @escaping @Sendable (isolated CallChannel) async -> Result
  ) async -> Result {
    guard let queue else { return await body(self) }
    return await queue.carryOut(body, on: self)
  }

  private func handleProgress(_ step: CallProgress, of call: CallID) async {
    switch step {
    case .invitedToChannel(let invitation): if call == first { await follow(invitation) }
    case .channelWord(let word): await handleWord(word, of: call)
    case .replaced(let new):
      people.replace(call, by: new)
      links.replace(call, by: new)
      if call == first { first = new }
    case .answered(let who) where isOther(call) || queue != nil && call == first:
      people.identify(call, as: who)
    case .shortCode where isOther(call):
      // It is shown next, and comes before the answer.
      if let who = await endpoint.call(call).peer { people.identify(call, as: who) }
    default: break
    }
  }

  private func isOther(_ call: CallID) -> Bool { call != first && people.name(of: call) != nil }

  private func handleConnected(_ call: CallID) async {
    guard let member = member(of: call) else { return }
    people.handleConnected(call)
    emit(.connected(member))
    if member.isInvited { await letIn(call) }
  }

  private func handleEnd(of call: CallID, _ report: CallReport) async {
    guard let member = member(of: call) else { return }
    links.end(call, now: SystemClock.now)
    accord.handleEnd(of: call)
    _ = people.handleEnd(call)
    if call == first {
      await handleFirstEnd()
    } else {
      emit(.callEnded(member, report))
      await withdraw(member.id)
    }
    if !isOpen { await calls.setRoom(false) }
  }

  /// Whoever waits for a token of it gets none any more.
  private func handleFirstEnd() async {
    hasFirst = false
    accord.handleFirstEnd()
    guard channel != nil, key == nil else { return }
    for call in people.invited { await calls.hangUp(call) }
  }

  private func handleStep(_ step: ChannelStep) async {
    switch step {
    case .joined(let uid, _): stay = (uid, SystemClock.now)
    case .userJoined(let user, _), .audienceJoined(let user): await welcome(user)
    case .userOffline(let uid, .becameAudience): links.setAudience(uid)
    case .userOffline(let uid, _), .audienceLeft(let uid, _):
      // Whoever has no call with us any more is gone.
      if let call = links.remove(uid), call != first { await calls.hangUp(call) }
    case .memberChecked(let uid, let isGenuine): links.check(uid, isGenuine: isGenuine)
    case .stateChanged(.failed, let reason):
      hasFailed = true
      emit(.channelEnded(reason))
    case .tokenWillExpire: await renewPasses()
    default: break
    }
  }

  private func leave(isAlone: Bool) async {
    guard !isLeft else { return }
    isLeft = true
    for call in others {
      let link = await endpoint.call(call)
      // All may leave at once: a call that is over already has no numbers any more.
      let numbers = await link.statistics()
      if let member = member(of: call) { emit(.leaving(member, numbers)) }
      await link.hangUp()
    }
    await channel?.leave()
    await calls.setRoom(false)
    emit(.left(isAlone: isAlone))
  }

  /// The channel is being joined.
  func awaitAnswer() { due.answer = SystemClock.now + CallChannelTimes.joining }

  /// The channel is left, and the calls go on: another one is joined, or none.
  func drop() async {
    await channel?.leave()
    (channel, key, stay, due.answer, hasFailed) = (nil, nil, nil, nil, false)
    links = ChannelLinks(own: endpoint.id, checks: true)
  }

  /// Calls with members of a channel that was left are over if they have not come after.
  func awaitStrays() { due.strays = SystemClock.now + CallChannelTimes.strays }

  private func endStrays() async {
    due.strays = nil
    for call in others where people.stage(of: call) == .there && links.uid(of: call) == nil {
      await calls.hangUp(call)
    }
  }
}
