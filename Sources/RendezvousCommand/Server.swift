import Arguments
import Glibc
import Primitives
import Reactor
import Relay
import Rendezvous
import SecureSession
import Storage
import Tokens
import Wire

/// The running server: one loop, one socket, one machine, and what watches over them.
final class Server {
  private let options: ServeOptions
  private let loop: EventLoop
  private let driver: MachineDriver<RendezvousMachine>
  private let store: SQLiteStore
  private let identityFile: IdentityFile
  private var log: Log
  private let events: EventLines?
  private var metrics: MetricsServer?
  private var signals: SignalWatch?
  private var housekeeping: EventLoop.Token?
  private let id: PeerID
  private var shutdownEnd: Instant?

  /// How long saying good-bye may take: the contract allows a second in all.
  private static let shutdownLimit = Duration.milliseconds(600)
  private static let housekeepingPace = Duration.seconds(60)

  init(_ options: ServeOptions) throws(ServeError) {
    self.options = options
    log = Log(level: options.logLevel)
    let admission = try Self.admission(options)
    let tokenKey = try Self.tokenKey(options)
    let relays = try Self.relays(options)
    let listen = try Self.resolve(options.listen, "--listen", defaultPort: 7400)
    do throws(StorageError) {
      try DataDirectory.make(options.data)
      identityFile = IdentityFile(path: options.data + "/identity")
      store = try SQLiteStore(path: options.data + "/registrations.db")
    } catch { throw .file(error) }
    var random = RandomSource.system
    var identity = try Self.identity(identityFile, random: &random)
    let card: ContactCard
    do throws(StorageError) {
      card = try Self.card(of: &identity, identityFile)
    } catch { throw .file(error) }
    id = identity.id
    let settings = ServerSettings(
      identity: identity, card: card, bootCounter: store.bootCounter, resetKey: store.resetKey,
      wallMilliseconds: SystemClock.wallNanoseconds / 1_000_000
        &- SystemClock.now.nanoseconds / 1_000_000,
      admission: admission, tokenKey: tokenKey, relays: relays)
    let machine = RendezvousMachine(
      settings, store: store, limits: options.isMeasurement ? .measurement : ServerLimits(),
      random: random)
    do throws(ReactorError) {
      loop = try EventLoop()
      var socketOptions = UDPSocket.Options()
      socketOptions.slotCount = 64
      socketOptions.kernelBufferByteCount = 4 << 20
      let socket = try UDPSocket(binding: listen, socketOptions)
      socket.sendECNCapable()
      driver = MachineDriver(machine, socket: socket, on: loop)
    } catch { throw .reactor(error, option: "--listen") }
    events = try Self.events(options)
    if let address = options.metrics { try listenForMetrics(address) }
  }

  /// Serves until a signal; the exit code.
  func run() -> Int32 {
    do throws(ReactorError) {
      try driver.start { [self] in handleEvent($0) }
      signals = try SignalWatch(SignalWatch.Signal.allCases, on: loop) { [self] in handleSignal($0)
      }
      let timer = try loop.addTimer { [self] now in keepHouse(now: now) }
      housekeeping = timer
      loop.setDeadline(timer, SystemClock.now + Self.housekeepingPace)
    } catch {
      LineOutput.standardError.write("earshot-rendezvous: \(error).")
      return 1
    }
    openOtherPort()
    announce()
    loop.run()
    do throws(StoreFailure) {
      try store.commit()
    } catch {
      LineOutput.standardError.write("earshot-rendezvous: \(error.reason)")
      return 8
    }
    log.write(.info, "stopped", "stopped", now: SystemClock.now)
    return 0
  }

  /// Echoes from another port, for clients that ask what gets in to them.
  private func openOtherPort() {
    do throws(ReactorError) {
      let port = try SendingPort(beside: driver.localAddress)
      driver.sendFromOtherPort = { bytes, remote, own in port.send(bytes, to: remote, from: own) }
      driver.withMachine { machine, _ in machine.hasOtherPort = true }
    } catch {
      log.write(.warning, "port", "no second port: \(error)", now: SystemClock.now)
    }
  }

  private func announce() {
    let address = driver.localAddress.description
    if options.printsJSON {
      LineOutput.standardOutput.write(
        JSONLine.make("listening", [("address", .text(address)), ("identity", .text("\(id)"))]))
    } else {
      let own = driver.localAddress
      let host = own.isUnspecified ? "HOST:\(own.port)" : address
      LineOutput.standardOutput.write(
        "listening on \(address); programs find it by --rendezvous \(host)#\(id)")
    }
  }

  // MARK: - On the loop

