import Primitives
import SecureSession
import Wire

/// Which nodes the service has, which one is tried or used, and which ones come next
/// (docs/protocol/cluster.md §7). Without a list there is the server that was dialled, alone.
struct NodeRoster {
  /// Where a session is sought.
  struct Place: Equatable {
    /// `nil` = whichever node answers at the address that was dialled.
    var id: PeerID?
    var addresses: [SocketAddress]
  }

  /// What clients pin; `nil` = whichever answers first is pinned, or lists are not wanted.
  let root: PeerID?
  private var dialled: Place
  private(set) var list: NodeList?
  private(set) var present: Place
  /// The places of this round that have not been tried.
  private var waiting: [Place] = []
  /// Rounds in a row that came to nothing.
  private var round = 0
  /// Nodes that leave, or that have died, and until when others come first; at most one a node.
  private var avoided: [(id: PeerID, until: Instant)] = []
  /// Of nodes that were used: each saves a round trip.
  private var cards: [ContactCard] = []
  /// The attempt has failed: the next one is elsewhere.
  private(set) var hasFailed = false
  /// The list held when the places of this round were listed.
  private var isCurrent = false
  private(set) var inquiry = NodeInquiry()
  /// In how long nodes have answered before: that of the last attempt that came to something.
  private var proven: Duration?
  /// Which other nodes are asked while the present one says nothing.
  var scout: NodeScout
  /// A silent node is given up sooner: there are others, and a call may need one.
  private(set) var isHurried = false

  init(_ configuration: PeerConfiguration) {
    root = configuration.followsNodes ? configuration.rendezvousID : nil
    dialled = Place(
      addresses: [configuration.rendezvous] + configuration.otherRendezvousAddresses)
    present = dialled
    scout = NodeScout(gap: configuration.nodeGap)
    guard !configuration.rendezvousNodes.isEmpty else { return }
    do {
      let kept = try NodeList(parsing: configuration.rendezvousNodes)
      // Of one that is over the serial counts still.
      _ = try adopt(kept, unixSeconds: kept.content.notBefore)
    } catch {
      list = nil  // Another root's: it is asked for anew.
    }
  }

  /// The name that was dialled has other addresses now.
  ///
  /// - Returns: Whether a session is sought there.
  mutating func setDialled(_ addresses: [SocketAddress]) -> Bool {
    let isPresent = present == dialled
    dialled = Place(addresses: addresses)
    if isPresent { present = dialled }
    return isPresent
  }

  // MARK: - The list

  /// Whether there are nodes to choose from.
  var isService: Bool { list != nil }

  func contains(_ id: PeerID) -> Bool { list?.nodes.contains { $0.id == id } ?? false }

  /// Takes a list instead of the present one; whether it is another.
  mutating func adopt(_ fresh: NodeList, unixSeconds: UInt64) throws(NodeListFault) -> Bool {
    guard let root else { throw .wrongRoot }
    try fresh.verify(root: root, after: list?.serial ?? 0, unixSeconds: unixSeconds)
    guard fresh.serial > list?.serial ?? 0 || list == nil else { return false }
    list = fresh
    cards.removeAll { card in !fresh.nodes.contains { $0.id == card.id } }
    avoided.removeAll { entry in !fresh.nodes.contains { $0.id == entry.id } }
    return true
  }

  // MARK: - The place

  /// A session is to be made from the beginning, at the first place.
  mutating func beginRound(for client: PeerID, unixSeconds: UInt64, now: Instant) {
    round = 0
    refill(for: client, unixSeconds: unixSeconds, now: now)
    advance()
  }

  /// The next place; after the last one the first again, with more patience.
  mutating func goOn(for client: PeerID, unixSeconds: UInt64, now: Instant) {
    if waiting.isEmpty {
      round += 1
      refill(for: client, unixSeconds: unixSeconds, now: now)
    }
    advance()
  }

  private mutating func refill(for client: PeerID, unixSeconds: UInt64, now: Instant) {
    isCurrent = list?.hasExpired(at: unixSeconds) == false
    waiting = places(for: client, unixSeconds: unixSeconds, now: now)
    scout.end()
  }

  private mutating func advance() {
    hasFailed = false
    present = waiting.isEmpty ? dialled : waiting.removeFirst()
  }

  /// The attempt at the present place has failed.
  ///
  /// - Returns: Whether another place has not been tried in this round.
  mutating func handleFailure() -> Bool {
    hasFailed = isService
    return isService && !waiting.isEmpty
  }

  /// An attempt begins at the present place, and no session stands that others would end. Nodes
  /// that were asked while the place before was tried may still answer.
  mutating func beginAttempt(nonce: UInt64, now: Instant) {
    if !scout.isUnderWay, !waiting.isEmpty { scout.begin(nonce: nonce, now: now) }
  }

