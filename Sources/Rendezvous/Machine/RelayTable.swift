import Channels
import Forwarding
import Primitives
import SecureSession
import Tokens
import Wire

/// The relays that are registered, and grants for seats there (docs/protocol/relay.md §1, §2).
struct RelayTable {
  private struct Entry {
    let slot: UInt32
    let id: PeerID
    let address: SocketAddress
    /// Since when it is asked whether it is there, until something of it comes.
    var asked: Instant?
    /// When something came that had been waited for.
    var answered: Instant?
  }

  /// In the order in which they came; a relay has one entry.
  private var entries: [Entry] = []
  /// Seats that are over, of ten minutes: no network ends more than a third of so many
  /// (`ServerLimits.removals` and `endings`).
  private var ended = EndedSeats(limit: 8192)
  /// The same as the nodes that ended them have said it: what comes again is known by it.
  /// As many as a relay remembers: what is forgotten here would be news when it is repeated.
  private var said = EndedSeats(limit: 16_384)
  /// When others are to be told again, for whoever missed it.
  private var repetition = Instant.zero
  private var wasInTouch = false
  /// What relays are to be told.
  private var news: [(slot: UInt32, seats: SeatsEnded)] = []
  /// When those are told that had no room for it.
  private(set) var nextDeadline: Instant?
  /// Those of other nodes.
  var others = OtherRelays()
  /// Others were told last that there are some here.
  var isAnnounced = false
  /// How many of the entries are asked whether they are there.
  private var askedCount = 0
  /// What other nodes are to be told, until the end of a step.
  private var wishes: [(wish: GrantWish, node: UInt64)] = []
  private var untold: [EndedSeat] = []

  /// The relays that are registered here.
  var own: [PeerID] { entries.map(\.id) }

  /// - Throws: Where nothing can be sent there.
  mutating func insert(
    _ here: RelayHere, of slot: UInt32, _ client: ClientRecord
  ) throws(WireError) {
    let address = Self.address(here.address, of: client)
    guard !address.isUnsendable else { throw .invalid("relay", at: 0) }
    entries.removeAll { $0.slot == slot || $0.id == client.id }
    entries.append(Entry(slot: slot, id: client.id, address: address))
    countAsked()
    // It may have missed some.
    for seat in ended.all { queueNews(slot, seat) }
  }

  /// The operator has named others.
  mutating func keep(_ ids: Set<PeerID>) {
    for entry in entries where !ids.contains(entry.id) { remove(entry.slot) }
  }

  /// Where a relay listens that says so; unspecified = where its session is, with that port.
  static func address(_ told: SocketAddress, of client: ClientRecord) -> SocketAddress {
    let seen = client.address
    guard told.isUnspecified else { return told }
    return SocketAddress(family: seen.family, high: seen.high, low: seen.low, port: told.port)
  }

  mutating func remove(_ slot: UInt32) {
    entries.removeAll { $0.slot == slot }
    news.removeAll { $0.slot == slot }
    countAsked()
  }

  /// Ends a seat at whichever relay has it, with all grants that it was given so far.
  mutating func end(_ uid: UInt32, of channel: Bytes32, unixMilliseconds: UInt64) {
    let until = unixMilliseconds &+ Self.grantLife
    insert(EndedSeat(channel: channel, uid: uid, until: until), unixMilliseconds)
    // Above what a node said of it whose clock is ahead: to the others this is news.
    let mark = max(until, (said.until(of: uid, in: channel) ?? 0) &+ 1)
    let word = EndedSeat(channel: channel, uid: uid, until: mark)
    said.insert(word)
    untold.append(word)
  }

  /// Another node has ended a seat: all grants that were given for it here are of before.
  mutating func end(_ told: EndedSeat, unixMilliseconds: UInt64) {
    let known = said.until(of: told.uid, in: told.channel) ?? 0
    guard told.until > max(known, unixMilliseconds) else { return }
    let until = unixMilliseconds &+ Self.grantLife
    insert(EndedSeat(channel: told.channel, uid: told.uid, until: until), unixMilliseconds)
    said.insert(told)
  }

  private mutating func insert(_ seat: EndedSeat, _ unixMilliseconds: UInt64) {
    ended.end(unixMilliseconds: unixMilliseconds)
    said.end(unixMilliseconds: unixMilliseconds)
    ended.insert(seat)
    for entry in entries { queueNews(entry.slot, seat) }
  }

  /// Other nodes are to be told once more of all seats that are over, as it was said: where others
  /// have come, where there was no Redis, and now and then for whoever did not hear it.
  mutating func repeatEnded(
    isInTouch: Bool, haveNodesChanged: Bool, unixMilliseconds: UInt64, now: Instant
  ) {
    let isBack = isInTouch && !wasInTouch
    wasInTouch = isInTouch
    guard isInTouch, isBack || haveNodesChanged || repetition <= now else { return }
    repetition = now + Self.repetitionPace
    said.end(unixMilliseconds: unixMilliseconds)
    untold = said.all
  }

  /// What other nodes are to be told.
  mutating func pollPassages() -> (wishes: [(GrantWish, node: UInt64)], ended: [EndedSeat]) {
    defer { (wishes, untold) = ([], []) }
    return (wishes, untold)
  }

