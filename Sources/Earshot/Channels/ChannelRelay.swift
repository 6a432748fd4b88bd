internal import Audio
internal import Channels
internal import GroupKeys
internal import Peer
internal import Primitives
internal import Reactor
internal import SecureSession
internal import Wire

/// The audio of one channel by way of a relay that cannot hear it (docs/protocol/relay.md): the own
/// source goes out once, sealed for the members that this endpoint has verified, and each host that
/// is heard has a sink. Lives on the endpoint's loop.
///
/// Hand every step of the channel to `handle`.
public actor ChannelRelay {
  /// What is sent, and where what comes goes.
  public struct Options: Sendable {
    /// What a host publishes, made whenever it begins to; `nil` = nothing.
    public var makeSource: (@Sendable () -> any AudioSource)?
    /// A sink for a host, by its uid.
    public var makeSink: @Sendable (UInt32) -> any AudioSink
    /// Bits a second of Opus.
    public var bitrate = 32_000
    /// Of more hosts who speak at once as many of the loudest are heard, 1...64; `nil` = as many as
    /// the relay thinks good, usually 3. What the line does not carry is left out all the same.
    public var loudest: Int?
    /// The pictures that a host publishes while somebody wants them, made whenever it begins to;
    /// `nil` = none.
    public var makeVideoSource: (@Sendable () -> (any VideoSource)?)?
    /// What shows a host's pictures, by its uid; `nil` = none are wanted.
    public var makeVideoSink: (@Sendable (UInt32) -> (any VideoSink)?)?
    /// Bits a second of the own pictures at the most.
    public var maxVideoBitrate = 2_500_000
    /// The low stream beside them, made only while the relay has somebody for it; `nil` = none.
    public var lowVideoStream: LowVideoStream? = LowVideoStream(
      size: VideoSize(width: 320, height: 180), framesPerSecond: 15, bitsPerSecond: 100_000)
    /// What happens where the way to the relay does not hold them.
    public var fallback = CallOptions.VideoFallback.audioOnly
    /// Told on the endpoint's loop; must return at once.
    public var onStep: @Sendable (ChannelRelayStep) -> Void

    /// Nothing is asked for before `ChannelRelay.start`.
    public init(
      makeSource: (@Sendable () -> any AudioSource)?,
      makeSink: @escaping @Sendable (UInt32) -> any AudioSink,
      onStep: @escaping @Sendable (ChannelRelayStep) -> Void
    ) {
      self.makeSource = makeSource
      self.makeSink = makeSink
      self.onStep = onStep
    }
  }

  private let channel: Channel
  var options: Options
  nonisolated let loop: EventLoop
  var driver: MachineDriver<ChannelRelayMachine>?
  var sound = RelayedSound()
  var view = RelayedView()
  var streams = RelayedStreams()
  var numbers = RelayedNumbers()
  private var departures: [UInt32: Departure] = [:]
  private(set) var isStopped = false
  /// The newest role that was told of.
  private var role: MemberRole?
  /// Above those of all own keys that there were.
  private var generation: UInt32 = 0
  /// Told to leave the relay until it is started again.
  private var isResting = false
  private var question = GrantQuestion()
  private var contact = RelayContact.none
  /// Why there is no seat, as it was told last.
  private var toldRefusal: RelayRefusal?
  /// Names own messages; above those of all that there were.
  var messageCount: UInt64 = 0
  /// The relay that `driver` talks to.
  private var place: (relay: PeerID, address: SocketAddress)?

  /// The endpoint's loop: both run on its thread.
  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe loop.asUnownedSerialExecutor()
  }

  /// Joins nothing: the channel is joined already.
  public init(_ channel: Channel, _ options: Options) {
    self.channel = channel
    self.options = options
    loop = channel.endpoint.loop
  }

  /// Asks the rendezvous for a relay, until there is one: `ChannelStep.relayGranted` or
  /// `relayUnavailable` tells.
  public func start() async {
    isResting = false
    askAgain(after: .zero)
  }

  /// Takes a step of the channel.
  public func handle(_ step: ChannelStep) async {
    guard !isStopped else { return }
    switch step {
    case .relayGranted(let grant): await acceptGrant(grant.grant)
    case .userOffline(let uid, let reason), .audienceLeft(let uid, let reason):
      if let departure = RelayedMembership.departure(reason) { departures[uid] = departure }
      if let driver { numbers.remove(uid, driver, sound, view, now: SystemClock.now) }
      await refreshRoster()
      removeHost(uid)
    case .userJoined(let user, _):
      emit(streams.add(user.uid, hasScreen: options.makeVideoSink != nil, now: SystemClock.now))
      tellMute()
      await refreshRoster()
    case .audienceJoined, .memberReturned, .rejoined: await refreshRoster()
    case .memberChecked(let uid, _): await RelayedMembership.handToken(of: uid, channel, to: self)
    case .roleChanged(_, let role): await changeRole(to: role.wire)
    default: break
    }
  }

  /// Leaves the relay; `start` takes a seat again. All sinks are finished.
  public func rest() async {
    (isResting, contact) = (true, .none)
    question.close()
    await leaveRelay()
  }

  /// Ends it: the relay is told, and all sinks are finished.
  public func stop() async {
    guard !isStopped else { return }
    isStopped = true
    sound.stopVolumes(on: loop)
    await leaveRelay()
    numbers.stop(on: loop)
  }

  private func leaveRelay() async {
    emit(streams.end(now: SystemClock.now))
    tellEnd()
    view.stop(on: loop)
    sound.stop(on: loop)
    guard let leaving = forgetDriver() else { return }
    leaving.withMachine { machine, now in machine.shutDown(now: now) }
    for _ in 0..<25 where leaving.readMachine({ $0.isQuiet }) == false {
      await channel.endpoint.pause(.milliseconds(10))
    }
    leaving.stop()
  }

  private func dropDriver() {
    tellEnd()
    forgetDriver()?.stop()
    emit(streams.restartView(now: SystemClock.now))
    view.apply(streams)
  }

  private func forgetDriver() -> MachineDriver<ChannelRelayMachine>? {
    guard let driver else { return nil }
    generation = max(generation, driver.readMachine { $0.nextGeneration })
    sound.hosts = driver.readMachine { $0.hosts }
    forgetMessages(of: driver)
    numbers.addFrames(of: driver)
    self.driver = nil
    return driver
  }

  private var isWanted: Bool { !isStopped && !isResting }

  /// How long a host was not heard by the relay; `nil` = never since this has its seat.
  public func silence(of uid: UInt32) -> Duration? {
    sound.lastHeard[uid].map { SystemClock.now - $0 }
  }

  /// A host is heard by a call, and not by the relay.
  func handleCall(with uid: UInt32) {
    driver?.withMachine { sound.handleCall(with: uid, by: &$0, now: $1) }
  }

  /// Whether a host is to be heard by the relay is known anew.
  func updateSilence(of uid: UInt32) {
    sound.setSilent(driver?.readMachine { $0.isSilent(uid) } ?? false, uid)
  }

  private func acceptGrant(_ grant: ChannelRelayGrant) async {
    guard isWanted else { return question.close() }
    let standing = await RelayedMembership.standing(channel.endpoint, channel.name)
    if let driver, let place, place == (grant.relay, grant.address), !standing.isAfter(driver) {
      question.close(by: grant.relay)
      return driver.withMachine { machine, now in machine.renew(grant, now: now) }
    }
    // Another relay, the same elsewhere, or another stay: the former seat ends by itself.
    dropDriver()
    guard
      var materials = await RelayedMembership.materials(
        channel.endpoint, channel.name, grant, as: role, generation, options)
    else { return }  // There is no roster yet: it is asked again.
    // Meanwhile it may have been stopped, or another grant may have come.
    guard isWanted, self.driver == nil else { return }
    do {
      let driver = try materials.makeDriver(on: loop)
      self.driver = driver
      place = (grant.relay, grant.address)
      try driver.start { event in self.handleEvent(event) }
      driver.withMachine { machine, _ in machine.takeOver(sound.hosts) }
      question.close()
      watchSeat(at: grant.relay)
      tellMute()
      try numbers.begin(on: loop, sound.playingUIDs) { now in self.tellStatistics(now: now) }
    } catch {
      forgetDriver()?.stop()
      return options.onStep(.audioFailed("\(error)"))
    }
    await refreshRoster()
  }

  private func handleEvent(_ event: ChannelRelayEvent) {
    if let step = ChannelRelayStep(event) { options.onStep(step) }
    switch event {
    case .connected:
      question.handleSeat()
      sound.silenceAll()
      (contact, numbers.isLost, toldRefusal) = (.seated, false, nil)
      emit(streams.begin(now: SystemClock.now))
    case .publishing: beginSending()
    case .lost:
      (contact, numbers.isLost) = (.none, true)
      if let place { askAgain(after: .zero, lost: place.relay) }
    case .grantNeeded: askAgain(after: .zero)
    case .refused(let refusal): handleRefusal(RelayRefusal(refusal))
    case .firstFrame(let uid): handleFirstFrame(of: uid)
    case .audioMuted(let uid, let isMuted): handleRemoteMute(uid, isMuted)
    case .audioArrived(let uid): takeAudio(uid)
    case .audioLeftOut(let uid): updateSilence(of: uid)
    default: handlePictureEvent(event)
    }
  }

  private func handleRefusal(_ refusal: RelayRefusal) {
    if toldRefusal != refusal { options.onStep(.refused(refusal)) }
    toldRefusal = refusal
    if refusal != .relayFull { askAgain(after: .seconds(2)) }  // A grant makes no room.
  }

  /// What is granted may be gone already.
  private func watchSeat(at relay: PeerID) {
    Task {
      guard await rests(GrantQuestion.seatPatience), isUnanswered(by: relay) else { return }
      askAgain(after: .zero, lost: relay)
      if await rests(GrantQuestion.tellingPatience), isUnanswered(by: relay), !numbers.isLost {
        options.onStep(.lost)
      }
    }
  }

  private func isUnanswered(by relay: PeerID) -> Bool {
    place?.relay == relay && toldRefusal == nil && driver?.readMachine { $0.isConnected } == false
  }

  private func askAgain(after wait: Duration, lost: PeerID? = nil) {
    let opened = question.open(after: wait, lost, now: SystemClock.now)
    Task {
      guard let (number, wait) = opened, await rests(wait) else { return }
      // The question or its answer may get lost, and the rendezvous be away.
      while question.isOpen(number), isWanted {
        await RelayedMembership.ask(channel.endpoint, channel.name, lost: question.lostRelay)
        guard await rests(question.popPace()) else { return }
      }
    }
  }

  /// - Returns: `false` where the endpoint was closed meanwhile.
  private func rests(_ time: Duration) async -> Bool {
    await channel.endpoint.rest(time, step: GrantQuestion.step)
  }

  /// An audience is silent at once, a host is heard as soon as the relay has its new grant.
  private func changeRole(to role: MemberRole) async {
    self.role = role
    if role == .audience {
      view.stopSending(on: loop)
      sound.stopSending(on: loop)
      emit(streams.endOwn(now: SystemClock.now))
    }
    let standing = await RelayedMembership.standing(channel.endpoint, channel.name)
    guard let standing, self.role == role else { return }
    driver?.withMachine { $0.handleRole(role, token: standing.token, now: $1) }
    await refreshRoster()
  }

  private func refreshRoster() async {
    let found = await RelayedMembership.standing(channel.endpoint, channel.name)
    guard let standing = found else { return }
    if let driver, found.isAfter(driver) { return renewSeat() }
    driver?.withMachine { $0.handle(standing, departures, now: $1) }
    departures = [:]
  }

  /// To others we are somebody new, as after a rendezvous that forgot us. What is sealed for the
  /// one before opens no more as soon as they have new seats: until then the old one serves.
  private func renewSeat() {
    askAgain(after: .zero)
    guard contact == .seated else { return }
    contact = .renewing(since: SystemClock.now)
    Task { [renewing = contact] in
      guard await rests(RelayContact.patience), contact == renewing, isWanted else { return }
      (contact, numbers.isLost) = (.none, true)
      options.onStep(.lost)
    }
  }

  private func beginSending() {
    guard let makeSource = options.makeSource, !sound.isSending else { return }
    do {
      try sound.beginSending(options.soundSettings(makeSource()), on: loop) { self.sendAudio() }
    } catch {
      return options.onStep(.audioFailed("\(error)"))
    }
    beginSendingPictures()
    emit(streams.beginOwn(sound, view, now: SystemClock.now))
  }

  private func sendAudio() {
    // What nobody takes out of the ring wakes nobody any more.
    if driver == nil { sound.dropFrames() }
    let hasSent = driver?.withMachine { machine, now in sound.sendFrames(by: &machine, now: now) }
    handleOwnSound(hasSent: hasSent == true)
  }

  private func takeAudio(_ uid: UInt32) {
    do {
      try beginPlaying(uid)
    } catch {
      return options.onStep(.audioFailed("\(error)"))
    }
    driver?.withMachine { machine, now in sound.playFrames(of: uid, by: &machine, now: now) }
  }
}
