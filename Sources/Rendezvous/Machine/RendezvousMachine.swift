import Channels
import Cryptography
package import Forwarding
import LastMile
package import Primitives
package import SecureSession
package import Tokens
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
  var unconfirmed: UnconfirmedSessions
  /// When the access tokens of sessions end.
  var tokens = TokenDeadlines()
  /// Who is in which channel.
  var channels: ChannelService
  var limiter: SourceMeters
  var gate: InitiationGate
  var recentAnswers: RecentAnswers
  var connectionIDs: ConnectionIDs

  /// What is owed at once to clients that have no exchange.
  var prompts: BoundedQueue<PromptReply>
  /// Clients that are owed something else.
  var ready: BoundedQueue<UInt32>
  /// Datagrams outside sessions: RESP, COOKIE, CARD, RESET, VERSION.
  var answers: BoundedQueue<Answer>
  var farewells = Farewells()
  /// Whether datagrams can leave from another port than the one that clients ask.
  package var hasOtherPort = false
  /// Probes that clients have under way.
  var reflector: Reflector
  var goingAway: GoingAway?
  /// The own address that the datagram under way came to: its answer leaves from there.
  var askedAt = LocalAddressID.unspecified
  private var events: BoundedQueue<ServerEvent>

  /// Whose packet is being read: its exchange is not given up meanwhile.
  var served: UInt32?
  /// What was last told of the load.
  var wasUnderLoad = false
  var sweepClock = SweepClock()
  /// What the store has under way.
  var storeWork = StoreWork()

  /// A datagram outside a session.
  struct Answer: Sendable {
    var bytes: [UInt8]
    var path: DatagramPath
  }

  package init(
    _ settings: consuming ServerSettings, store: any RegistrationStore,
    limits: ServerLimits? = nil, random: RandomSource
  ) {
    let limits = limits ?? (settings.forwarding == nil ? ServerLimits() : .relay)
    var random = random
    let hash = KeyedHash(key0: random.next(), key1: random.next())
    gate = Self.makeGate(settings, limits, random: &random)
    recentAnswers = RecentAnswers(limit: limits.rememberedAnswers)
    self.store = store
    self.limits = limits
    registry = ClientRegistry(hash: hash)
    exchanges = ExchangeTable(limits, hash: hash)
    pending = PendingRegistrations()
    unconfirmed = UnconfirmedSessions(hash: hash)
    limiter = SourceMeters(limits, hash: hash)
    connectionIDs = ConnectionIDs(boot: settings.bootCounter, random: &random)
    prompts = BoundedQueue(limit: limits.waitingAnswers)
    ready = BoundedQueue(limit: limits.sessions)
    answers = BoundedQueue(limit: limits.waitingAnswers)
    events = BoundedQueue(limit: limits.waitingEvents)
    reflector = Reflector(limits: limits.probes)
    self.random = random
    channels = ChannelService(
      limits: limits.channels, endings: limits.endings, forwarding: settings.forwarding,
      hash: hash, random: random.split())
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
    askedAt = marks.local
    guard goingAway?.isPatient != false, !source.isUnsendable else {
      counters.packetsIgnored &+= 1
      return
    }
    switch Demultiplexer.classify(bytes.span) {
    case .control(.initiation) where goingAway != nil:
      counters.packetsIgnored &+= 1
    case .sealed(let connection):
      handleSealed(&bytes, for: connection, from: source, marks: marks, now: now)
    case .control(.initiation): handleInitiation(bytes.span, from: source, now: now)
    case .control(.cardRequest), .control(.nodesRequest):
      introduce(bytes.span, to: source, now: now)
    case .control, .foreign: counters.foreign &+= 1
    }
  }

  /// The store elsewhere has answered, or its connection has changed.
  package mutating func handleStore(now: Instant) { StoreWork.resume(&self, now: now) }

  /// Another node says something.
  package mutating func handle(_ word: NodeWord, now: Instant) { word.deliver(in: &self, now: now) }

  // MARK: - Commands

  /// Says good-bye to everyone, to those with something under way when that is done or `patience`
  /// is over, and lets nobody in any more; done when `isGone`.
  package mutating func goAway(patience: Duration = .zero, now: Instant) {
    if goingAway == nil {
      goingAway = GoingAway(now: now, patience: patience)
      store.shared?.beginLeaving(now: now)
    }
    reflector.close(.over)
    storeWork.hurry(now: now)
  }

  /// Newer device keys of the same identity, and the card for them; sessions go on as they are.
  package mutating func renew(_ identity: consuming LocalIdentity, card: ContactCard) {
    guard identity.id == settings.identity.id else { return }
    settings.identity = identity
    settings.card = card
    gate = Self.makeGate(settings, limits, random: &random)
  }

  /// Who may register from now on, and with which tokens; those who are registered stay until they
  /// register again. Relays that are not named any more are not offered any more.
  ///
  /// - Parameter nodes: The list that clients are given from now on.
  package mutating func admit(
    _ admission: Admission, tokenKey: TokenPublicKey?, relays: Set<PeerID>, nodes: NodeList? = nil,
    now: Instant
  ) {
    settings.admit(admission, tokenKey: tokenKey, relays: relays, nodes: nodes)
    gate.setWorkPerSecond(settings.workPerSecond(limits))
    ChannelService.reviewRelays(in: &self, now: now)
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
    var gauges = ServerGauges(registry, exchanges, channels)
    gauges.isUnderLoad = wasUnderLoad
    return gauges
  }

  /// What was forwarded; `nil` where the server is no relay.
  package var forwardingCounters: ForwardingCounters? { channels.hub?.counters }

  // MARK: - Parts

  mutating func publish(_ event: ServerEvent) {
    if !events.append(event) { counters.eventsDropped &+= 1 }
  }

  /// Ends a session without a word.
  mutating func remove(_ slot: UInt32, _ departure: ServerEvent.Departure) {
    if let index = exchange(of: slot) { exchanges.remove(index) }
    reflector.drop(slot)
    let (id, wasConfirmed) = (registry[slot].id, registry[slot].isConfirmed)
    // While this node sends its clients to others, who has gone may be on the way to one of them.
    if wasConfirmed, goingAway == nil { LateWords.withdraw(slot, departure, in: &self) }
    pending.remove(slot)
    unconfirmed.remove(slot)
    tokens.remove(slot)
    channels.remove(slot)
    limiter.removeSession(of: registry[slot].address)
    registry.remove(slot)
    guard wasConfirmed else { return }
    counters.departures &+= 1
    publish(.left(id, departure))
  }

  /// Publishes a refusal, unless there were many lately.
  mutating func publishRefusal(_ event: ServerEvent, now: Instant) {
    if limiter.takeRefusalEvent(now: now) {
      publish(event)
    } else {
      counters.eventsDropped &+= 1
    }
  }

  private static func makeGate(
    _ settings: borrowing ServerSettings, _ limits: ServerLimits, random: inout RandomSource
  ) -> InitiationGate {
    InitiationGate(
      staticKeys: settings.identity.publicStaticKeys,
      workPerSecond: settings.workPerSecond(limits),
      waitingLimit: limits.waitingHandshakes, random: &random)
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
