import Cryptography
import LastMile
package import Primitives
package import SecureSession
package import Wire

/// The server: who is online, and passing sealed bodies between them (docs/protocol/rendezvous.md).
///
/// Pure: an epoll loop and a simulator run it alike. Every table has its limit in `ServerLimits`. A
/// client at rest is one record of 296 bytes; what it has under way is an `Exchange`, made when
/// something begins and given back when all is acknowledged.
package struct RendezvousMachine: ~Copyable, DatagramMachine {
  package typealias Event = ServerEvent

  package let limits: ServerLimits
  package internal(set) var counters = ServerCounters()
  var settings: ServerSettings
  let store: any RegistrationStore
  var random: RandomSource

  var registry: ClientRegistry
  var exchanges: ExchangeTable
  var pending: PendingRegistrations
  var sources: SourceTable
  var identities: IdentityRates
  var gate: InitiationGate
  var recentAnswers: RecentAnswers
  var connectionIDs: ConnectionIDs

  /// Clients that are owed something.
  var ready: BoundedQueue<UInt32>
  /// Datagrams outside sessions: RESP, COOKIE, CARD, RESET, VERSION.
  var answers: BoundedQueue<Answer>
  var farewells = Farewells()
  /// Probes that clients have under way.
  var reflector: Reflector
  var goingAway: GoingAway?
  private var events: BoundedQueue<ServerEvent>

  var resetMeter = RateMeter()
  var answerMeter = RateMeter()
  /// The second in which a packet last failed to open: only then sources are looked up.
  var lastFailure: UInt32?
  var sweepDue: Instant?
  var sweepSlot = 0
  /// When the store's open batch is to be committed.
  var storeDue: Instant?

  /// A datagram outside a session.
  struct Answer: Sendable {
    var bytes: [UInt8]
    var destination: SocketAddress
  }

  package init(
    _ settings: consuming ServerSettings, store: any RegistrationStore,
    limits: ServerLimits = ServerLimits(), random: RandomSource
  ) {
    var random = random
    let hash = KeyedHash(key0: random.next(), key1: random.next())
    gate = InitiationGate(
      staticKeys: settings.identity.publicStaticKeys, waitingLimit: limits.waitingHandshakes,
      random: &random)
    identities = IdentityRates(limit: limits.sources, hash: hash)
    recentAnswers = RecentAnswers(limit: limits.rememberedAnswers)
    self.store = store
    self.limits = limits
    registry = ClientRegistry(hash: hash)
    exchanges = ExchangeTable(limit: limits.exchanges)
    pending = PendingRegistrations()
    sources = SourceTable(limit: limits.sources, hash: hash)
    connectionIDs = ConnectionIDs(boot: settings.bootCounter, random: &random)
    ready = BoundedQueue(limit: limits.sessions)
    answers = BoundedQueue(limit: limits.waitingAnswers)
    events = BoundedQueue(limit: limits.waitingEvents)
    reflector = Reflector(limits: limits.probes)
    self.random = random
    self.settings = settings
  }

  // MARK: - Inputs

  @_lifetime(bytes: copy bytes)
  package mutating func handle(
    _ bytes: inout MutableSpan<UInt8>, from source: SocketAddress, marks: DatagramMarks,
    now: Instant
  ) {
    counters.datagramsReceived &+= 1
    counters.bytesReceived &+= UInt64(bytes.count)
    guard goingAway == nil, !source.isUnsendable, !isIgnored(source, now: now) else {
      counters.packetsIgnored &+= 1
      return
    }
    switch Demultiplexer.classify(bytes.span) {
    case .sealed(let connection):
      handleSealed(&bytes, for: connection, from: source, marks: marks, now: now)
    case .control(.initiation): handleInitiation(bytes.span, from: source, now: now)
    case .control(.cardRequest): answerCardRequest(bytes.span, from: source, now: now)
    case .control, .foreign: counters.foreign &+= 1
    }
  }

  // MARK: - Commands

  /// Says good-bye to everyone and takes nothing more; done when `isGone`.
  package mutating func goAway(now: Instant) {
    if goingAway == nil { goingAway = GoingAway(now: now) }
    reflector.close(.over)
    storeDue = storeDue.map { min($0, now) }
  }

  /// Newer device keys of the same identity, and the card for them; sessions go on as they are.
  package mutating func renew(_ identity: consuming LocalIdentity, card: ContactCard) {
    guard identity.id == settings.identity.id else { return }
    gate = InitiationGate(
      staticKeys: identity.publicStaticKeys, waitingLimit: limits.waitingHandshakes,
      random: &random)
    settings.identity = identity
    settings.card = card
  }

  /// The wall clock has been read anew: it may have been stepped since the start.
  package mutating func setWallClock(unixMilliseconds: UInt64, now: Instant) {
    settings.wallMilliseconds = unixMilliseconds &- now.nanoseconds / 1_000_000
  }

  // MARK: - Outputs

  package mutating func pollEvent() -> ServerEvent? { events.popFirst() }

  // MARK: - Getters

  package var isGone: Bool { goingAway?.isDone ?? false }

  package var gauges: ServerGauges {
    var gauges = ServerGauges()
    gauges.clients = registry.confirmedCount
    gauges.unconfirmedSessions = registry.count - registry.confirmedCount
    gauges.busyClients = exchanges.count
    gauges.reassemblyByteCount = exchanges.reassemblyByteCount
    return gauges
  }

  package func isOnline(_ id: PeerID) -> Bool { registry.find(id) != nil }

  // MARK: - Parts

  mutating func publish(_ event: ServerEvent) {
    if !events.append(event) { counters.eventsDropped &+= 1 }
  }

  /// Ends a session without a word.
  mutating func remove(_ slot: UInt32, _ departure: ServerEvent.Departure) {
    if let index = exchange(of: slot) { exchanges.remove(index) }
    reflector.drop(slot)
    let (id, wasConfirmed) = (registry[slot].id, registry[slot].isConfirmed)
    pending.remove(slot)
    registry.remove(slot)
    guard wasConfirmed else { return }
    counters.departures &+= 1
    publish(.left(id, departure))
  }

  /// More than `failuresPerSource` packets of it did not open within a second: dropped for a second
  /// (docs/protocol/session.md §6).
  private func isIgnored(_ source: SocketAddress, now: Instant) -> Bool {
    guard let lastFailure, now.second &- lastFailure <= 1 else { return false }
    return sources.isIgnored(source, limit: limits.failuresPerSource, now: now)
  }

  mutating func noteFailure(of source: SocketAddress, now: Instant) {
    lastFailure = now.second
    sources.noteFailure(of: source, now: now)
  }

  /// The last number that is ever sealed, or opened, under one key (docs/protocol/session.md §6).
  static var lastNumber: UInt32 { (1 << 31) - 1 }
}

extension LocalIdentity {
  /// Newest first.
  var publicStaticKeys: [Bytes32] {
    var keys = [staticKey.publicKey]
    switch previousStaticKey {
    case .some(let previous): keys.append(previous.publicKey)
    case .none: break
    }
    return keys
  }
}
