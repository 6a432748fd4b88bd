import Channels
import Forwarding
import Primitives
import SecureSession
import Tokens
import Wire

/// The channels of a server (docs/protocol/channels.md): who is in them, which relays there are for
/// them, and, in a relay, what is forwarded.
struct ChannelService {
  var directory: ChannelDirectory
  var relays = RelayTable()
  var pairs = PairTable()
  var offers = RelayOffers()
  /// Requests about channels of other nodes, by source.
  var passages: PrefixMeters
  /// Memberships that ended by a token or a newer stay, by source; and hosts that are none now.
  private var endings: EndingMeters
  private var hostEndings: EndingMeters
  private(set) var endingsNotTold: UInt64 = 0
  /// `nil` in a server that is no relay.
  let hub: ForwardingHub?
  private let hash: KeyedHash
  /// The bans of a former life of the server are in place.
  private var hasRestoredBans = false

  init(
    limits: ChannelLimits, endings: PrefixRates, forwarding: ForwardingLimits? = nil,
    hash: KeyedHash, random: RandomSource
  ) {
    directory = ChannelDirectory(limits: limits, random: random)
    hub = forwarding.map { ForwardingHub(limits: $0) }
    self.hash = hash
    passages = PrefixMeters(limit: Self.sources, hash: hash)
    self.endings = EndingMeters(limit: Self.sources, endings)
    hostEndings = EndingMeters(limit: Self.sources, endings)
  }

  var nextDeadline: Instant? { earliest(ownDeadline, hub?.nextDeadline) }
  /// The same of all but the hub.
  var ownDeadline: Instant? { earliest(directory.nextDeadline, relays.nextDeadline) }

  // MARK: - Membership

  /// - Parameter mayCheck: Whether the client's rate allows a signature, made or checked.
  mutating func handle(
    _ request: ChannelRequest, from program: ChannelProgram, at address: SocketAddress,
    mayCheck: Bool,
    _ settings: borrowing ServerSettings, _ limiter: inout SourceMeters, now: Instant
  ) {
    let time = settings.unixMilliseconds(now)
    switch request.content {
    case .relay:
      return grant(request, lost: nil, to: program, mayCheck: mayCheck, settings, now: now)
    case .relayLost(let lost):
      return grant(request, lost: lost, to: program, mayCheck: mayCheck, settings, now: now)
    case .remove where !limiter.allowsRemoval(by: address, now: now):
      return directory.answer(request, .tooManyRequests, to: program)
    default: break
    }
    let removals = directory.counters.removals
    directory.handle(
      request, from: program, at: source(of: address), mayCheck: mayCheck, unixMilliseconds: time,
      now: now)
    // Only those that were allowed count.
    if directory.counters.removals != removals { limiter.noteRemoval(by: address, now: now) }
    expel(time, now: now)
  }

  /// A member wants a grant for a relay.
  ///
  /// - Parameter lost: One of which it hears nothing. If its node does not either, the channel gets
  ///   another; until that is known nothing is answered, and the member asks again.
  private mutating func grant(
    _ request: ChannelRequest, lost: PeerID?, to program: ChannelProgram, mayCheck: Bool,
    _ settings: borrowing ServerSettings, now: Instant
  ) {
    guard let (seat, source) = directory.seat(for: request, from: program, now: now) else {
      return
    }
    // No host is given a seat that could not be ended when it leaves.
    guard mayCheck, seat.role == .audience || hostEndings.allows(source, now: now) else {
      return directory.answer(request, .tooManyRequests, to: program)
    }
    let kept = directory.relay(of: seat.channel)
    guard var (relay, node) = relays.place(of: seat.channel, kept: kept) else {
      if relays.others.isIncomplete { return }
      return directory.answer(request, .noRelay, to: program)
    }
    if relay == lost, node == 0 {
      switch relays.check(relay, now: now) {
      case .heard: break
      case .waiting: return
      case .silent:
        if let other = relays.place(of: seat.channel, kept: nil, without: relay) {
          (relay, node) = other
        }
      }
    }
    directory.setRelay(relay, of: seat.channel)
    directory.handleGrant(of: seat, until: now + .milliseconds(Int64(RelayTable.grantLife)))
    guard node == 0 else {
      return relays.ask(
        node, for: seat, at: relay, to: program, from: settings.identity.id.word0,
        isLost: relay == lost)
    }
    if let grant = relays.grant(seat, by: relay, to: program.id, settings, now: now) {
      directory.answer(request, grant, to: program)
    }
  }

