import Cryptography
import Forwarding
import Primitives
import Rendezvous
import SecureSession
import Simulation
import Testing
import Tokens
import Wire

/// A machine, its clock, and wires without delay to its clients.
final class Server {
  static let unixSeconds: UInt64 = 1_800_000_000

  private var machine: RendezvousMachine
  private var relayIDs: Set<PeerID>
  let store: MemoryStore
  /// Where the server is one of several nodes.
  let shared: SharedStore?
  private let redis: RedisModel?
  /// What Redis was asked to do, in order.
  private(set) var scripts: [SharedScript] = []
  /// Redis is connected, and does nothing.
  var isRedisSilent = false
  /// What other nodes say does not get here, and nobody knows.
  var isDeaf = false
  let card: ContactCard
  private(set) var now = Instant(nanoseconds: 1_000_000_000)
  private(set) var events: [ServerEvent] = []
  private var clients: [TestClient] = []
  /// Bytes to and from addresses, for the amplification factor.
  private(set) var sent: [SocketAddress: Int] = [:]
  /// Datagrams to addresses where no client of this server is.
  private(set) var strays: [(bytes: [UInt8], to: SocketAddress)] = []
  /// Which own address each datagram left from.
  private(set) var locals: [LocalAddressID] = []
  private(set) var lastStray: (bytes: [UInt8], to: SocketAddress)?
  var keepsStrays = true
  /// A digest of all that was sent, for determinism.
  private(set) var digest: UInt64 = 0xCBF2_9CE4_8422_2325
  /// Whether a datagram is lost; asked for each, both ways.
  var isLost: (() -> Bool)?
  /// Where the datagram goes that `isLost` is asked about; `nil` for one to the server.
  private var destination: SocketAddress?

  func isToward(_ address: SocketAddress) -> Bool { destination == address }

  init(
    boot: UInt64 = 5, limits: ServerLimits? = nil, store: MemoryStore = MemoryStore(),
    admission: Admission = .everyone, tokenKey: TokenPublicKey? = nil,
    relays: RelayService? = nil, relayIDs: Set<PeerID> = [],
    forwarding: ForwardingLimits? = nil, identitySeed: UInt64 = 99, seed: UInt64 = 1,
    redis: RedisModel? = nil
  ) {
    var random = RandomSource(seed: identitySeed)
    var identity = LocalIdentity(
      kind: .rendezvous, unixSeconds: Self.unixSeconds, random: &random)
    guard let card = try? identity.makeCard(unixSeconds: Self.unixSeconds) else {
      preconditionFailure("a card without a home always fits")
    }
    self.card = card
    self.store = store
    self.relayIDs = relayIDs
    var settings = ServerSettings(
      identity: identity, card: card, bootCounter: boot,
      resetKey: Array(repeating: 3, count: 32),
      wallMilliseconds: Self.unixSeconds * 1000, admission: admission,
      tokenKey: tokenKey, relays: relays)
    settings.relayIDs = relayIDs
    settings.forwarding = forwarding
    shared = redis.map { _ in
      SharedStore(SecretKey(), node: card.id, random: RandomSource(seed: seed))
    }
    self.redis = redis
    shared?.home = store
    machine = RendezvousMachine(
      settings, store: shared ?? store, limits: limits, random: RandomSource(seed: seed))
  }

  var counters: ServerCounters { machine.counters }
  var gauges: ServerGauges { machine.gauges }
  var forwarded: ForwardingCounters? { machine.forwardingCounters }
  func presences(of id: PeerID) -> [PresenceRecord] { machine.presences(of: id, now: now) }
  var nextDeadline: Instant? { machine.nextDeadline }
  var isGone: Bool { machine.isGone }

  /// The server's wall clock is set.
  func setWallClock(ahead seconds: Int64) {
    let milliseconds = Int64(Self.unixSeconds * 1000 + now.nanoseconds / 1_000_000)
    machine.setWallClock(unixMilliseconds: UInt64(milliseconds + seconds * 1000), now: now)
  }

  /// The list that its root has signed.
  func setNodes(_ list: NodeList, tokenKey: TokenPublicKey? = nil) {
    machine.admit(.everyone, tokenKey: tokenKey, relays: relayIDs, nodes: list, now: now)
  }

  /// The relays that the operator has named are others from now on.
  func setRelays(_ ids: Set<PeerID>) {
    relayIDs = ids
    machine.admit(.everyone, tokenKey: nil, relays: ids, now: now)
    drain()
  }

  /// Whether it can send from another port; `TestClient` hears it all the same.
  func setOtherPort(_ hasOne: Bool) { machine.hasOtherPort = hasOne }

  func endSeats(_ seats: [EndedSeat]) {
    machine.endSeats(seats, now: now)
    drain()
  }