  mutating func handleCard(_ bytes: Span<UInt8>, from source: SocketAddress, now: Instant) {
    scout.handle(bytes, from: source, present: present, now: now)
  }

  /// Asks other nodes, when it is time.
  ///
  /// - Returns: Whether one has shown its card: it is the present place from now on.
  mutating func moves(now: Instant) -> Bool {
    guard let found = scout.poll(present, waiting: waiting, now: now) else { return false }
    waiting.removeAll { $0 == found.place }
    present = found.place
    hasFailed = false
    if card == nil { keep(found.card) }
    return true
  }

  /// Others come first for a while.
  mutating func avoidPresent(for time: Duration, now: Instant) {
    guard let id = present.id, time > .zero else { return }
    avoided.removeAll { $0.id == id }
    avoided.append((id, now + time))
  }

  /// Whether another place than the present one is to be used, if it answers.
  func prefersOther(for client: PeerID, unixSeconds: UInt64, now: Instant) -> Bool {
    guard isService, let id = present.id else { return false }
    return places(for: client, unixSeconds: unixSeconds, now: now).first?.id != id
  }

  /// All places in the order in which they are tried.
  private func places(for client: PeerID, unixSeconds: UInt64, now: Instant) -> [Place] {
    guard let list, !list.hasExpired(at: unixSeconds) else { return [dialled] }
    let all = list.order(for: client).map { Place(id: $0.id, addresses: $0.addresses) }
    func isAvoided(_ place: Place) -> Bool {
      avoided.contains { $0.id == place.id && $0.until > now }
    }
    let listed = Set(all.flatMap(\.addresses))
    let rest = dialled.addresses.contains { !listed.contains($0) } ? [dialled] : []
    return all.filter { !isAvoided($0) } + all.filter(isAvoided) + rest
  }

  mutating func setPace(isInCall: Bool) { isHurried = isInCall && isService }

  // MARK: - What an attempt is told

  /// How long an attempt waits for a place that says nothing. Each round waits twice as long as the
  /// one before: a line that is slower than the first is served by the second. Where nodes have
  /// answered before, twice that time is enough but in each twelfth round: a node that is back is
  /// found soon.
  var patience: Duration {
    guard isService else { return RegistrationAttempt.longest }
    if let proven, round % 12 != 11 {
      return min(round == 0 ? proven : proven * 2, RegistrationAttempt.longest)
    }
    return min(Self.firstPatience * (1 << min(round, 5)), RegistrationAttempt.longest)
  }

  /// Whose card is taken at the present place.
  func expected(_ pinned: PeerID?) -> ExpectedServer {
    if let id = present.id { return ExpectedServer(id: id) }
    let members = isCurrent ? list?.nodes.map(\.id) ?? [] : []
    return ExpectedServer(id: pinned, root: root, members: members)
  }

  /// The card of the node at the present place, where it was seen before.
  var card: ContactCard? { cards.first { $0.id == present.id } }

  mutating func keep(_ card: ContactCard) {
    guard contains(card.id) else { return }
    cards.removeAll { $0.id == card.id }
    cards.append(card)
  }

  // MARK: - Newer lists

  /// A session stands: whether there is a newer list is asked now.
  mutating func beginInquiry(nonce: UInt64, now: Instant) {
    guard isService else { return }
    proven = patience
    inquiry.begin(nonce: nonce, now: now)
  }

  @_lifetime(packet: copy packet)
  mutating func writeInquiry(into packet: inout OutputSpan<UInt8>, now: Instant) -> Bool {
    guard let root else { return false }
    return inquiry.write(into: &packet, root: root, now: now)
  }

  /// The answer, if it is one.
  mutating func handleAnswer(_ packet: NodesPacket) -> NodeList? {
    inquiry.end(nonce: packet.nonce) ? packet.list : nil
  }

  /// The longest usual round trip is 600 ms.
  private static let firstPatience = Duration.milliseconds(600)
}

/// Whose card an attempt takes.
struct ExpectedServer {
  /// `nil` = whoever's comes.
  var id: PeerID?
  /// Whose list of nodes is asked for, where another card comes.
  var root: PeerID?
  /// Whose card is as good.
  var members: [PeerID] = []

  func accepts(_ found: PeerID) -> Bool { id == nil || id == found || members.contains(found) }
}

/// The question for a newer list: NODES_REQUEST, until NODES comes (docs/protocol/session.md §4).
struct NodeInquiry {
  private var nonce: UInt64 = 0
  private var sent = 0
  private(set) var due: Instant?