  /// The node of a relay does not hear it either: the channel gets another.
  mutating func leave(_ relay: PeerID, for channel: Bytes32) {
    guard directory.relay(of: channel) == relay,
      let other = relays.place(of: channel, kept: nil, without: relay)
    else { return }
    directory.setRelay(other.relay, of: channel)
  }

  /// Takes over the bans of a former life of the server, once, and writes down new ones.
  ///
  /// - Returns: Whether something was written.
  mutating func keepBans(
    in store: any RegistrationStore, unixMilliseconds time: UInt64, now: Instant
  ) throws(StoreFailure) -> Bool {
    if !hasRestoredBans {
      for ban in try store.bans(now: time) { keepOut(ban, unixMilliseconds: time, now: now) }
      hasRestoredBans = true
    }
    var count = 0
    while let ban = directory.newBan, count < Self.banCount {
      let end = time &+ UInt64(clamping: (ban.until - now).milliseconds)
      try store.keep(StoredBan(channel: ban.channel, id: ban.id, until: end), now: time)
      directory.removeNewBan()
      count += 1
    }
    return count > 0
  }

  /// Keeps an identity out of a channel, as another node does, and puts out who is in it here.
  mutating func keepOut(_ ban: StoredBan, unixMilliseconds time: UInt64, now: Instant) {
    guard ban.until > time else { return }
    let left = Duration.milliseconds(Int64(clamping: ban.until - time))
    directory.ban(ban.id, from: ban.channel, until: now + left, now: now)
    expel(time, now: now)
  }

  /// Takes the bans of a store that other nodes write to as well. What it lacks is to be written
  /// down anew.
  mutating func merge(_ stored: [StoredBan], unixMilliseconds time: UInt64, now: Instant) {
    let alive = stored.filter { $0.until > time }.map { ban in
      ChannelBan(
        channel: ban.channel, id: ban.id,
        until: now + .milliseconds(Int64(clamping: ban.until - time)))
    }
    directory.merge(alive, now: now)
    hasRestoredBans = true
    expel(time, now: now)
  }

  /// Sources whose requests are counted; of more the one that asked longest ago makes room.
  private static let sources = 65_536
  /// Bans that are written down at a time: a store elsewhere takes 8192 commands.
  private static let banCount = 256

  mutating func handleTimeout(_ settings: borrowing ServerSettings, now: Instant) {
    directory.handleTimeout(now: now)
    expel(settings.unixMilliseconds(now), now: now)
  }

  /// Who has lost the right to be in a channel has it no more at its relay either. Removals are
  /// counted where they are asked for. Whoever lets too many others end keeps those seats until
  /// their grants end: all that is remembered for the channels of others would go for them.
  private mutating func expel(_ unixMilliseconds: UInt64, now: Instant) {
    while let member = directory.pollExpelled() {
      guard isTold(member, now: now) else {
        endingsNotTold &+= 1
        continue
      }
      relays.end(member.uid, of: member.channel, unixMilliseconds: unixMilliseconds)
    }
  }

  private mutating func isTold(_ member: ExpelledMember, now: Instant) -> Bool {
    guard let source = member.source else { return true }
    return member.isOrdinary
      ? hostEndings.admit(source, now: now) : endings.admit(source, now: now)
  }

  func source(of address: SocketAddress) -> ChannelSource {
    ChannelSource(
      host: address.key(.host, hash) ?? 1, network: address.key(.network, hash) ?? 1)
  }

  // MARK: - Sessions

  /// A grant is good for a session of a relay as far as there is a seat for it.
  func rule(on ruling: TokenRuling) -> TokenRuling {
    guard case .granted(let grant) = ruling, let hub, let seat = grant.seat else { return ruling }
    return switch hub.refuse(seat) {
    case nil: ruling
    case .ended: .refused(.expired)
    case .full: .noSeat
    }
  }

  /// A session stands whose access token, in a relay, is a grant.
  func reserve(
    _ slot: UInt32, by grant: TokenGrant?, _ payload: InitPayload, from address: SocketAddress
  ) {
    guard let hub, let seat = grant?.seat else { return }
    hub.reserve(
      slot, for: seat, of: payload.card.id, card: payload.card.bytes,
      takesData: payload.abilities.contains(.channelData),
      takesUnsentCounts: payload.abilities.contains(.unsentCounts),
      loudest: Int(payload.loudest), from: SeatPrefixes(of: address, hash))
  }