  func goAway(patience: Duration = .zero) {
    machine.goAway(patience: patience, now: now)
    drain()
  }

  /// One datagram in; all answers go where they belong.
  func receive(
    _ datagram: [UInt8], from source: SocketAddress, at local: LocalAddressID = .unspecified
  ) {
    var bytes = datagram
    var span = bytes.mutableSpan
    machine.handle(&span, from: source, marks: DatagramMarks(local: local), now: now)
    drain()
  }

  /// All of it waits in the socket when the server reads it; it has come `gap` apart.
  func receiveTogether(
    _ datagrams: [(bytes: [UInt8], from: SocketAddress)], gap: Duration = .zero
  ) {
    for datagram in datagrams {
      now = now + gap
      var bytes = datagram.bytes
      var span = bytes.mutableSpan
      machine.handle(&span, from: datagram.from, marks: DatagramMarks(), now: now)
    }
    drain()
  }

  // MARK: - One of several nodes

  /// Redis answers from now on, or does not.
  func setRedis(isThere: Bool) {
    if isThere { shared?.handleConnection() } else { shared?.handleDisconnection() }
    drain()
  }

  /// Runs what the store wants of Redis, and takes what other nodes sent; whether there was any.
  @discardableResult
  func serveStore() -> Bool {
    guard let shared, let redis, shared.isConnected else { return false }
    machine.handleStore(now: now)
    guard !isRedisSilent else { return false }
    let milliseconds = Self.unixSeconds * 1000 + now.nanoseconds / 1_000_000
    redis.setTime(milliseconds)
    var isBusy = false
    while let command = shared.pollCommand() {
      isBusy = true
      scripts.append(command.script)
      shared.handle(redis.run(command), to: command.number)
      machine.handleStore(now: now)
    }
    for post in shared.channels.flatMap({ redis.takePosts(of: $0, by: card.id.bytes) }) {
      if isDeaf { continue }
      isBusy = true
      if let word = shared.open(post) { machine.handle(word, now: now) }
    }
    if isBusy { drain() }
    return isBusy
  }

  private func drain() {
    if shared != nil { serveStore() }
    var out = DatagramList()
    _ = Primitives.drain(&machine, into: &out, events: &events, now: now)
    locals += out.datagrams.map(\.path.local)
    for (bytes, path) in out.datagrams {
      let destination = path.remote
      sent[destination, default: 0] += bytes.count
      for byte in bytes { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3 }
      self.destination = destination
      defer { self.destination = nil }
      if isLost?() ?? false { continue }
      let receivers = clients.filter { $0.address == destination }
      if receivers.isEmpty {
        lastStray = (bytes, destination)
        if keepsStrays { strays.append((bytes, destination)) }
      }
      for client in receivers { client.handle(bytes, now: now) }
    }
  }

  /// Clients that answer nothing any more; what goes to them is not kept either.
  func silence(_ client: TestClient) {
    clients.removeAll { $0 === client }
    keepsStrays = false
  }

  func attach(_ client: TestClient) {
    if !clients.contains(where: { $0 === client }) { clients.append(client) }
    client.serverKey = card.staticKey
  }

  /// Registers a client as it would; the first PING confirms the session.
  func join(_ client: TestClient, name: String? = nil) {
    attach(client)
    let milliseconds = Self.unixSeconds * 1000 + now.nanoseconds / 1_000_000
    let initiation = client.initiation(to: card, name: name, milliseconds: milliseconds)
    client.lastMAC1 = Array(initiation[InitPacket.mac1Range])
    receive(initiation, from: client.address)
    if client.isRegistered { receive(client.ping(), from: client.address) }
  }

  /// What every client wants to send now, and what comes of it.
  func exchange() {
    for client in clients {
      for packet in client.flush(now: now) where !(isLost?() ?? false) {
        receive(packet, from: client.address)
      }
    }
  }

  /// Lets time pass, serving every deadline on the way.
  func run(_ duration: Duration) {
    let end = now + duration
    exchange()
    while true {
      var next = machine.nextDeadline
      for client in clients where client.isRegistered { next = earliest(next, client.nextDeadline) }
      guard let next, next <= end else { break }
      now = max(next, now + .microseconds(1))
      machine.handleTimeout(now: now)
      drain()
      exchange()
    }
    now = max(now, end)
  }

  /// Lets time pass until a moment, if that lies ahead.
  func run(until end: Instant) { if end > now { run(end - now) } }

  /// Lets time pass while a client keeps its registration up.
  func run(_ duration: Duration, pinging alive: [TestClient]) {
    let end = now + duration
    while now < end {
      for client in alive { receive(client.ping(), from: client.address) }
      run(min(.seconds(10), end - now))
    }
  }
}
