internal import Calling
internal import Connectivity
internal import LastMile
internal import Messaging
internal import Peer
public import Primitives
internal import Reactor
internal import SecureSession
internal import Storage
internal import Wire

/// This program's presence in the network: one identity, one socket, and calls: one after the
/// other, or up to `Configuration.maximumCalls` at once, which share the uplink.
///
/// An actor that lives on its event loop's own thread: its methods run where the socket is read, so
/// there is one owner of all state and no lock.
public actor Endpoint {
  /// Who we are.
  public nonisolated let id: PeerID
  /// The UDP address the socket is bound to; by default `[::]`, which is every own address of
  /// both families. The one that a call uses is in its statistics (`CallStatistics.Path.local`).
  public nonisolated let localAddress: SocketAddress

  /// Whether the thread that sends and receives runs in real time now
  /// (`Configuration.usesRealTimeScheduling`).
  public nonisolated var hasRealTimeScheduling: Bool { loop.hasRealTimePriority }

  /// Why the file of pins cannot be used, if it cannot: then nobody counts as known who was not
  /// before.
  public nonisolated var pinFault: EarshotError? { known.fault.map { EarshotError(pins: $0) } }

  nonisolated let loop: EventLoop
  let driver: MachineDriver<PeerMachine>
  nonisolated let known: KnownIdentities
  var dialled: DialledRendezvous
  var readers = EventReaders()
  var registration = RegistrationState.connecting
  /// What was last heard of the relay.
  var relay: RelayState?
  let relayStreams: RelayStreams
  let routerPorts: RouterPorts
  var waiters = Waiters()
  var calls: [Wire.CallID: CallRecord] = [:]
  /// A call that both sides made at once goes on under the other's ID.
  var replacements: [Wire.CallID: Wire.CallID] = [:]
  var capture: (any MediaCapture)?
  var statisticsTimer: EventLoop.Token?
  /// When the numbers of each call are due.
  var statisticsSchedule = StatisticsSchedule<Wire.CallID>()
  /// The last answer of `localAddress(toward:)`.
  var sourceAddress: (remote: SocketAddress, local: SocketAddress)?
  /// Says when the host's addresses change; `nil` where the system does not.
  var addressWatch: AddressWatch?
  var hostAddresses = HostAddresses()
  /// While nothing has answered.
  var refusalSearch: RefusalSearch?
  /// The reader of the probe that runs.
  var probeObserver: ProbeObserver?
  private(set) var isClosed = false
  var usageMeter = HostUsageMeter()
  /// What of volumes was told.
  var volumes = VolumeTeller()

  /// The event loop's own thread: a method of this actor runs where the socket is read.
  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe loop.asUnownedSerialExecutor()
  }

  /// Opens a socket, reads or makes the identity, and begins to register.
  ///
  /// - Throws: When an address, a name or the identity file cannot be used. That the rendezvous
  ///   does not answer is not thrown but reported (`registrationChanged`).
  public static func open(_ configuration: Configuration) async throws(EarshotError) -> Endpoint {
    try await open(configuration, at: nil)
  }

  /// The same at one address of the rendezvous; `nil` = the system's choice.
  static func open(
    _ configuration: Configuration, at address: SocketAddress?
  ) async throws(EarshotError) -> Endpoint {
    let setup = try await EndpointSetup.make(configuration, at: address)
    let endpoint = Endpoint(setup)
    do throws(EarshotError) {
      try await endpoint.begin(configuration.logHandler)
    } catch {
      await endpoint.letGo()
      throw error
    }
    return endpoint
  }

  init(_ setup: consuming EndpointSetup) {
    id = setup.id
    known = setup.known
    dialled = setup.dialled
    loop = setup.loop
    localAddress = setup.localAddress
    relayStreams = RelayStreams(authorities: setup.relayAuthorities)
    routerPorts = RouterPorts(isWanted: setup.mapsPort)
    driver = MachineDriver(setup.machine, socket: setup.socket, on: setup.loop)
  }

  private func begin(_ logHandler: (@Sendable (LogEntry) -> Void)?) throws(EarshotError) {
    readers.begin(logHandler, for: self)
    do throws(ReactorError) {
      // Closures of this actor, not of nobody who then asks `assumeIsolated`: that would allocate
      // twice for each packet. What they hold is let go by `close`.
      let streams = relayStreams
      driver.sendByStream = { bytes, stream in streams.send(bytes, by: stream) }
      try driver.start { event in self.handleEvent(event) }
      statisticsTimer = try loop.addTimer { now in self.publishStatistics(now: now) }
      try PinWatch.begin(for: self)
    } catch {
      throw .systemFailure("starting the endpoint", detail: "\(error)")
    }
    driver.withMachine { machine, now in
      machine.openRelay(now: now)
      machine.register(now: now)
    }
    watchAddresses()
    watchRouter()
    watchForRefusal()
  }

  // MARK: - Events

  /// Everything that happens from now on, for one reader; each call gives a new stream. It begins
  /// with the state of the registration, unless that has only begun, of the relay and of the
  /// router's port, if anything is known of them, and with the end of the access token, if it is
  /// near; of a closed endpoint it is at its end. At most 4096 events wait for a reader; its
  /// unread messages hold back whoever sends them. Let go of a stream that is not read any more.
  public func events() -> AsyncStream<EndpointEvent> {
    .held(4096) { continuation in
      if readers.hasEnded { return continuation.finish() }
      let number = readers.add(continuation)
      if registration != .connecting { continuation.append(.registrationChanged(registration)) }
      if let relay { continuation.append(.relayChanged(relay)) }
      if routerPorts.told != .closed {
        continuation.append(.portMappingChanged(routerPorts.told))
      }
      if let left = driver.readMachine({ $0.tokenLeft(now: SystemClock.now) }) {
        continuation.append(.tokenWillExpire(in: left))
      }
      continuation.onTermination = { [weak self] _ in
        guard let self else { return }
        Task { await self.forget(number) }
      }
    }
  }

  func forget(_ reader: Int) { readers.remove(reader) }

  func publish(_ event: EndpointEvent) {
    if holdsBack(event) { return }
    readers.publishEvent(event)
  }

  /// Waits until the rendezvous has answered, and says what became of the name.
  ///
  /// - Throws: When registration failed for good, and when an attempt came to nothing, after 10 s,
  ///   or after 0.75 s in which the host of the rendezvous only said that nothing listens there, or
  ///   another identity than the given one answered: the endpoint then goes on by itself, and one
  ///   may wait again. What came to nothing before anybody waited is thrown at once.
  public func waitUntilRegistered() async throws(EarshotError) -> RegistrationState.NameStatus {
    try await withCheckedContinuation { enlist($0) }.get()
  }

  /// Looks at the state here and not before: the way into the continuation may be a suspension, and
  /// what happened in it would be missed.
  private func enlist(
    _ waiter: CheckedContinuation<Result<RegistrationState.NameStatus, EarshotError>, Never>
  ) {
    guard !isClosed else { return waiter.resume(returning: .failure(.closed)) }
    switch registration {
    case .registered(_, let name): waiter.resume(returning: .success(name))
    case .failed(let error): waiter.resume(returning: .failure(error))
    case .reconnecting where waiters.unheard != nil:
      if let error = waiters.unheard { waiter.resume(returning: .failure(error)) }
      waiters.unheard = nil
    case .connecting, .reconnecting: waiters.registration.append(waiter)
    }
  }

  // MARK: - Calls

  /// Invites somebody by name, by ID or by contact card. Returns at once; what comes of it is told
  /// by events.
  ///
  /// Where that one's own call rings here in this moment, it is accepted instead, and is the call
  /// that is returned.
  public func call(
    _ target: String, options: CallOptions = CallOptions()
  ) async throws(EarshotError) -> Call {
    try check(options)
    await takePinChanges()
    guard !isClosed else { throw .closed }
    let place = try self.place(of: target)
    if let ringing = ringingCall(from: place, with: options.userExtension) {
      try accept(ringing, options)
      tellAnswer(resolve(ringing))
      return Call(id: ringing, endpoint: self)
    }
    var invite = InviteOptions(options)
    if case .name(let name) = place { invite.expectedID = known.id(behind: name) }
    let record = CallRecord(options, place, dialled: target)
    record.ownName = ownName
    let callID = try command { machine, now throws(PeerRefusal) in
      try machine.invite(place, invite, now: now)
    }
    calls[callID] = record
    publish(.callStateChanged(CallID(callID), .calling, .localInvite))
    return Call(id: CallID(callID), endpoint: self)
  }

  /// The call of an event.
  public func call(_ id: CallID) -> Call { Call(id: id, endpoint: self) }

  func hangUp(_ id: CallID, _ farewell: Farewell) {
    let callID = resolve(id)
    do throws(EarshotError) {
      try traced("hangUp(reason:userExtension:)", id) { endpoint throws(EarshotError) in
        try endpoint.command { machine, now throws(PeerRefusal) in
          try machine.end(
            callID, .userHungUp, text: farewell.reason, userExtension: farewell.words, now: now)
        }
      }
    } catch {
      // It is over already, which is what was asked for.
    }
  }

  func send(_ id: CallID, _ message: [UInt8], stream: UInt8) throws(EarshotError) -> UInt64 {
    let callID = resolve(id)
    let message = try change(id) { record throws(EarshotError) in
      try record.data.message(message, stream: stream, heard: record.sentMediaTime)
    }
    return try command { machine, now throws(PeerRefusal) in
      try machine.send(message, on: callID, now: now).rawValue
    }
  }

  func resolve(_ id: CallID) -> Wire.CallID {
    let callID = id.wire
    return replacements[callID] ?? callID
  }

  func check(_ options: CallOptions) throws(EarshotError) {
    guard !isClosed else { throw .closed }
    try options.check()
  }

  func command<Result>(
    _ body: (inout PeerMachine, Instant) throws(PeerRefusal) -> Result
  ) throws(EarshotError) -> Result {
    do throws(PeerRefusal) {
      return try driver.withMachine(body)
    } catch {
      throw EarshotError(error)
    }
  }

  // MARK: - The end

  /// Hands the media of calls, decrypted, to `capture` from now on; `nil` stops that.
  public func captureMedia(to capture: (any MediaCapture)?) {
    self.capture = capture
    for (callID, record) in calls.sorted(by: { $0.key < $1.key }) {
      if let audio = record.audio { setAudioIntake(callID, audio) }
    }
  }

  /// Hangs up, says goodbye to the rendezvous, gives the router's port back, and closes the socket.
  /// Takes at most a second, and up to 1.2 s more where the router does not answer; up to nine
  /// while the other side of a call has not confirmed its end and the rendezvous is away. Whoever
  /// calls it meanwhile waits for the same end.
  public func close() async {
    guard !isClosed else { return await withCheckedContinuation { waiters.awaitEnd($0) } }
    isClosed = true
    waiters.release(.failure(.closed))
    driver.withMachine { machine, now in machine.shutDown(now: now) }
    await closeRouter()
    let deadline = SystemClock.now + .milliseconds(9_000)
    while SystemClock.now < deadline, !driver.readMachine({ $0.isShutDown }) {
      await pause(.milliseconds(20))
    }
    for callID in calls.keys.sorted() { if let record = calls[callID] { finishMedia(record) } }
    driver.withMachine { machine, now in machine.closeRelay(now: now) }
    driver.stop()
    relayStreams.closeAll()
    probeObserver?.continuation.finish()
    probeObserver = nil
    readers.finish()
    while waiters.resting > 0 { await pause(.milliseconds(5)) }
    letGo()
    waiters.end()
  }

  /// Everything that an endpoint has of its host.
  private func letGo() {
    driver.stop()
    addressWatch?.stop()
    if let statisticsTimer { loop.removeTimer(statisticsTimer) }
    if let volumeTimer = volumes.timer { loop.removeTimer(volumeTimer) }
    known.close()
    loop.stop()
  }

  /// A wait on the loop's own timer.
  func pause(_ duration: Duration) async { await loop.pause(duration) }
}