  private func handleEvent(_ event: ServerEvent) {
    events?.write(event, wallNanoseconds: SystemClock.wallNanoseconds)
    let now = SystemClock.now
    switch event {
    case .storeFailed(let failure):
      log.write(.error, "store", "the store failed: \(failure.reason)", now: now)
    case .loadChanged(let isUnderLoad):
      log.write(
        .warning, "load", isUnderLoad ? "under load: INITs need cookies" : "load is over",
        now: now)
    case .registered(let id, _, let status, let source):
      let who = options.logsIdentities ? " \(id) from \(source)" : ""
      log.write(.debug, "registered", "registered\(who): \(status)", now: now)
    case .refused(let id, let refusal, let source):
      let who = options.logsIdentities ? " \(id) from \(source)" : ""
      log.write(.warning, "refused", "refused\(who): \(refusal.rawValue)", now: now)
    case .left, .moved, .forwarded, .forwardRefused: break
    }
  }

  private func handleSignal(_ signal: SignalWatch.Signal) {
    switch signal {
    case .interrupt, .terminate: shutDown()
    case .hangUp: readAllowedAgain()
    case .user1, .user2:
      log.write(.info, "signal", "this signal does nothing", now: SystemClock.now)
    }
  }

  /// Who may register, from the file as it is now; a file with a mistake changes nothing. Clients
  /// that are registered stay until they register again.
  private func readAllowedAgain() {
    let now = SystemClock.now
    guard let path = options.allow else {
      return log.write(.info, "hang-up", "SIGHUP: without --allow nothing is read again", now: now)
    }
    do throws(ServeError) {
      let admission = try Self.admission(options)
      driver.withMachine { machine, _ in machine.admit(admission) }
      log.write(.info, "hang-up", "\(path) was read again", now: now)
    } catch {
      log.write(.error, "hang-up", "\(path) stays as it was: \(error.text)", now: now)
    }
  }

  /// Says good-bye to everyone, at most for `shutdownLimit`, then stops the loop.
  private func shutDown() {
    guard shutdownEnd == nil, let housekeeping else { return loop.stop() }
    let now = SystemClock.now
    shutdownEnd = now + Self.shutdownLimit
    metrics?.stop()
    driver.withMachine { machine, now in machine.goAway(now: now) }
    loop.setDeadline(housekeeping, now)
  }

  private func keepHouse(now: Instant) {
    guard let housekeeping else { return }
    if let shutdownEnd {
      if now >= shutdownEnd || driver.readMachine({ $0.isGone }) { return loop.stop() }
      loop.setDeadline(housekeeping, now + .milliseconds(10))
      return
    }
    driver.withMachine { machine, now in
      machine.setWallClock(
        unixMilliseconds: SystemClock.wallNanoseconds / 1_000_000, now: now)
    }
    rotateKeys(now: now)
    loop.setDeadline(housekeeping, now + Self.housekeepingPace)
  }

  /// A new device key every 30 days, and the card for it (docs/protocol/README.md §3).
  private func rotateKeys(now: Instant) {
    let seconds = SystemClock.wallNanoseconds / 1_000_000_000
    var random = RandomSource.system
    do throws(StorageError) {
      guard var identity = try identityFile.read(),
        identity.rotateIfDue(unixSeconds: seconds, random: &random)
      else { return }
      let card = try Self.card(of: &identity, identityFile)
      var fresh = Optional(identity)
      driver.withMachine { machine, _ in
        if let identity = fresh.take() { machine.renew(identity, card: card) }
      }
    } catch {
      log.write(.error, "identity", error.description, now: now)
    }
  }
}

// MARK: - Starting

extension Server {
  private static func resolve(
    _ text: String, _ option: String, defaultPort: UInt16
  ) throws(ServeError) -> SocketAddress {
    do throws(ReactorError) {
      let addresses = try Resolver.resolveBlocking(text, defaultPort: defaultPort)
      if let address = addresses.first { return address }
    } catch {
      throw .usage(
        UsageError(
          "\(option) wants an address like 192.0.2.1:7400, not '\(text)' (\(error.reason)).",
          advice: "IPv6 addresses stand in brackets: [::]:7400."))
    }
    throw .usage(UsageError("\(option): '\(text)' has no address."))
  }

  /// The identity in the file, made on first use, with a fresh key when its time has come.
  private static func identity(
    _ file: IdentityFile, random: inout RandomSource
  ) throws(ServeError) -> LocalIdentity {
    let seconds = SystemClock.wallNanoseconds / 1_000_000_000
    do throws(StorageError) {
      var identity = try file.readOrCreate(.rendezvous, unixSeconds: seconds, random: &random)
      if identity.rotateIfDue(unixSeconds: seconds, random: &random) {
        try file.replace(with: identity)
      }
      return identity
    } catch {
      throw .file(error)
    }
  }