  mutating func remove(_ slot: UInt32) {
    hub?.remove(slot)
    relays.remove(slot)
    pairs.remove(slot)
    offers.remove(slot)
  }

  /// - Returns: What is still to be reported at once.
  func noteArrival(
    of packet: RendezvousMachine.InboundPacket, _ demand: FeedbackDemand, now: Instant
  ) -> FeedbackDemand {
    hub?.noteArrival(
      packet.number, of: packet.slot,
      isCongestionExperienced: packet.marks.isCongestionExperienced,
      byteCount: packet.byteCount, demand: demand, now: now) ?? demand
  }
}

/// What relays offer.
extension ChannelService {
  /// Takes an offer; of a relay that is not named the operator is told, once in a session.
  ///
  /// - Throws: Where it is not named, or nothing can be sent there.
  static func handle(
    _ offer: RendezvousMessage, of slot: UInt32, in machine: inout RendezvousMachine, now: Instant
  ) throws(WireError) {
    let client = machine.registry[slot]
    let isNamed = machine.settings.relayIDs.contains(client.id)
    let isNews = machine.channels.offers.insert(offer, of: slot, client.id, isNamed: isNamed)
    guard isNamed else {
      if isNews {
        machine.publishRefusal(
          .refused(client.id, .relayNotNamed, from: client.address), now: now)
      }
      throw .invalid("relay", at: 0)
    }
    try machine.channels.accept(offer, of: slot, client)
    machine.sendRelayNews(now: now)
  }

  /// The operator has named relays anew: what was offered before is looked at again.
  static func reviewRelays(in machine: inout RendezvousMachine, now: Instant) {
    let named = machine.settings.relayIDs
    machine.channels.relays.keep(named)
    machine.channels.pairs.keep(named)
    for (slot, offer) in machine.channels.offers.changed(by: named) {
      do throws(WireError) {
        try machine.channels.accept(offer, of: slot, machine.registry[slot])
      } catch {
        machine.counters.messagesInvalid &+= 1
      }
    }
    machine.sendRelayNews(now: now)
  }

  private mutating func accept(
    _ offer: RendezvousMessage, of slot: UInt32, _ client: ClientRecord
  ) throws(WireError) {
    switch offer {
    case .relayHere(let here): try relays.insert(here, of: slot, client)
    case .relayPairs(let pair): try pairs.insert(pair, of: slot, client)
    default: break
    }
  }
}

/// What clients offer as relays, also those whom the operator has not named: it is looked at again
/// when the names are read anew.
struct RelayOffers {
  private struct Entry {
    let slot: UInt32
    let id: PeerID
    var isNamed: Bool
    /// A place for channels, and one for pairs.
    var offers: [RendezvousMessage]
  }

  /// Of one identity there is one entry.
  private var entries: [Entry] = []

  /// Where there are too many whom nobody has named the oldest of them goes: that one would have to
  /// be started again.
  ///
  /// - Returns: whether it is the first of that session.
  mutating func insert(
    _ offer: RendezvousMessage, of slot: UInt32, _ id: PeerID, isNamed: Bool
  ) -> Bool {
    if let index = entries.firstIndex(where: { $0.slot == slot }) {
      entries[index].isNamed = isNamed
      let isFull = entries[index].offers.count >= Self.ofOne
      if isFull { entries[index].offers = [] }
      entries[index].offers.append(offer)
      return false
    }
    entries.removeAll { $0.id == id }
    let strangers = entries.indices.filter { !entries[$0].isNamed }
    if let oldest = strangers.first, strangers.count >= Self.mostStrangers {
      entries.remove(at: oldest)
    }
    entries.append(Entry(slot: slot, id: id, isNamed: isNamed, offers: [offer]))
    return true
  }

  mutating func remove(_ slot: UInt32) { entries.removeAll { $0.slot == slot } }

  /// What is offered by those who are named now, and were not before.
  mutating func changed(by named: Set<PeerID>) -> [(slot: UInt32, offer: RendezvousMessage)] {
    var found: [(slot: UInt32, offer: RendezvousMessage)] = []
    for index in entries.indices {
      let isNamed = named.contains(entries[index].id)
      if isNamed, !entries[index].isNamed {
        found += entries[index].offers.map { (entries[index].slot, $0) }
      }
      entries[index].isNamed = isNamed
    }
    return found
  }

  private static let ofOne = 2
  private static let mostStrangers = 32
}