/// Who may look at the decrypted media of calls (`Endpoint.captureMedia`).
public protocol MediaCapture: AnyObject, Sendable {
  /// One audio frame that leaves or that came in; on the event loop, must return at once.
  func capture(_ frame: CapturedFrame, payload: [UInt8])
  /// The same of video: a whole encoded frame. Does nothing unless it is written.
  func capture(_ frame: CapturedVideoFrame, payload: [UInt8])
  /// Parts of video frames asked for again, or a key frame. Does nothing unless it is written.
  func capture(_ request: CapturedVideoRequest)
  /// What is known of a call's media, every 2 s; on the event loop, must return at once. Does
  /// nothing unless it is written.
  func capture(_ report: CapturedReport)
}

extension MediaCapture {
  /// Does nothing.
  public func capture(_ frame: CapturedVideoFrame, payload: [UInt8]) {}
  /// Does nothing.
  public func capture(_ request: CapturedVideoRequest) {}
  /// Does nothing.
  public func capture(_ report: CapturedReport) {}
}

/// A call's numbers at one moment, for whoever shows them as RTCP.
public struct CapturedReport: Sendable {
  /// The own address.
  public var local: SocketAddress
  /// The other side's address.
  public var remote: SocketAddress
  /// What was sent, received, and reported by the other side.
  public var statistics: CallStatistics
  /// Nanoseconds since 1970 UTC.
  public var wallNanoseconds: UInt64

  package init(
    local: SocketAddress, remote: SocketAddress, statistics: CallStatistics,
    wallNanoseconds: UInt64
  ) {
    self.local = local
    self.remote = remote
    self.statistics = statistics
    self.wallNanoseconds = wallNanoseconds
  }
}

/// What is known of a captured frame besides its bytes.
public struct CapturedFrame: Sendable {
  /// Whether it leaves.
  public var isOutgoing: Bool
  /// The own address.
  public var local: SocketAddress
  /// The other side's address.
  public var remote: SocketAddress
  /// Media time of its first sample, in 10 ms; × 480 it is the RTP timestamp.
  public var mediaTime: UInt16
  /// First frame after silence.
  public var isMarked: Bool
  /// Nanoseconds since 1970 UTC.
  public var wallNanoseconds: UInt64

  package init(
    isOutgoing: Bool, local: SocketAddress, remote: SocketAddress, mediaTime: UInt16,
    isMarked: Bool, wallNanoseconds: UInt64
  ) {
    self.isOutgoing = isOutgoing
    self.local = local
    self.remote = remote
    self.mediaTime = mediaTime
    self.isMarked = isMarked
    self.wallNanoseconds = wallNanoseconds
  }
}