  /// Asks the node of a relay to give a member a grant.
  ///
  /// - Parameter isLost: Whether the member hears nothing of that relay.
  mutating func ask(
    _ node: UInt64, for seat: SeatClaim, at relay: PeerID, to program: ChannelProgram,
    from own: UInt64, isLost: Bool
  ) {
    let member = PassedNotice.Program(id: program.id, presence: program.presence)
    let wish = GrantWish(
      number: 0, unixMilliseconds: 0, relay: relay, node: program.isAway ? program.node : own,
      member: member, channel: seat.channel, uid: seat.uid, role: seat.role,
      home: isLost ? own : nil)
    wishes.append((wish, node))
  }

  /// All messages that are due.
  mutating func pollNews() -> [(slot: UInt32, seats: SeatsEnded)] {
    defer { (news, nextDeadline) = ([], nil) }
    return news
  }

  /// Messages for which their relays have no room now: they are due again soon.
  mutating func keepNews(_ unsent: [(slot: UInt32, seats: SeatsEnded)], now: Instant) {
    news = unsent + news
    nextDeadline = news.isEmpty ? nil : now + Self.newsPause
  }

  /// All of a step leave at its end, as many in a message as it holds: a thousand tokens may end at
  /// one moment.
  private mutating func queueNews(_ slot: UInt32, _ seat: EndedSeat) {
    let last = news.lastIndex { $0.slot == slot }
    if let last, news[last].seats.seats.count < SeatsEnded.limit {
      news[last].seats.seats.append(seat)
    } else {
      news.append((slot, SeatsEnded([seat])))
    }
  }

  /// The relay of a channel, of all that are registered, and at which node it is (0 = here); `nil`
  /// where there is none.
  ///
  /// - Parameters:
  ///   - kept: The one that the channel has.
  ///   - silent: One that neither a member nor the node it is at hears: the channel has it only
  ///     where there is no other.
  func place(
    of channel: Bytes32, kept: PeerID?, without silent: PeerID? = nil
  ) -> (relay: PeerID, node: UInt64)? {
    let here = entries.map { (relay: $0.id, node: UInt64(0)) }
    let away = others.all.filter { other in !here.contains { $0.relay == other.relay } }
    let all = here + away
    let others = all.filter { $0.relay != silent }
    if let former = others.first(where: { $0.relay == kept }) { return former }
    // The relay with the highest weight for the channel: if one goes, the others keep theirs. One
    // that was not heard of for a while keeps its channels: who is there may hear it well, and
    // newcomers at another one would be heard by nobody.
    return (others.isEmpty ? all : others).max {
      weight(of: $0.relay, channel) < weight(of: $1.relay, channel)
    }
  }

  // MARK: - Relays that members have lost

  /// What is known of a relay here of which a member hears nothing.
  enum Presence { case heard, waiting, silent }

  /// Asks a relay whether it is there, unless it is being asked or has just answered.
  mutating func check(_ relay: PeerID, now: Instant) -> Presence {
    guard let index = entries.firstIndex(where: { $0.id == relay }) else { return .silent }
    if let asked = entries[index].asked {
      return now - asked < Self.patience ? .waiting : .silent
    }
    if let answered = entries[index].answered, now - answered < Self.freshness { return .heard }
    entries[index].asked = now
    countAsked()
    // It ends no seat, and any relay acknowledges it.
    queueNews(entries[index].slot, EndedSeat(channel: .zero, uid: 1, until: 0))
    return .waiting
  }

  /// A packet of a client has opened.
  mutating func handlePacket(of slot: UInt32, now: Instant) {
    guard askedCount > 0, let index = entries.firstIndex(where: { $0.slot == slot }),
      entries[index].asked != nil
    else { return }
    (entries[index].asked, entries[index].answered) = (nil, now)
    countAsked()
  }

  private mutating func countAsked() { askedCount = entries.count { $0.asked != nil } }

  /// A grant for a seat at a relay; `nil` where it is not registered here.
  func grant(
    _ seat: SeatClaim, by id: PeerID, to member: PeerID, _ settings: borrowing ServerSettings,
    now: Instant
  ) -> ChannelRelayGrant? {
    guard let relay = entries.first(where: { $0.id == id }) else { return nil }
    var claims = TokenClaims(
      audience: "\(relay.id)", subject: member, scope: seat.scope,
      expires: settings.unixMilliseconds(now) + Self.grantLife, uid: seat.uid)
    // What has ended has ended with all grants of before, and with none of a moment later.
    claims.isExact = true
    // Two of one moment are the same bytes: Ed25519 has no dice.
    let token = PublicToken(signing: claims.json) { settings.identity.signToken($0) }
    return ChannelRelayGrant(
      relay: relay.id, address: relay.address, token: Array(token.text.utf8))
  }

  /// Rendezvous hashing: the same for all who ask.
  private func weight(of relay: PeerID, _ channel: Bytes32) -> UInt64 {
    let id = PeerID(channel.bytes) ?? .zero
    return (relay.word0 ^ id.word0) &* 0x9E37_79B9_7F4A_7C15
  }

  /// In ms: a rendezvous may be away for as long.
  static let grantLife: UInt64 = 600_000
  private static let repetitionPace = Duration.seconds(30)
  /// A relay acknowledges within a round trip.
  private static let newsPause = Duration.milliseconds(100)
  /// For a relay to answer: by then a lost question has come twice more.
  private static let patience = Duration.milliseconds(600)
  /// For as long after its answer it is there. Members ask more often than that.
  private static let freshness = Duration.seconds(1)
}
