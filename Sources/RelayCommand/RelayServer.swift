import Arguments
import Cryptography
import Forwarding
import Peer
import Primitives
import Reactor
import Rendezvous
import SecureSession
import Storage
import Tokens
import Wire

/// The running relay: one loop, the socket that members use, and another one by which it is
/// registered with the rendezvous.
final class RelayServer {
  private let options: RelayOptions
  private let loop: EventLoop
  private let driver: MachineDriver<RelayMachine>
  private let registration: MachineDriver<RelayRegistrationMachine>
  private let id: PeerID
  private var metrics: MetricsServer?
  private var signals: SignalWatch?
  private var timer: EventLoop.Token?
  private var end: Instant?
  private var exitCode: Int32 = 0
  private var wasRegistered = false
  /// What was said last about not being registered: the same is not said at each attempt.
  private var told: RegistrationFailure?
  private var name: RendezvousName?

  /// So long the rendezvous may take before it is said that it is waited for.
  private static let quietPatience = Duration.seconds(2)

  init(_ options: RelayOptions) throws {
    self.options = options
    var random = RandomSource.system
    let seconds = SystemClock.wallNanoseconds / 1_000_000_000
    var identity = try Self.identity(in: options.data)
    _ = identity.rotateIfDue(unixSeconds: seconds, random: &random)
    let card = try identity.makeCard(unixSeconds: seconds)
    try Self.file(in: options.data).replace(with: identity)
    id = identity.id
    let listen = try Self.resolve(options.listen, "--listen", 7500)
    loop = try EventLoop()
    let socket = try Self.openSocket(at: listen)
    let announced = try options.publicAddress.map { try Self.resolve($0, "--public", 7500) }
    let seen = SocketAddress(
      family: .v4, high: 0, low: 0, port: socket.localAddress.port)
    let wall = SystemClock.wallNanoseconds / 1_000_000 &- SystemClock.now.nanoseconds / 1_000_000
    var configuration = PeerConfiguration(
      rendezvous: try Self.rendezvous(options.rendezvous), wallClockAtZero: Int64(wall))
    configuration.rendezvousID = options.rendezvousID
    var settings = ServerSettings(
      identity: identity.copy(), card: card,
      bootCounter: try BootFile.count(at: options.data + "/boots", first: seconds),
      resetKey: Self.resetKey(identity), wallMilliseconds: wall,
      tokenKey: TokenPublicKey(bytes: Bytes32(options.rendezvousID)))
    settings.forwarding = options.limits
    let machine = RelayMachine(
      RendezvousMachine(settings, store: MemoryStore(), random: random.split()),
      limits: options.pairLimits, random: random.split())
    let pairs = options.pairLimits.pairs > 0 ? machine.pairs.secret : nil
    driver = MachineDriver(machine, socket: socket, on: loop)
    let known = RelayRegistrationMachine(
      configuration, listening: announced ?? Self.announced(listen, seen), pairs: pairs,
      identity: identity, random: random.split(), now: SystemClock.now)
    let unspecified = SocketAddress(
      family: configuration.rendezvous.family, high: 0, low: 0, port: 0)
    registration = MachineDriver(known, socket: try UDPSocket(binding: unspecified), on: loop)
    if let text = options.metrics {
      try listenForMetrics(try Self.resolve(text, "--metrics", 9101))
    }
  }

  /// Serves until a signal; the exit code.
  func run() throws(ReactorError) -> Int32 {
    try driver.start { _ in }
    try registration.start { [self] in handle($0) }
    let family = registration.localAddress.family
    name = try RendezvousName(options.rendezvous, family: family, on: loop) {
      [registration] addresses in
      registration.withMachine { machine, now in machine.redial(addresses, now: now) }
    }
    signals = try SignalWatch(SignalWatch.Signal.allCases, on: loop) { [self] signal in
      if signal == .interrupt || signal == .terminate { shutDown() }
    }
    let timer = try loop.addTimer { [self] now in keepHouse(now: now) }
    self.timer = timer
    loop.setDeadline(timer, SystemClock.now + Self.quietPatience)
    announce()
    loop.run()
    return exitCode
  }

  // MARK: - On the loop

  private func handle(_ event: RelayRegistrationEvent) {
    switch event {
    case .step(let step): handle(step)
    case .seatsEnded(let seats):
      driver.withMachine { machine, now in machine.server.endSeats(seats, now: now) }
    }
  }

  private func handle(_ step: RegistrationStep) {
    switch step {
    case .registered(let address, _):
      wasRegistered = true
      told = nil
      say("registered", "registered with the rendezvous, seen at \(address)")
    case .failed(let failure):
      tellFailure(failure)
      if failure == .noAnswer { name?.lookUp(now: SystemClock.now) }
      // A wrong --rendezvous does not become right by waiting.
      if case .identityMismatch = failure, !wasRegistered {
        exitCode = 7
        shutDown()
      }
    case .doubted(let failure): if !wasRegistered { tellFailure(failure) }
    case .connecting, .reconnecting: break
    }
  }

  private func tellFailure(_ failure: RegistrationFailure) {
    guard told != failure else { return }
    told = failure
    RelayProgram.complain(
      "not registered: \(failure.words(rendezvous: options.rendezvous, relay: id))")
  }

  private func announce() {
    let address = "\(driver.localAddress)"
    if options.printsJSON {
      RelayProgram.write(
        "{\"type\":\"listening\",\"address\":\"\(address)\",\"identity\":\"\(id)\"}", to: 1)
    } else {
      RelayProgram.write(
        "listening on \(address); earshot-rendezvous --relay-key wants this ID: \(id)", to: 1)
    }
  }

  private func say(_ type: String, _ sentence: String) {
    RelayProgram.write(options.printsJSON ? "{\"type\":\"\(type)\"}" : sentence, to: 1)
  }