  mutating func begin(nonce: UInt64, now: Instant) {
    self.nonce = nonce
    sent = 0
    due = now
  }

  @_lifetime(packet: copy packet)
  mutating func write(
    into packet: inout OutputSpan<UInt8>, root: PeerID, now: Instant
  ) -> Bool {
    guard let due, due <= now else { return false }
    sent += 1
    self.due = sent < Self.most ? now + Self.gap : nil
    packet.append(bytes: NodesRequestPacket(nonce: nonce, root: root).bytes)
    return true
  }

  /// Whether it is the answer; says so once.
  mutating func end(nonce: UInt64) -> Bool {
    guard sent > 0, nonce == self.nonce else { return false }
    sent = 0
    due = nil
    return true
  }

  private static let most = 3
  private static let gap = Duration.seconds(1)
}

/// Looks for another node while the present one says nothing, as RFC 8305 §5 does between addresses
/// (docs/protocol/cluster.md §7).
///
/// It asks for cards, not for sessions: a card costs a node no key agreement and leaves nothing
/// behind. So clients of a node that is merely slow do not double the load of the others. The
/// present node is asked for its card as well: one that answers is waited for.
struct NodeScout {
  /// `nil` = no other node is asked.
  private let gap: Duration?
  /// Of all requests; 0 while none is under way.
  private var nonce: UInt64 = 0
  /// Those that were asked, and when.
  private var asked: [(place: NodeRoster.Place, sent: Instant)] = []
  /// Where requests are to go.
  private var addresses: [SocketAddress] = []
  /// When the next one is asked.
  private var due: Instant?
  /// Who answered first, and when that one is gone to.
  private var found: (card: ContactCard, place: NodeRoster.Place, due: Instant)?

  init(gap: Duration?) { self.gap = gap }

  var deadline: Instant? { earliest(due, found?.due) }
  var isUnderWay: Bool { nonce != 0 }

  mutating func begin(nonce: UInt64, now: Instant) {
    guard let gap else { return }
    self.nonce = nonce
    due = now + gap
  }

  /// The attempt is over, or the present node has answered.
  mutating func end() {
    (nonce, due, found) = (0, nil, nil)
    (asked, addresses) = ([], [])
  }

  /// The place to go on to, whose node has shown its card; asks the next one, when it is time.
  ///
  /// - Parameter waiting: The places that the attempt may go on to, in their order.
  mutating func poll(
    _ present: NodeRoster.Place, waiting: [NodeRoster.Place], now: Instant
  ) -> (place: NodeRoster.Place, card: ContactCard)? {
    if let found, found.due <= now {
      end()
      return found.place == present ? nil : (found.place, found.card)
    }
    guard let gap, let due, due <= now else { return nil }
    self.due = nil
    let next = waiting.first { place in
      place.id != nil && !asked.contains { $0.place == place }
    }
    guard let next, found == nil, asked.count <= Self.most else { return nil }
    for place in asked.isEmpty ? [present, next] : [next] {
      asked.append((place, now))
      addresses += place.addresses
    }
    self.due = now + gap
    return nil
  }

  /// A CARD of one that was asked.
  mutating func handle(
    _ bytes: Span<UInt8>, from source: SocketAddress, present: NodeRoster.Place, now: Instant
  ) {
    guard isUnderWay, case .control(.card) = Demultiplexer.classify(bytes),
      let (place, sent) = asked.first(where: { $0.place.addresses.contains(source) })
    else { return }
    var reader = ByteReader(bytes)
    do {
      let packet = try CardPacket(parsing: &reader)
      guard packet.nonce == nonce, place.id == nil || packet.card.id == place.id else { return }
      try packet.card.verify(unixSeconds: packet.card.content.notBefore)
      if place == present { return end() }
      let grace = max(Self.grace, Duration.nanoseconds(Int64(now.nanoseconds(since: sent))) / 2)
      if found == nil { found = (packet.card, place, now + grace) }
    } catch {
      return  // Nobody's who holds the node's key.
    }
  }

  @_lifetime(packet: copy packet)
  mutating func write(into packet: inout OutputSpan<UInt8>) -> SocketAddress? {
    guard !addresses.isEmpty else { return nil }
    var bytes: [UInt8] = []
    CardRequestPacket(nonce: nonce).write(to: &bytes)
    packet.append(bytes: bytes)
    return addresses.removeFirst()
  }

  /// How long one address is waited for before the next is tried: RFC 8305 §5.
  static let gap = Duration.milliseconds(250)
  /// Nodes that are asked beside the present one.
  private static let most = 3
  /// For how long, at the least, the present node is waited for after another one has answered:
  /// INIT goes again 50 ms after both were asked for their cards.
  private static let grace = Duration.milliseconds(60)
}
