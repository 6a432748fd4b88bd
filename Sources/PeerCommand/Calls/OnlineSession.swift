package import Earshot
internal import MediaFiles
internal import Primitives
package import Reactor

/// What the commands that go online begin with: the files that are asked for, the endpoint, and the
/// queue of everything that happens.
package final class OnlineSession {
  package let options: OnlineOptions
  package let console: Console
  package let lines: JSONLines
  package let inbox: Inbox
  package let endpoint: Endpoint
  package private(set) var contact: RendezvousContact
  /// Whether a call runs: an outage is told in other words then.
  package var isInCall = false
  /// Whether messages of a call are told in the lines; a transfer has too many, and its own lines.
  package var tellsMessages = true
  /// Names that refused callers claimed.
  private var impostors: [String] = []
  private let pcap: MediaPCAP?
  private let report: OutputFile?
  private var tokenFile: TokenFile?
  private var iterator: AsyncStream<SessionInput>.Iterator
  /// Whether anything could not be written or read on the way.
  package private(set) var hadFault = false

  /// Opens the files first: a bad one stops the program before anybody is disturbed.
  ///
  /// - Parameter isPatient: Whether a rendezvous that is not there, or has no address yet, is
  ///   waited for without end.
  package init(
    _ options: OnlineOptions, _ console: Console, on loop: EventLoop, readsKeys: Bool,
    isPatient: Bool = false
  ) async throws(CommandFailure) {
    let options = try options.withToken()
    (self.options, self.console) = (options, console)
    let newIdentity = try Self.newIdentity(options)
    lines = JSONLines(to: try Self.lineOutputs(options))
    for fault in lines.faults { console.complain(fault) }
    lines.onFault = { console.complain($0) }
    report = try options.report.map { path throws(CommandFailure) in
      try Self.create(path, options)
    }
    do throws(MediaFileError) {
      pcap = try options.pcap.map { path throws(MediaFileError) in
        try MediaPCAP(path, overwrites: options.overwrites)
      }
    } catch {
      throw CommandFailure(error)
    }
    do throws(ReactorError) {
      inbox = try Inbox(on: loop, readsKeys: readsKeys)
    } catch {
      throw CommandFailure(system: error)
    }
    var opening = Opening(options, console, lines, inbox, isPatient: isPatient)
    endpoint = try await opening.run()
    contact = opening.contact
    iterator = opening.iterator
    let isRealTime = endpoint.hasRealTimeScheduling
    if let newIdentity { console.say("A new identity was made in \(newIdentity).") }
    if let fault = endpoint.pinFault {
      console.log(.warning, "\(fault.message) Nobody counts as known. \(fault.advice)")
    }
    console.log(.debug, "network thread: \(isRealTime ? "real-time" : "ordinary") scheduling")
    await inbox.follow(endpoint)
    await endpoint.captureMedia(to: pcap)
    try announceLongWait()
  }

  /// The file of an identity that is made now; `nil` for one that is there.
  private static func newIdentity(_ options: OnlineOptions) throws(CommandFailure) -> String? {
    do throws(EarshotError) {
      try LocalIdentityFile.requireFolder(of: options.identity)
      let path = try LocalIdentityFile.path(options.identity)
      return ProcessSurroundings.isThere(path) ? nil : path
    } catch {
      throw CommandFailure(error)
    }
  }

  /// Nobody waits without being told for what.
  private func announceLongWait() throws(CommandFailure) {
    do throws(ReactorError) {
      try inbox.remind(after: Self.quietWait) { [weak self] in self?.announceWait() }
    } catch {
      throw CommandFailure(system: error)
    }
  }

  private func announceWait() {
    guard !contact.hasHadContact, contact.failure == nil, contact.trouble == nil else { return }
    console.announceWait("waiting for the rendezvous at \(options.rendezvous)")
  }

  /// How long a wait needs no words.
  static let quietWait = Duration.seconds(1)

  private static func lineOutputs(_ options: OnlineOptions) throws(CommandFailure) -> [OutputFile] {
    var outputs: [OutputFile] = options.isJSON ? [.standardOutput] : []
    switch options.events {
    case nil: break
    case "-": if !options.isJSON { outputs.append(.standardOutput) }
    case .some(let path): outputs.append(try create(path, options))
    }
    return outputs
  }

  private static func create(
    _ path: String, _ options: OnlineOptions
  ) throws(CommandFailure) -> OutputFile {
    do throws(ReactorError) {
      return try OutputFile(try PendingFile(path, overwrites: options.overwrites))
    } catch {
      throw CommandFailure(file: error)
    }
  }

  /// What happened next; events are written down on the way, and outages told.
  package func next() async -> SessionInput? {
    let input = await iterator.next(isolation: #isolation)
    if case .endpoint(let event) = input, event.isOfMessages { inbox.messages.leave() }
    if case .endpoint(let event) = input, tellsMessages || !event.isOfMessages {
      EventLine.write(event, to: lines)
      if case .callProgress(_, let step) = event { console.log(.debug, EventLine.name(of: step)) }
      if case .portMappingChanged(.open(let port)) = event {
        console.log(
          .info,
          "\(port.router.hostText) lets peers in at \(port.external) (\(port.service.rawValue)).")
      }
      if case .relayChanged(.unavailable(let error)) = event {
        console.log(.warning, "\(error.message) \(error.advice)")
      }
      follow(tokenOf: event)
      if case .registrationChanged(let state) = event,
        let words = contact.follow(state, isInCall: isInCall, now: SystemClock.now)
      {
        console.log(.warning, words)
      }
      if case .registrationChanged(.registered) = event { await tellOfClock() }
    }
    if case .token(let text) = input { await renewToken(text) }
    return input
  }

  /// Once, if this host's clock is one by which calls could not be judged.
  private func tellOfClock() async {
    guard !contact.hasToldOfClock, let clocks = await endpoint.clockDifference, clocks.isLarge
    else { return }
    contact.hasToldOfClock = true
    EventLine.line("clockDiffers", to: lines) {
      $0.add("offsetMs", Int(clocks.offset.milliseconds))
    }
    console.log(
      .warning,
      "\(clocks.sentence). Calls work; set the clock (timedatectl set-ntp true) for logs, files and "
        + "certificates.")
  }

  /// Looks for a newer access token when it is time.
  private func follow(tokenOf event: EndpointEvent) {
    switch event {
    case .tokenWillExpire(let left):
      guard let tokenFile = openTokenFile(), !watch(tokenFile) else { return }
      console.log(
        .warning,
        "the access token expires in \(max(0, left.milliseconds) / 1000) s; put a newer "
          + "one into \(tokenFile.path)")
    case .registrationChanged(let state) where RendezvousContact.wantsToken(state):
      // No warning need have come before: the rendezvous may have another key since it was started
      // again. `RendezvousContact` has the words.
      if let tokenFile = openTokenFile() { _ = watch(tokenFile) }
    case .tokenRenewed:
      tokenFile?.stop()
      console.log(.info, "the rendezvous accepted a newer access token")
    case .tokenRefused(let error): console.log(.warning, "\(error.message) \(error.advice)")
    default: break
    }
  }

  private func openTokenFile() -> TokenFile? {
    if tokenFile == nil, let path = options.token, let text = options.tokenText {
      tokenFile = inbox.tokenFile(path, text: text)
    }
    return tokenFile
  }

  /// Whether there is another token in the file already.
  private func watch(_ file: TokenFile) -> Bool {
    do throws(ReactorError) {
      return try file.watch()
    } catch {
      remember(CommandFailure(system: error))
      return false
    }
  }

  private func renewToken(_ text: String) async {
    do throws(EarshotError) {
      try await endpoint.renewToken(text)
    } catch {
      console.log(.warning, "\(error.message) \(error.advice)")
    }
  }

  /// A caller with the name of somebody else was refused; said once of each name, so that whoever
  /// repeats it fills no log.
  package func tellOfImpostor(_ report: CallReport) {
    guard report.role == .callee, report.trust == .changed, let error = report.error,
      let name = report.peerName, impostors.count < 100, !impostors.contains(name)
    else { return }
    impostors.append(name)
    console.log(.warning, "\(error.message) It was refused. \(error.advice)")
  }

  /// Waits until the rendezvous has answered, and says what became of the name.
  ///
  /// - Parameter isPatient: Whether attempts that come to nothing are waited out.
  /// - Throws: Also when a signal came first.
  package func waitUntilRegistered(
    isPatient: Bool = false
  ) async throws(CommandFailure) -> RegistrationState.NameStatus {
    console.log(.info, "registering at \(options.rendezvous)")
    while let input = await next() {
      switch input {
      case .endpoint(.registrationChanged(.registered(_, let status))): return status
      case .endpoint(.registrationChanged):
        guard let error = contact.failure ?? (isPatient ? nil : contact.trouble) else { continue }
        throw await conclude(CommandFailure(error))
      case .signal(.interrupt), .signal(.terminate), .signal(.hangUp), .key("q"):
        throw await conclude(
          CommandFailure(.interrupted, "Interrupted before the rendezvous had answered."))
      default: break
      }
    }
    throw CommandFailure(.failed, "The endpoint went away.")
  }

  /// Closes the endpoint of a command that came to nothing before there was a call; the lines get
  /// their summary all the same.
  package func conclude(_ failure: CommandFailure) async -> CommandFailure {
    lines.write("summary") { object in
      object.add("outcome", failure.outcome)
      object.add("reason", failure.message)
    }
    await endpoint.close()
    return failure
  }

  /// Whether a page is written at the end.
  package var writesReport: Bool { report != nil }

  /// Says at once what could not be written or read; the exit code has it, too. Who runs on for
  /// days is not told of it at the end alone.
  package func remember(_ fault: CommandFailure?) {
    guard let fault else { return }
    hadFault = true
    console.complain(fault)
    lines.write("event") { object in
      object.add("name", "fileFailed")
      object.add("message", fault.message)
    }
  }

  /// The same of one that says by itself what to do.
  package func remember(_ fault: String?) {
    remember(fault.map { CommandFailure(.file, $0) })
  }

  /// Says goodbye and closes the files.
  ///
  /// - Parameters:
  ///   - run: The last call, for the report page.
  ///   - code: What is returned unless a file failed.
  package func finish(_ run: CallRun?, _ code: ExitCode) async -> ExitCode {
    await finish(page: run?.page, code)
  }

  /// The same with the report page as it is to be written.
  package func finish(page: String?, _ code: ExitCode) async -> ExitCode {
    await endpoint.captureMedia(to: nil)
    pcap?.finish()
    remember(pcap?.fault)
    if let path = options.pcap, page != nil, pcap?.fault == nil {
      let name = Printable.only(path)
      console.say("To see the capture: wireshark --enable-heuristic rtp_udp \(name)")
    }
    if let report, let page { write(page, to: report) }
    await endpoint.close()
    let isWhole = !hadFault && lines.faults.isEmpty
    return isWhole || code != .done && code != .quality ? code : .file
  }

  private func write(_ page: String, to report: OutputFile) {
    do throws(ReactorError) {
      try report.write(page)
    } catch {
      remember(CommandFailure(unwritten: report.name, error))
    }
  }
}

/// The wait for the endpoint: for a host name without an address as long as it takes, where that
/// is wanted.
private struct Opening {
  let options: OnlineOptions
  let console: Console
  let lines: JSONLines
  let inbox: Inbox
  let isPatient: Bool
  var contact: RendezvousContact
  var iterator: AsyncStream<SessionInput>.Iterator
  private var delay = RetryDelay()

  init(
    _ options: OnlineOptions, _ console: Console, _ lines: JSONLines, _ inbox: Inbox,
    isPatient: Bool
  ) {
    self.options = options
    self.console = console
    self.lines = lines
    self.inbox = inbox
    self.isPatient = isPatient
    contact = RendezvousContact(isPatient: isPatient)
    iterator = inbox.inputs.makeAsyncIterator()
  }

  mutating func run() async throws(CommandFailure) -> Endpoint {
    inbox.open(options.configuration)
    while let input = await iterator.next(isolation: #isolation) {
      switch input {
      case .opened(.success(let endpoint)): return endpoint
      case .opened(.failure(let error)):
        guard isPatient, error.code == .hostNotFound else { throw CommandFailure(error) }
        waitAndRetry(error)
      case .wake: inbox.open(options.configuration)
      case .signal(.interrupt), .signal(.terminate), .signal(.hangUp), .key("q"):
        throw CommandFailure(.interrupted, "Interrupted before the rendezvous had answered.")
      default: break
      }
    }
    throw CommandFailure(.failed, "The endpoint went away.")
  }

  private mutating func waitAndRetry(_ error: EarshotError) {
    let state = RegistrationState.reconnecting(error)
    if let words = contact.follow(state, isInCall: false, now: SystemClock.now) {
      console.log(.warning, words)
      EventLine.write(.registrationChanged(state), to: lines)
    }
    inbox.wake(at: SystemClock.now + delay.next(chance: .random(in: 0..<1)))
  }
}
