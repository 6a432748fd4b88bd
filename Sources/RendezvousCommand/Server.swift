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
  let options: ServeOptions
  /// Reads the options again, with the file of `--config` as it is now.
  private let readOptions: () throws(ServeError) -> ServeOptions
  private let notice = ServiceNotice()
  let loop: EventLoop
  let driver: MachineDriver<RendezvousMachine>
  private let store: SQLiteStore
  /// To the other nodes; `nil` where there are none.
  let redis: RedisLink?
  private let identityFile: IdentityFile
  var log: Log
  private let events: EventLines?
  var metrics: MetricsServer?
  private var signals: SignalWatch?
  private var housekeeping: EventLoop.Token?
  private let id: PeerID
  /// The nodes that this one is of; clients pin their root.
  private(set) var nodes: NodeList?
  private var nextLook = Instant.zero
  var outage = RedisOutage()
  private var shutdownEnd: Instant?

  /// How long saying good-bye may take: the contract allows a second without `--drain`.
  private static let shutdownLimit = Duration.milliseconds(600)
  private static let housekeepingPace = Duration.seconds(60)

  init(
    _ readOptions: @escaping () throws(ServeError) -> ServeOptions
  ) throws(ServeError) {
    let options = try readOptions()
    self.options = options
    self.readOptions = readOptions
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
    let card = try Self.startCard(of: &identity, identityFile)
    id = identity.id
    let nodes = try Self.nodes(options, of: id, isShared: options.redis != nil)
    self.nodes = nodes
    var settings = ServerSettings(
      identity: identity, card: card, bootCounter: store.bootCounter, resetKey: store.resetKey,
      wallMilliseconds: SystemClock.wallNanoseconds / 1_000_000
        &- SystemClock.now.nanoseconds / 1_000_000,
      admission: admission, tokenKey: tokenKey, relays: relays, nodes: nodes)
    settings.relayIDs = try Self.relayIDs(options)
    redis = try Self.openRedis(options, node: id, random: random.split())
    redis?.store.home = store
    let machine = RendezvousMachine(
      settings, store: redis?.store ?? store,
      limits: Self.limits(options), random: random)
    do throws(ReactorError) {
      loop = try EventLoop()
      driver = MachineDriver(machine, socket: try Self.openSocket(at: listen), on: loop)
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
    lookAtNodes(now: SystemClock.now)
    guard startRedis() else { return 1 }
    announce()
    notice?.sendState(.ready)
    loop.run()
    metrics?.stop()
    redis?.stop()
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
      let root = (nodes?.root).map { [("root", JSONLine.Value.text("\($0)"))] } ?? []
      LineOutput.standardOutput.write(
        JSONLine.make(
          "listening", [("address", .text(address)), ("identity", .text("\(id)"))] + root))
    } else {
      let own = driver.localAddress
      let host = own.isUnspecified ? "HOST:\(own.port)" : address
      LineOutput.standardOutput.write(
        "listening on \(address); programs find it by --rendezvous \(host)#\(nodes?.root ?? id)")
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
    case .refused(let id, .relayNotNamed, let source):
      let who = options.logsIdentities ? " \(id) from \(source)" : ""
      log.write(
        .warning, "relay",
        "a relay\(who) offers itself that --relay-key does not name: add what its --print-id "
          + "prints, then send SIGHUP",
        now: now)
    case .refused(let id, let refusal, let source):
      let who = options.logsIdentities ? " \(id) from \(source)" : ""
      log.write(.warning, "refused", "refused\(who): \(refusal)", now: now)
    case .left, .moved, .forwarded, .forwardRefused: break
    }
  }

  private func handleSignal(_ signal: SignalWatch.Signal) {
    switch signal {
    case .interrupt, .terminate: shutDown()
    case .hangUp: readAgain()
    case .user1, .user2:
      log.write(.info, "signal", "this signal does nothing", now: SystemClock.now)
    }
  }

  /// Who may register, and how much is logged, from the files as they are now; with a mistake in
  /// one of them nothing changes. Clients that are registered stay until they register again.
  private func readAgain() {
    notice?.sendState(.reloading)
    defer { notice?.sendState(.ready) }
    let now = SystemClock.now
    guard let what = options.rereadFiles else {
      return log.write(
        .info, "hang-up",
        "SIGHUP: without --config, --allow, --require-token, --relay-key or --nodes nothing "
          + "is read again",
        now: now)
    }
    do throws(ServeError) {
      let fresh = try readOptions()
      let admission = try Self.admission(fresh)
      let key = try Self.tokenKey(fresh)
      let relays = try Self.relayIDs(fresh)
      let nodes = try Self.nodes(fresh, of: id, after: self.nodes, isShared: redis != nil)
      driver.withMachine { machine, now in
        machine.admit(admission, tokenKey: key, relays: relays, nodes: nodes, now: now)
      }
      log.level = fresh.logLevel
      log.write(.info, "hang-up", "\(what) was read again", now: now)
      self.nodes = nodes
      nextLook = now
      lookAtNodes(now: now)
      if let first = options.firstToRestart(for: fresh) {
        log.write(.warning, "restart", "\(first) changes at the next start only", now: now)
      }
    } catch {
      log.write(.error, "hang-up refused", "\(what) stays as it was: \(error.text)", now: now)
    }
  }

  /// Says good-bye to everyone, at most for `--drain` and `shutdownLimit`, then stops the loop. A
  /// second signal does not wait.
  private func shutDown() {
    guard shutdownEnd == nil, let housekeeping else { return loop.stop() }
    let now = SystemClock.now
    shutdownEnd = now + options.drain + Self.shutdownLimit
    notice?.sendState(.stopping)
    metrics?.noteStopping()
    driver.withMachine { [options] machine, now in
      machine.goAway(patience: options.drain, now: now)
    }
    loop.setDeadline(housekeeping, now)
  }

  private func keepHouse(now: Instant) {
    guard let housekeeping else { return }
    if let shutdownEnd {
      let isOver = now >= shutdownEnd || driver.readMachine { $0.isGone }
      if isOver, redis?.leave() != true { return loop.stop() }
      loop.setDeadline(housekeeping, now + .milliseconds(10))
      return
    }
    driver.withMachine { machine, now in
      machine.setWallClock(
        unixMilliseconds: SystemClock.wallNanoseconds / 1_000_000, now: now)
    }
    rotateKeys(now: now)
    lookAtNodes(now: now)
    loop.setDeadline(housekeeping, now + Self.housekeepingPace)
  }

  /// Says once a day what is amiss with the list of nodes.
  private func lookAtNodes(now: Instant) {
    guard let nodes, now >= nextLook else { return }
    nextLook = now + .seconds(86_400)
    log.warn(of: nodes, for: id)
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