  /// Says good-bye, for 600 ms at most, then stops the loop. A second signal does not wait.
  private func shutDown() {
    guard end == nil, let timer else { return loop.stop() }
    end = SystemClock.now + .milliseconds(600)
    driver.withMachine { machine, now in machine.server.goAway(now: now) }
    registration.withMachine { machine, now in machine.shutDown(now: now) }
    loop.setDeadline(timer, SystemClock.now)
  }

  private func keepHouse(now: Instant) {
    guard let end, let timer else {
      if !wasRegistered, told == nil {
        tellFailure(registration.readMachine { $0.trouble } ?? .noAnswer)
      }
      return
    }
    let isDone =
      driver.readMachine { $0.server.isGone } && registration.readMachine { $0.isQuiet }
    if now >= end || isDone { return loop.stop() }
    loop.setDeadline(timer, now + .milliseconds(10))
  }

  private func listenForMetrics(_ address: SocketAddress) throws(RelayFailure) {
    do throws(ReactorError) {
      metrics = try MetricsServer(binding: address, on: loop) { [driver] in Self.numbers(driver) }
    } catch {
      throw .reactor(error, option: "--metrics")
    }
  }

  private static func numbers(_ driver: MachineDriver<RelayMachine>) -> String {
    var text = MetricsText()
    driver.readMachine {
      text.add($0.server.forwardingCounters, $0.server.gauges, $0.server.counters)
      text.add($0.pairs.counters, pairCount: $0.pairs.pairCount)
    }
    let numbers = ProcessNumbers.read()
    text.add(
      "process_cpu_seconds_total", "User and system time.", nanoseconds: numbers.cpuNanoseconds)
    text.add(
      "process_resident_memory_bytes", "Memory in use.", numbers.residentByteCount)
    return text.text
  }

  // MARK: - Parts

  /// The identity of a folder, made on first use.
  static func identity(in data: String) throws -> LocalIdentity {
    try DataDirectory.make(data)
    var random = RandomSource.system
    return try file(in: data).readOrCreate(
      .peer, unixSeconds: SystemClock.wallNanoseconds / 1_000_000_000, random: &random)
  }

  private static func file(in data: String) -> IdentityFile {
    IdentityFile(path: data + "/identity")
  }

  /// What is told of a listening address: the port alone, unless it names a host.
  private static func announced(_ listen: SocketAddress, _ seen: SocketAddress) -> SocketAddress {
    guard !listen.isUnspecified else { return seen }
    return SocketAddress(
      family: listen.family, high: listen.high, low: listen.low, port: seen.port)
  }

  private static func openSocket(at address: SocketAddress) throws(RelayFailure) -> UDPSocket {
    var options = UDPSocket.Options()
    options.slotCount = 64
    options.kernelBufferByteCount = 4 << 20
    do throws(ReactorError) {
      return try UDPSocket(binding: address, options)
    } catch {
      throw .reactor(error, option: "--listen")
    }
  }

  private static func resolve(
    _ text: String, _ option: String, _ port: UInt16
  ) throws(RelayFailure) -> SocketAddress {
    do throws(ReactorError) {
      return try firstAddress(of: text, port)
    } catch {
      throw .usage(
        UsageError(
          "\(option) wants an address like 192.0.2.1:\(port), not '\(text)' (\(error.reason)).",
          advice: "IPv6 addresses stand in brackets: [::]:\(port)."))
    }
  }

  /// Nobody may know its name for now.
  private static func rendezvous(_ text: String) throws(RelayFailure) -> SocketAddress {
    do throws(ReactorError) { return try firstAddress(of: text, 7400) } catch {
      throw .unresolved(error)
    }
  }

  private static func firstAddress(
    of text: String, _ port: UInt16
  ) throws(ReactorError) -> SocketAddress {
    guard let address = try Resolver.resolveBlocking(text, defaultPort: port).first else {
      throw ReactorError("resolve", text, reason: "it has no address")
    }
    return address
  }

  /// The same over restarts: a member of a former life is told at once that it is over.
  private static func resetKey(_ identity: borrowing LocalIdentity) -> [UInt8] {
    let key = identity.staticKey.privateKey.derive("EST1rset", 1)
    return (0..<key.span.count).map { key.span[$0] }
  }
}

/// The name of the rendezvous, which is looked up again while nothing answers where it led: each
/// 10 s, as clients do (docs/decisions/0201). Belongs to the loop's thread.
private final class RendezvousName {
  private let worker: PromptWorker
  private var isAsking = false
  private var asked = SystemClock.now

  /// - Parameters:
  ///   - family: The only one that the socket can send to.
  ///   - body: Is given the addresses of each answer, on the loop.
  init(
    _ text: String, family: SocketAddress.Family, on loop: EventLoop,
    _ body: @escaping ([SocketAddress]) -> Void
  ) throws(ReactorError) {
    let (wake, found) = (try LoopWake(), Guarded<[SocketAddress]>([]))
    worker = try PromptWorker(named: "earshot-resolve") { _ in
      do throws(ReactorError) {
        let addresses = try Resolver.resolveBlocking(text, defaultPort: 7400)
        found.withLock { $0 = addresses.filter { $0.family == family } }
      } catch {
        // No name server says: the next failure asks again.
      }
      wake.signal()
      return nil
    }
    _ = try wake.attach(to: loop) { [unowned self] in
      isAsking = false
      let addresses = found.withLock { $0 }
      if !addresses.isEmpty { body(addresses) }
    }
  }

  func lookUp(now: Instant) {
    guard !isAsking, now - asked >= .seconds(10) else { return }
    (isAsking, asked) = (true, now)
    worker.signal()
  }
}