  /// A card for the identity's present key; its serial is written down, never to be taken again.
  private static func card(
    of identity: inout LocalIdentity, _ file: IdentityFile
  ) throws(StorageError) -> ContactCard {
    let card: ContactCard
    do throws(WireError) {
      card = try identity.makeCard(unixSeconds: SystemClock.wallNanoseconds / 1_000_000_000)
    } catch {
      preconditionFailure("a card without a home always fits")
    }
    try file.replace(with: identity)
    return card
  }

  private static func events(_ options: ServeOptions) throws(ServeError) -> EventLines? {
    guard let path = options.events else { return nil }
    let output = path == "-" ? LineOutput.standardOutput : LineOutput(appendingTo: path)
    guard let output else {
      throw .unreadable(path: path, reason: unsafe String(cString: strerror(errno)))
    }
    return EventLines(
      to: output, logsIdentities: options.logsIdentities,
      wallNanoseconds: SystemClock.wallNanoseconds)
  }

  private static func admission(_ options: ServeOptions) throws(ServeError) -> Admission {
    guard let path = options.allow else { return .everyone }
    let text: String?
    do throws(StorageError) {
      text = try TextFile.read(path)
    } catch { throw .file(error) }
    guard let text else { throw .unreadable(path: path, reason: "no such file") }
    do throws(UsageError) {
      return try AllowList.parse(text, path: path)
    } catch { throw .usage(error) }
  }

  private static func tokenKey(_ options: ServeOptions) throws(ServeError) -> TokenPublicKey? {
    guard let path = options.requireToken else { return nil }
    do throws(StorageError) { return try TokenFiles.publicKey(at: path) } catch {
      throw .file(error)
    }
  }

  /// The TURN servers for clients, with the secret from its file.
  private static func relays(_ options: ServeOptions) throws(ServeError) -> RelayService? {
    guard let path = options.relaySecret else { return nil }
    do throws(StorageError) {
      let secret = try SecretTextFile.read(path) { RelaySecret($0) }
      return RelayService(uris: options.relays, secret: secret)
    } catch {
      throw .file(error)
    }
  }

  private func listenForMetrics(_ text: String) throws(ServeError) {
    let address = try Self.resolve(text, "--metrics", defaultPort: 9100)
    do throws(ReactorError) {
      metrics = try MetricsServer(binding: address, on: loop) { [driver, loop] in
        driver.readMachine { metricsText($0.counters, $0.gauges) }
          + Self.socketMetrics(driver.statistics, loop)
      }
    } catch { throw .reactor(error, option: "--metrics") }
    guard let address = metrics?.localAddress, !address.isLoopback else { return }
    log.write(
      .warning, "metrics",
      "metrics are open to everybody who reaches \(address): bind them to 127.0.0.1, or guard the "
        + "port.", now: SystemClock.now)
  }

  private static func socketMetrics(_ statistics: UDPStatistics, _ loop: EventLoop) -> String {
    let rows: [(String, String, UInt64)] = [
      (
        "send_dropped_room_total", "Datagrams the kernel had no room for.",
        statistics.droppedForRoom
      ),
      ("send_refused_total", "Datagrams the kernel refused.", statistics.droppedForRefusal),
      ("receive_errors_total", "Errors of receiving.", statistics.receiveErrors),
      ("longest_turn_ns", "Longest turn of the event loop.", loop.longestTurnNanoseconds),
    ]
    return rows.map { name, help, value in
      let kind = name.hasSuffix("_total") ? "counter" : "gauge"
      return
        "# HELP earshot_rendezvous_\(name) \(help)\n# TYPE earshot_rendezvous_\(name) \(kind)\n"
        + "earshot_rendezvous_\(name) \(value)\n"
    }.joined()
  }
}

/// `--allow`: one ID a line, and before it a name if the ID is to have one. A name alone would be
/// whoever's who asks for it first.
enum AllowList {
  static func parse(_ text: String, path: String) throws(UsageError) -> Admission {
    var ids: Set<PeerID> = []
    var names: [PeerName: PeerID] = [:]
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    {
      let words = line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace).map(String.init)
      guard let last = words.last else { continue }
      let place = "\(path), line \(index + 1)"
      guard words.count <= 2, let id = PeerID(last) else {
        let isName = words.count == 1 && PeerName(last) != nil
        throw UsageError(
          isName
            ? "\(place): '\(last)' is a name without an ID." : "\(place): '\(last)' is no ID.",
          advice: "Write ID, or NAME ID, on each line; `earshot keygen` prints the ID.")
      }
      ids.insert(id)
      guard words.count == 2 else { continue }
      guard let name = PeerName(words[0]), names[name] == nil || names[name] == id else {
        throw UsageError(
          "\(place): '\(words[0])' is no name, or has another ID above.",
          advice: "A name is 1..63 of A-Z a-z 0-9 . _ - and stands with one ID.")
      }
      names[name] = id
    }
    return .only(ids: ids, names: names)
  }
}
