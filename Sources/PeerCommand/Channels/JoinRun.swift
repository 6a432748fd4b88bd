internal import Earshot
internal import Primitives
internal import Reactor

/// `earshot join` while it runs: its stays in one channel or several, until the user leaves them,
/// or the last one ends.
package final class JoinRun {
  /// Calls at once: the members of all its channels without us.
  package static let mostLinks = 32

  package private(set) var isOver = false
  private let command: JoinCommand
  let session: OnlineSession
  /// The channel of the command line, then those of `--also`.
  let stays: [RoomStay]
  private let tokens: RoomTokens
  let messages: RoomMessages
  /// The line that is being typed; `nil` when keys are commands.
  var typed: String?
  private var deadlines = Deadlines<Timer>()
  /// For the page of `--report`.
  private var trace = RoomTrace()
  /// Of the channels that were joined; once it is over.
  private var ends: [RoomEnd] = []
  /// `--duration` runs from the first channel that was joined.
  private var isTimed = false
  /// The next key says who is to be removed.
  private var choice: RemovalChoice?

  enum Timer: CaseIterable, Hashable, Sendable {
    /// `--duration` is over.
    case duration
    /// The live lines are drawn anew.
    case view
    /// What the page of `--report` draws is looked at.
    case trace
    /// A message that waits is tried again.
    case messages
    /// Leaving takes no longer.
    case leaving
  }

  init(
    _ command: JoinCommand, _ stays: [RoomStay], _ tokens: RoomTokens, _ session: OnlineSession
  ) {
    self.command = command
    self.stays = stays
    self.tokens = tokens
    self.session = session
    messages = RoomMessages(session, namesChannels: stays.count > 1)
    if session.console.hasRegion { deadlines.set(.view, at: SystemClock.now) }
    if session.writesReport { deadlines.set(.trace, at: SystemClock.now) }
  }

  /// That of the channel that ended worst; of two the one that was named first.
  package var code: ExitCode { stays.map(\.code).first { $0 != .done } ?? .done }

  /// The first channel that is not over: what keys and the live lines are about.
  private var foremost: RoomStay { stays.first { !$0.isOver } ?? stays[0] }

  package func handle(_ input: SessionInput) async {
    await session.inbox.settle()
    handleMessages(input)
    switch input {
    case .endpoint(let event): await handleEvent(event)
    case .media(let name, let step): stay(name)?.handleMedia(step)
    case .channelToken(let name, let news): await tokens.handle(news, in: name)
    case .key(let key) where typed != nil: type(key)
    case .signal(.interrupt), .signal(.terminate), .signal(.hangUp), .key("q"), .key("Q"):
      await leave()
    case .signal(.user1): await showStatistics()
    case .signal(.user2): await foremost.toggleRole()
    case .key(let key): await handleKey(key)
    case .wake: await wake()
    default: break
    }
    await messages.advance(spoken)
    if stays.allSatisfy(\.isOver) { isOver = true }
    set(.messages, messages.retryAt)
    session.inbox.wake(at: deadlines.next)
  }

  package func writeSummary() async {
    messages.finish()
    for stay in stays.dropFirst() + [stays[0]] {
      let standing = await stay.media.standing
      let isFirst = stay === stays[0]
      stay.writeSummary(standing, as: isFirst ? "summary" : "channelSummary")
      if let end = stay.end(standing) { ends.insert(end, at: isFirst ? 0 : ends.count) }
    }
    session.console.clear()
    for end in ends { session.console.say(end.text) }
  }

  /// What is saved of single members is whole from then on.
  func finishSound() async {
    for stay in stays { await stay.media.finishSinks() }
  }

  /// The page of `--report`; `nil` where no channel was joined.
  package var page: String? {
    ends.isEmpty ? nil : RoomPage.html(ends, plots: trace.plots, origin: .here)
  }

  // MARK: - Parts

  func stay(_ name: ChannelName) -> RoomStay? { stays.first { $0.channel.name == name } }

  private func set(_ timer: Timer, _ due: Instant?) {
    if let due { deadlines.set(timer, at: due) } else { deadlines.cancel(timer) }
  }

  private func handleKey(_ key: Character) async {
    if let choice {
      self.choice = nil
      return await foremost.remove(choice, by: key)
    }
    switch key {
    case "m", "M": await toggleMute()
    case "v", "V": await toggleVideo()
    case "s", "S": await showStatistics()
    case "r", "R": await foremost.toggleRole()
    case "t", "T": beginTyping()
    case "x", "X": await choose(bans: false)
    case "b", "B": await choose(bans: true)
    case "?", "h", "H": session.console.say(JoinHelp.keys)
    default: break
    }
  }

  /// What is played goes to the one channel where we are host, so it is kept back in all.
  private func toggleMute() async {
    let wanted = !foremost.isMuted
    for stay in stays { await stay.setMuted(wanted) }
    let name = wanted ? "localAudioMuted" : "localAudioUnmuted"
    session.lines.write("event") { $0.add("name", name) }
    session.console.say(wanted ? "Muted." : "No longer muted.")
    await refresh()
  }

  /// The same of what is shown.
  private func toggleVideo() async {
    guard command.video.picture != nil else { return session.console.say("No video is sent.") }
    let wanted = !foremost.isVideoMuted
    for stay in stays { await stay.setVideoMuted(wanted) }
    session.lines.write("event") { $0.add("name", wanted ? "localVideoOff" : "localVideoOn") }
    session.console.say(wanted ? "The own video is off." : "The own video is on again.")
  }

  private func showStatistics() async {
    for stay in stays { await stay.showStatistics() }
  }

  private func refresh() async {
    let now = SystemClock.now
    let foremost = foremost
    var view = await foremost.view(now: now)
    let others = stays.filter { $0 !== foremost && !$0.isOver }
    for stay in others.prefix(Self.mostFurther) {
      let other = await stay.view(now: now)
      view.further.append("\(other.channel): \(other.memberCount) there")
    }
    let rest = others.count - view.further.count
    if rest > 0 { view.further.append("\(rest) channels more") }
    if let typed { view.hint = "To all: \(typed)" }
    session.console.show(view)
  }

  private static let mostFurther = 4

  private func choose(bans: Bool) async {
    let foremost = foremost
    let members = await foremost.channel.members
    choice = RemovalChoice(members, own: foremost.uid, bans: bans, foremost.names)
    session.console.say(choice?.question ?? "Nobody else is there.")
  }

  /// What is said stands before what is done.
  private func handleEvent(_ event: EndpointEvent) async {
    switch event {
    case .channel(let name, let step): handleStep(step, in: name)
    case .incomingCall(let call): await answer(call)
    default: break
    }
    for stay in stays { await stay.media.handle(event) }
    await session.inbox.settle()
  }

  private func handleStep(_ step: ChannelStep, in name: ChannelName) {
    guard let stay = stay(name) else { return }
    stay.handleStep(step)
    if case .stateChanged(.failed, _) = step, stays.allSatisfy({ $0.ending != nil }) {
      deadlines.set(.leaving, at: SystemClock.now + .seconds(2))
    }
    tokens.handle(step, in: name)
    if case .joined = step, let duration = command.duration, !isTimed {
      isTimed = true
      deadlines.set(.duration, at: SystemClock.now + .milliseconds(Int64(duration * 1000)))
    }
  }

  private func answer(_ call: IncomingCall) async {
    if stays.contains(where: { !$0.isOver && $0.media.isMember(call) }) { return }
    await session.turnAway(member: call)
  }

  private func leave() async {
    for stay in stays { await stay.leave() }
    deadlines.set(.leaving, at: SystemClock.now + .seconds(2))
  }

  private func wake() async {
    while let timer = deadlines.popDue(at: SystemClock.now) {
      switch timer {
      case .duration: await leave()
      case .messages: break  // They are looked at after each input.
      case .view:
        if foremost.joined != nil { await refresh() }
        deadlines.set(.view, at: SystemClock.now + .milliseconds(250))
      case .trace:
        let now = SystemClock.now
        let view = await foremost.view(now: now)
        if foremost.joined != nil { trace.append(view.people, seconds: Double(view.seconds)) }
        deadlines.set(.trace, at: now + .seconds(1))
      case .leaving: isOver = true
      }
    }
  }
}
