internal import Channels
internal import Primitives
internal import Reactor

/// All of a stay in one channel: this endpoint is heard by all members, and hears all hosts. Calls
/// with each member, a relay where they are too many, and the change between the two without a gap
/// are made here (`ChannelMedia.Way`). Made by `Endpoint.join(_:as:uid:token:media:)`; lives on the
/// endpoint's loop, and ends with `leave` or `ChannelMediaStep.ended`.
///
/// It reads the endpoint's events, and answers the calls of members by itself: whoever reads them
/// too leaves those calls alone for which `isMember` is true.
public actor ChannelMedia {
  /// The channel: its members, tokens and removals.
  public nonisolated let channel: Channel
  let options: Options
  private nonisolated let loop: EventLoop
  let voices: ChannelVoices
  var links: ChannelLinks
  private(set) var way: ChannelWay
  private var overlap = ChannelOverlap()
  var roll = ChannelRoll()
  var flights = ChannelFlights()
  /// The part of the relay, while there is one: for volumes, and for music in the own sound.
  public private(set) var relay: ChannelRelay?
  private(set) var relayed: RelayCounts?
  /// Whether this endpoint is to be heard, or only listens.
  public private(set) var role: ChannelRole
  private var joined: Instant?
  private(set) var ending: ChannelMediaEnd?
  /// Nothing is handled any more.
  private(set) var isOver = false
  /// Members of whom a first frame came since they are there.
  private var heard: Set<UInt32> = []
  var mutes = ChannelMutes()
  private let timer: EventLoop.Token
  private nonisolated let feed: AsyncStream<ChannelMediaInput>.Continuation

  /// The endpoint's loop: both run on its thread.
  public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.executor }

  init(
    _ channel: Channel, as role: ChannelRole, _ options: Options,
    _ feed: AsyncStream<ChannelMediaInput>.Continuation, _ timer: EventLoop.Token
  ) {
    self.channel = channel
    self.role = role
    self.options = options
    self.feed = feed
    self.timer = timer
    loop = channel.endpoint.loop
    voices = ChannelVoices(options)
    way = ChannelWay(options.way)
    mutes.isAudioMuted = options.startsMuted
    links = ChannelLinks(own: channel.endpoint.id, checks: channel.name.needsToken)
  }

  // MARK: - Commands

  /// Asks for another role; `ChannelStep.roleChanged` or `roleChangeFailed` tells. Who is to listen
  /// only sends nothing from now on.
  ///
  /// - Throws: `channelState` when another channel has the role host: an endpoint publishes to one
  ///   at a time.
  public func setRole(_ role: ChannelRole) async throws(EarshotError) {
    try await channel.setRole(role)
    await changeMutes { $0.isResigning = role == .audience }
  }

  /// Ends the calls, leaves the relay and the channel, and finishes the sinks of single members.
  /// The others are told at once. Harmless when it is over.
  public func leave() async {
    await carryOut { media in
      guard media.ending == nil else { return }
      await media.end(.left)
      await media.channel.leave()
    }
  }

  /// Whether a call is one of a member of this channel, or of somebody who says so: it is answered
  /// here, and by nobody else, until `ChannelMediaStep.ended`. Reject it after that.
  public nonisolated func isMember(_ call: IncomingCall) -> Bool {
    call.userExtension == words(isSeatless: true) || call.userExtension == words(isSeatless: false)
  }

  // MARK: - Inputs

  /// Handles one event of the endpoint, for a program that reads them in place of this
  /// (`Endpoint.join(_:as:uid:token:steering:)`). Others have no need of it.
  ///
  /// - Returns: Once all that it does is done.
  package func handle(_ event: EndpointEvent) async {
    guard !isOver else { return }
    // Whether it is about a call of this channel is known once all before it is done.
    await carryOut { if $0.concerns(event) { await $0.handleEvent(event) } }
  }

  /// Finishes the sinks of single members, also without having left.
  package func finishSinks() { voices.finish() }

  /// The endpoint is closed.
  func close() async { await carryOut { $0.isOver = true } }

  private func concerns(_ event: EndpointEvent) -> Bool {
    switch event {
    case .channel(let name, _): name == channel.name
    case .incomingCall(let call): isMember(call)
    case .callProgress(let call, _), .statistics(let call, _), .callEnded(let call, _):
      links.uid(of: call) != nil || flights.names(call)
    default: false
    }
  }

  /// One after the other, so that nothing happens between the parts of something else.
  func run(_ inputs: AsyncStream<ChannelMediaInput>) async {
    for await input in inputs {
      await handle(input)
      await advance()
      schedule()
      if isOver { break }
    }
    loop.removeTimer(timer)
    if ending == nil { await end(.closed) }
    feed.finish()
    // Commands that came meanwhile, and what the relay's end brought.
    for await input in inputs { await handle(input) }
    flights.closeAll().forEach(options.onStep)
    if let ending { options.onStep(.ended(ending)) }
  }

  private func handle(_ input: ChannelMediaInput) async {
    switch input {
    case .relay(let step): await handleRelay(step)
    case .command(let command): await command.body(self)
    case .wake: break
    }
  }

  /// Carries out a command in its turn; at once when it is over, where it does nothing.
  func carryOut<Result: Sendable>(
    _ body: @escaping @Sendable (isolated ChannelMedia) async -> Result
  ) async -> Result {
    await withCheckedContinuation { (continuation: CheckedContinuation<Result, Never>) in
      let command = ChannelMediaInput.Command { media in
        continuation.resume(returning: await body(media))
      }
      if case .terminated = feed.yield(.command(command)) {
        Task { await command.body(self) }
      }
    }
  }

  private func handleEvent(_ event: EndpointEvent) async {
    guard !isOver else { return }
    switch event {
    case .channel(channel.name, let step): await handleStep(step)
    case .incomingCall(let call): if isMember(call) { await answer(call) }
    case .callProgress(let call, let progress): handleProgress(progress, of: call)
    case .statistics(let call, let numbers):
      guard let uid = links.uid(of: call) else { return }
      roll.setNumbers(numbers, of: uid)
      options.onStep(.statistics(uid: uid, numbers))
    case .callEnded(let call, let report): await handleEnd(of: call, report)
    default: break
    }
  }

  private func handleStep(_ step: ChannelStep) async {
    switch step {
    case .joined: joined = SystemClock.now
    case .userJoined(let user, _), .audienceJoined(let user):
      links.add(user)
      roll.add(user)
      await muteRelay(user.uid, user.id)
    case .userOffline(let uid, .becameAudience):
      links.setAudience(uid)
      roll.setAudience(uid)
    case .userOffline(let uid, _), .audienceLeft(let uid, _): await removeMember(uid)
    case .memberChecked(let uid, let isGenuine): links.check(uid, isGenuine: isGenuine)
    case .roleChanged(_, let new):
      role = new
      await hangUp(links.unwanted(own: new))
    case .relayUnavailable: way.handleUnavailable()
    default: break
    }
    options.onStep(.channel(step))
    await relay?.handle(step)
    switch step {
    case .roleChanged, .roleChangeFailed: await adoptMutes { $0.isResigning = false }
    case .userOffline(let uid, let reason) where reason != .becameAudience:
      await muteRelay(uid, nil)
    case .audienceLeft(let uid, _): await muteRelay(uid, nil)
    case .stateChanged(.failed, let reason): await end(.channelFailed(reason))
    // One that is gone for a while is asked for again; by `relayOnly` it is so from the beginning.
    case .relayUnavailable where options.way == .relay && relayed == nil && !way.callsAll:
      await end(.noRelay)
    case .left: isOver = true
    default: break
    }
  }

  private func removeMember(_ uid: UInt32) async {
    roll.leave(uid, heard: voices.heard(uid))
    voices.remove(uid)
    overlap.remove(uid)
    heard.remove(uid)
    if let call = links.remove(uid) { await hangUp([call]) }
  }

  func handleFirstFrame(of uid: UInt32) {
    guard heard.insert(uid).inserted else { return }
    roll.hear(uid)
    options.onStep(.firstFrame(uid: uid))
  }

  private func handleRelay(_ step: ChannelRelayStep) async {
    if let messages = flights.steps(of: step) {
      messages.forEach(options.onStep)
      return
    }
    switch step {
    case .connected:
      way.handleConnected()
      if relayed == nil { relayed = RelayCounts() }
      overlap.handleConnected(now: SystemClock.now)
    case .lost:
      relayed?.losses += 1
      way.handleLost()
      links.retryAll()
    case .refused(.relayFull):
      way.handleFull()
      links.retryAll()
    case .statistics(let all), .ended(let all): enter(all)
    default: break
    }
    options.onStep(.relay(step))
    switch step {
    case .firstFrame(let uid, _): handleFirstFrame(of: uid)
    case .audioMuted(let uid, let isMuted): options.onStep(.muted(uid: uid, isMuted))
    case .refused(.relayFull) where options.way.isByRelay && relayed == nil: await end(.relayFull)
    default: break
    }
  }

  // MARK: - What follows

  private func advance() async {
    guard ending == nil, let joined else { return }
    let now = SystemClock.now
    await channel.setCarried(way.updateCarried(hasCalls: !links.calls.isEmpty))
    let counts = links.counts
    let step = way.update(
      hosts: counts.hosts + (role == .host ? 1 : 0), members: counts.members + 1,
      isLinked: links.isComplete(own: role), stay: now - joined, now: now)
    switch step {
    case .startRelay: await startRelay()
    case .restRelay:
      await countRelay()
      await relay?.rest()
      options.onStep(.wayChanged(.mesh))
    case .refuse:
      return await end(.tooManyMembers(counts.members + 1, isRelayFull: way.isFull))
    case nil: break
    }
    if relay != nil, !links.calls.isEmpty { await reviewCalls(now: now) }
    links.setCallsAll(way.callsAll, now: now)
    if way.makesCalls(now: now) { await dial(now: now) }
  }

  private func schedule() {
    var next: Instant?
    if ending == nil, joined != nil {
      let now = SystemClock.now
      next = earliest(
        way.nextDeadline(after: now), way.makesCalls(now: now) ? links.nextRetry(own: role) : nil)
      if relay != nil, !links.calls.isEmpty { next = earliest(next, now + ChannelOverlap.pace) }
    }
    loop.setDeadline(timer, next)
  }

  /// Ends calls and the relay. What is left by a wish is over once the channel says so.
  private func end(_ why: ChannelMediaEnd) async {
    guard ending == nil else { return }
    ending = why
    if let all = await relay?.statistics { enter(all) }
    await hangUp(links.calls)
    await countRelay()
    await relay?.stop()
    relay = nil
    voices.finish()
    switch why {
    case .left, .channelFailed, .closed: break
    case .noRelay, .relayFull, .tooManyMembers: await channel.leave()
    }
    if why != .left { isOver = true }
  }

  // MARK: - The relay

  private func startRelay() async {
    options.onStep(.wayChanged(.relay))
    if relay == nil {
      let feed = self.feed
      let relay = ChannelRelay(channel, options.relayed(voices) { feed.yield(.relay($0)) })
      self.relay = relay
      await mutes.apply(to: relay, insteadOf: ChannelMutes(), links.users)
    }
    await relay?.start()
  }

  /// Ends the calls whose other ends have a seat as we have.
  private func reviewCalls(now: Instant) async {
    guard let relay else { return }
    let seatless = links.seatless
    for (user, call) in links.linked where !seatless.contains(call) {
      let isRelayed = await relay.silence(of: user.uid).map { $0 < ChannelOverlap.recent } ?? false
      let isSeated = await relay.isSeated(user.uid)
      voices.setRelayed(isRelayed, user.uid)
      if !isRelayed, links.isHeard(call) { await relay.handleCall(with: user.uid) }
      overlap.update(user.uid, isHeard: isRelayed, isSeated: isSeated, now: now)
      if way.endsCalls, overlap.isOver(with: user.uid, now: now) { await hangUp([call]) }
    }
  }

  private func countRelay() async {
    guard let relay else { return }
    let (counts, standing) = (await relay.counts, await relay.standing)
    relayed?.adopt(counts)
    if !standing.fingerprint.isEmpty { relayed?.fingerprint = standing.fingerprint }
  }
}

/// What goes through the one queue of a `ChannelMedia`.
enum ChannelMediaInput: Sendable {
  case relay(ChannelRelayStep)
  case command(Command)
  /// A deadline has come.
  case wake

  /// Is carried out once, also when all is over.
  struct Command: Sendable {
    let body: @Sendable (isolated ChannelMedia) async -> Void
  }
}
