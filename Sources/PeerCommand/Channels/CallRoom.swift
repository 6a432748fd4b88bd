internal import Earshot
internal import Primitives
internal import Reactor
internal import Synchronization

/// The channel that a call becomes when one of the two invites a third (`CallChannel`): what is
/// said of it, and what is kept of it for the end.
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

  /// Steps that were told and are not handled yet.
  private final class Steps: Sendable {
    private let steps = Mutex<[CallChannelStep]>([])
    func append(_ step: CallChannelStep) { steps.withLock { $0.append(step) } }
    func drain() -> [CallChannelStep] {
      steps.withLock { steps in
        defer { steps = [] }
        return steps
      }
    }
  }

  let channel: CallChannel
  let pictures: RoomPictures
  private let session: OnlineSession
  private let manners: Manners
  private let first: CallID
  private let steps: Steps
  /// As it was after the last input.
  private(set) var standing = CallChannel.Standing()
  private(set) var nextDeadline: Instant?
  private(set) var book = RoomBook()
  /// Set by the keys; holds for calls that begin later.
  private var isMuted: Bool
  private var isVideoMuted = false
  /// Ourselves in the channel, since when.
  private var stay: (uid: UInt32, since: Instant)?

  init(
    _ session: OnlineSession, _ sound: SoundOptions, _ ends: OpenedSound, first: CallID,
    name: String, _ manners: Manners, isMuted: Bool
  ) async {
    let pictures = RoomPictures(
      sound, saveName: ends.video?.saveName, overwrites: session.options.overwrites)
    let steps = Steps()
    (self.session, self.manners, self.first, self.isMuted) = (session, manners, first, isMuted)
    (self.pictures, self.steps) = (pictures, steps)
    var options = CallChannel.Options(makeCall: { pictures.callOptions(sound, ends) }) {
      steps.append($0)
    }
    (options.asks, options.hasAgreed) = (manners.asks, manners.hasAgreed)
    options.isAttended = manners.isAttended
    options.startsMuted = isMuted
    options.onCall = { pictures.assign($1, to: $0) }
    let (identity, filter) = (session.options.identity, manners.filter)
    options.name = { OnlineSession.pin(of: $0, by: identity)?.name }
    options.admits = { id in
      let pin = OnlineSession.pin(of: id, by: identity)
      return filter?.admits(id, name: pin?.name, trust: pin?.trust ?? .new) ?? true
    }
    channel = await session.endpoint.call(first).allowChannel(name: name, steering: options)
    standing = await channel.standing
  }

  /// Whether there is a channel, or somebody is being invited.
  var isOpen: Bool { standing.isOpen }

  /// The calls of the channel but the first.
  var others: [CallID] { standing.members.map(\.call).filter { $0 != first } }

  /// Who has a call with us, in their order.
  var names: [String] { standing.members.filter { !$0.isInvited }.map(\.name) }

  func name(of call: CallID) -> String? { member(of: call)?.name }

  /// What the person is asked; `nil` when nothing is.
  var question: String? { standing.question.map(words) }

  // MARK: - Commands

  /// Rings at somebody, who comes in by accepting.
  func invite(_ target: String) async {
    do throws(EarshotError) {
      let call = try await channel.invite(target)
      await follow()
      session.console.say("Inviting \(name(of: call) ?? target) ...")
    } catch {
      await follow()
      session.console.sayFailed(
        error.code == .channelState
          ? error.message : "\(target): \(error.message) \(error.advice)")
    }
  }

  /// - Returns: Whether the key was an answer.
  func answer(_ key: Character) async -> Bool {
    guard standing.question != nil, "yYnN".contains(key) else { return false }
    await channel.answer("yY".contains(key))
    await follow()
    return true
  }

  /// Keys have muted all calls, or not; it holds for later ones.
  func keepMuted(sound: Bool? = nil, pictures: Bool? = nil) async {
    (isMuted, isVideoMuted) = (sound ?? isMuted, pictures ?? isVideoMuted)
    await channel.keepMuted(audio: isMuted, video: isVideoMuted)
  }

  /// Leaves the channel and ends its calls but the first.
  func leave() async {
    await channel.leave()
    await follow()
  }

  // MARK: - Inputs

  func handle(_ event: EndpointEvent) async {
    guard !standing.isLeft else { return handleLate(event) }
    switch event {
    case .incomingCall(let call):
      // To anybody but members this side is busy.
      if await !channel.isMember(call) { await session.turnAway(member: call) }
    case .callEnded(let call, let report):
      enter(call, report.statistics)
      pictures.handleEnd(of: call)
    case .statistics(let call, let numbers): book.keep(numbers, of: call)
    default: break
    }
    await channel.handle(event)
    await follow()
    if case .callProgress(let call, let step) = event { handleProgress(step, of: call) }
  }

  /// A deadline has come.
  func advance() async {
    await channel.advance()
    await follow()
  }

  /// After leaving: a call that was over already has its numbers in its report.
  private func handleLate(_ event: EndpointEvent) {
    guard case .callEnded(let call, let report) = event else { return }
    enter(call, report.statistics)
    _ = book.handleEnd(call)
  }

  private func follow() async {
    standing = await channel.standing
    nextDeadline = await channel.nextDeadline
    let now = SystemClock.now
    stay = standing.uid.flatMap { uid in standing.stay.map { (uid, now - $0) } }
    for step in steps.drain() { handle(step) }
  }

  private func handle(_ step: CallChannelStep) {
    switch step {
    case .connected(let member): book.handleConnected(member.call)
    case .callEnded(let member, let report):
      handleEnd(of: member, report, hasTalked: book.handleEnd(member.call))
    case .leaving(let member, let numbers):
      enter(
        member.call, numbers ?? book.newestNumbers(of: member.call), isThere: true)
      _ = book.handleEnd(member.call)
    case .question: session.console.ring()
    default: break
    }
    say(step)
  }

  private func handleProgress(_ step: CallProgress, of call: CallID) {
    guard call != first, let member = member(of: call) else { return }
    switch step {
    case .lookingAgain(let sentence): session.console.say(Wording.lookingAgain(sentence))
    case .delivered:
      if member.isInvited { session.console.say("\(member.name) has the invitation; it rings.") }
    case .firstVideoFrameDecoded:
      if let file = pictures.saveName(of: call), pictures.fault == nil {
        session.console.sayOfOthers("Pictures of \(member.name) go to \(file).")
      }
    case .replaced(let new): pictures.replace(call, by: new)
    case .audioFailed(let text): session.remember("The audio could not be started: \(text)")
    default: break
    }
  }

  private func handleEnd(
    of member: CallChannel.Member, _ report: CallReport, hasTalked: Bool
  ) {
    if member.isInvited {
      // As it would be told of a call of two.
      guard report.outcome != .completed else { return }
      session.console.sayFailed(
        "\(member.name): \(report.outcome.rawValue): \(report.reason)")
      if let error = report.error { session.console.complain(CommandFailure(error)) }
    } else if hasTalked {
      // Who could not be reached yet is not gone.
      let end = report.reason.hasSuffix(".") ? "" : "."
      session.console.sayOfOthers("\(member.name) is gone: \(report.reason)\(end)")
    }
  }

  /// What the end says of a member; the first call has a table of its own.
  private func enter(_ call: CallID, _ numbers: CallStatistics?, isThere: Bool = false) {
    guard call != first, book.isTalking(call), let member = member(of: call) else { return }
    book.append(numbers, of: member.name, member.id, uid: member.uid, isThere: isThere)
  }

  // MARK: - Words

  /// What a step is told as.
  private func say(_ step: CallChannelStep) {
    let console = session.console
    if let words = RoomWords.failure(step) { console.sayFailed(words) }
    if let words = RoomWords.news(step, of: firstName) { console.sayOfOthers(words) }
    switch step {
    case .became(_, isOwn: false):
      console.say("\(firstName) has invited others: the call is a channel now.")
    case .question(let question): console.say(words(of: question))
    case .wished(let member):
      console.say("Asking \(firstName) to let \(member.name) in ...")
    case .turnedAway(let user):
      let pinned = session.pin(of: user.id)?.name
      console.sayOfOthers(
        "\(pinned ?? user.id.shortText) is in the channel, and is not talked with (--from).")
    case .failed(let error, .upkeep): console.log(.warning, error.message)
    case .failed(let error, .minor): console.log(.info, error.message)
    case .left(isAlone: true):
      console.say(
        manners.isAttended ? "Everybody else has left." : "Who called has left the channel.")
    default: break
    }
  }

  private func words(of question: CallChannel.Question) -> String {
    RoomWords.sentence(
      question, of: question.asker?.name ?? firstName,
      pinned: question.guest.flatMap { session.pin(of: $0)?.name })
  }

  /// Who is at the other end of the first call.
  private var firstName: String { name(of: first) ?? "the other side" }

  private func member(of call: CallID) -> CallChannel.Member? {
    standing.members.first { $0.call == call }
  }

  func writeSummary() {
    guard let name = standing.channel else { return }
    session.lines.write("channelSummary") { object in
      book.fill(
        &object, name, stay.map { ($0.uid, SystemClock.now - $0.since) },
        hasFailed: standing.hasFailed, metCount: standing.metCount)
    }
  }
}
