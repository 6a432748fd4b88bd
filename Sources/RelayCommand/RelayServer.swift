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
  private let driver: MachineDriver<RendezvousMachine>
  private let registration: MachineDriver<RelayRegistrationMachine>
  private let id: PeerID
  private var metrics: MetricsServer?
  private var signals: SignalWatch?
  private var timer: EventLoop.Token?
  private var end: Instant?

  init(_ options: RelayOptions) throws {
    self.options = options
    var random = RandomSource.system
    let seconds = SystemClock.wallNanoseconds / 1_000_000_000
    var identity = try Self.identity(in: options.data)
    _ = identity.rotateIfDue(unixSeconds: seconds, random: &random)
    let card = try identity.makeCard(unixSeconds: seconds)
    try Self.file(in: options.data).replace(with: identity)
    id = identity.id
    let listen = try Self.resolve(options.listen, 7500)
    loop = try EventLoop()
    var socketOptions = UDPSocket.Options()
    socketOptions.slotCount = 64
    socketOptions.kernelBufferByteCount = 4 << 20
    let socket = try UDPSocket(binding: listen, socketOptions)
    let told = try options.publicAddress.map { try Self.resolve($0, 7500) }
    let seen = SocketAddress(
      family: .v4, high: 0, low: 0, port: socket.localAddress.port)
    let wall = SystemClock.wallNanoseconds / 1_000_000 &- SystemClock.now.nanoseconds / 1_000_000
    var configuration = PeerConfiguration(
      rendezvous: try Self.resolve(options.rendezvous, 7400), wallClockAtZero: Int64(wall))
    configuration.rendezvousID = options.rendezvousID
    let known = RelayRegistrationMachine(
      configuration, listening: told ?? Self.announced(listen, seen), identity: identity.copy(),
      random: random.split(), now: SystemClock.now)
    registration = MachineDriver(
      known,
      socket: try UDPSocket(
        binding: SocketAddress(
          family: configuration.rendezvous.family, high: 0, low: 0, port: 0)), on: loop)
    var settings = ServerSettings(
      identity: identity, card: card,
      bootCounter: try BootFile.count(at: options.data + "/boots", first: seconds),
      resetKey: Self.resetKey(identity), wallMilliseconds: wall,
      tokenKey: TokenPublicKey(bytes: Bytes32(options.rendezvousID)))
    settings.forwarding = options.limits
    driver = MachineDriver(
      RendezvousMachine(settings, store: MemoryStore(), random: random), socket: socket, on: loop)
    if let text = options.metrics { try listenForMetrics(try Self.resolve(text, 9101)) }
  }

  /// Serves until a signal; the exit code.
  func run() throws(ReactorError) -> Int32 {
    try driver.start { _ in }
    try registration.start { [self] in handle($0) }
    signals = try SignalWatch(SignalWatch.Signal.allCases, on: loop) { [self] signal in
      if signal == .interrupt || signal == .terminate { shutDown() }
    }
    timer = try loop.addTimer { [self] now in keepHouse(now: now) }
    announce()
    loop.run()
    return 0
  }

  // MARK: - On the loop

  private func handle(_ event: RelayRegistrationEvent) {
    switch event {
    case .step(let step): handle(step)
    case .seatsEnded(let seats):
      driver.withMachine { machine, now in machine.endSeats(seats, now: now) }
    }
  }

  private func handle(_ step: RegistrationStep) {
    switch step {
    case .registered(let address, _):
      say("registered", "registered with the rendezvous, seen at \(address)")
    case .failed(let failure): RelayProgram.complain("not registered: \(failure)")
    case .connecting, .reconnecting: break
    }
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
    driver.withMachine { machine, now in machine.goAway(now: now) }
    registration.withMachine { machine, now in machine.shutDown(now: now) }
    loop.setDeadline(timer, SystemClock.now)
  }

  private func keepHouse(now: Instant) {
    guard let end, let timer else { return }
    let isDone =
      driver.readMachine { $0.isGone } && registration.readMachine { $0.isQuiet }
    if now >= end || isDone { return loop.stop() }
    loop.setDeadline(timer, now + .milliseconds(10))
  }

  private func listenForMetrics(_ address: SocketAddress) throws(ReactorError) {
    metrics = try MetricsServer(binding: address, on: loop) { [driver] in
      var text = MetricsText()
      driver.readMachine { text.add($0.forwardingCounters, $0.gauges, $0.counters) }
      let numbers = ProcessNumbers.read()
      text.add(
        "process_cpu_seconds_total", "User and system time.",
        nanoseconds: numbers.cpuNanoseconds)
      text.add(
        "process_resident_memory_bytes", "Memory in use.", numbers.residentByteCount)
      return text.text
    }
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

  private static func resolve(
    _ text: String, _ port: UInt16
  ) throws(ReactorError) -> SocketAddress {
    let addresses = try Resolver.resolveBlocking(text, defaultPort: port)
    guard let address = addresses.first else {
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
