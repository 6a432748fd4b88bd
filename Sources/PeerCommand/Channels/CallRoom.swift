internal import Earshot
internal import Primitives
internal import Reactor

/// The channel that a call becomes when one of the two invites a third (docs/protocol/channels.md
/// §10). The call goes on as the pair of the two; with each further member there is a call of its
/// own. Only audio goes to those.
final class CallRoom {
  /// Who is there on one's own side of the call, and what it may do.
  struct Manners {
    /// A person answers and hears: without one the channel ends here with the first call.
    var isAttended = true
    /// Who is talked with.
    var filter: CallerFilter?
  }

  /// Members at the most, we included: a mesh has no more.
  static let mostMembers = 8

  let session: OnlineSession
  let sound: SoundOptions
  let ends: OpenedSound
  let manners: Manners
  private(set) var first: CallID
  private(set) var hasFirst = true
  var people = RoomPeople()
  var links: RoomLinks
  /// Ours, if we have made the channel.
  var key: ChannelKey?
  var channel: Channel?
  private(set) var joined: Instant?
  private(set) var uid: UInt32 = 0
  private(set) var isLeft = false
  /// The channel has ended, or never came to be; calls go on.
  private(set) var hasFailed = false
  /// How many were heard of, and how many talked with.
  private(set) var connectedCount = 0
  /// Calls in which the two were connected, and still are.
  private var talking: Set<CallID> = []
  /// Set by the keys; holds for calls that begin later.
  var isMuted: Bool
  /// When the rendezvous is to have let us into the channel.
  private var answerDue: Instant?

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
    links = RoomLinks(own: session.endpoint.id, checks: true)
    people.add(first, nil, name, .there)
  }

  /// Whether there is a channel, or somebody is being invited.
  var isOpen: Bool { !isLeft && (channel != nil || !people.invited.isEmpty) }

  /// The calls of the channel but the first.
  var others: [CallID] { people.calls.filter { $0 != first } }

  // MARK: - Inputs

  func handle(_ event: EndpointEvent) async {
    guard !isLeft else { return }
    switch event {
    case .channel(let name, let step) where name == channel?.name: await handleStep(step)
    case .incomingCall(let call): await answer(call)
    case .callProgress(let call, let step): await handleProgress(step, of: call)
    case .callStateChanged(let call, .connected, _) where call != first:
      await handleConnected(call)
    case .callEnded(let call, let report): await handleEnd(of: call, report)
    default: break
    }
    await advance()
  }

  private func handleProgress(_ step: CallProgress, of call: CallID) async {
    if case .invitedToChannel(let invitation) = step {
      if call == first { await follow(invitation) }
      return
    }
    guard call != first, let name = people.name(of: call) else { return }
    switch step {
    case .lookingAgain(let sentence): session.console.say(Wording.lookingAgain(sentence))
    case .delivered:
      if people.stage(of: call) == .invited {
        session.console.say("\(name) has the invitation; it rings.")
      }
    case .answered(let who):
      people.identify(call, as: who.id, who.nameTrust == .claimed ? nil : who.name)
    case .replaced(let new): people.replace(call, by: new)
    case .audioFailed(let text): session.remember("The audio could not be started: \(text)")
    default: break
    }
  }

  private func handleConnected(_ call: CallID) async {
    guard let name = people.name(of: call) else { return }
    connectedCount += 1
    talking.insert(call)
    session.console.sayOfOthers("Connected with \(name), in the channel.")
    if people.stage(of: call) == .invited { await letIn(call) }
  }

  private func handleEnd(of call: CallID, _ report: CallReport) async {
    links.end(call, now: SystemClock.now)
    let hasTalked = talking.remove(call) != nil
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
    if call == first { hasFirst = false }
    if !isOpen { await limitCalls(to: 1) }
  }

  private func handleStep(_ step: ChannelStep) async {
    switch step {
    case .joined(let uid, _): (self.uid, joined) = (uid, SystemClock.now)
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
    if let due = answerDue, joined == nil, !hasFailed, due <= now {
      answerDue = nil
      session.console.sayFailed(
        "The rendezvous does not answer about the channel: whoever was invited hears the one that "
          + "did it, and nobody else until then.")
    }
    guard joined != nil, !hasFailed else { return }
    // Some programs cannot be called, such as `earshot call`: they call themselves.
    links.setCallsAll(true, now: now)
    while let user = links.nextToDial(own: .host, now: now) { await dial(user) }
  }

  var nextDeadline: Instant? {
    guard isOpen, !hasFailed else { return nil }
    return joined == nil ? answerDue : links.nextRetry(own: .host)
  }

  /// The channel is being joined.
  func awaitAnswer() { answerDue = SystemClock.now + Self.patience }

  /// A rendezvous that is there answers at once; JOIN is repeated each second.
  private static let patience = Duration.seconds(5)

  /// Leaves the channel and ends its calls but the first.
  func leave() async {
    guard !isLeft else { return }
    isLeft = true
    for call in others { await session.endpoint.call(call).hangUp() }
    await channel?.leave()
    await limitCalls(to: 1)
  }

  func limitCalls(to count: Int) async {
    do throws(EarshotError) {
      try await session.endpoint.setMaximumCalls(count)
    } catch {
      session.console.log(.info, error.message)
    }
  }

  /// The other end of the first call has left.
  static func sentence(firstGone name: String, still others: [String]) -> String {
    guard let last = others.last else { return "\(name) has left; the channel goes on." }
    guard others.count > 1 else { return "\(name) has left; \(last) is still there." }
    let front = others.dropLast().joined(separator: ", ")
    return "\(name) has left; \(front) and \(last) are still there."
  }

  func writeSummary() {
    guard let channel else { return }
    session.lines.write("channelSummary") { object in
      object.add("outcome", hasFailed ? "failed" : "completed")
      object.add("channel", channel.name.description)
      object.add("uid", Int(uid))
      object.add("durationMs", joined.map { Int((SystemClock.now - $0).milliseconds) })
      object.add("membersMet", links.metCount)
      object.add("membersHeard", connectedCount + 1)
    }
  }
}
