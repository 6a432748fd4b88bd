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
  private let dialled: Place
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
  /// A silent node is given up sooner: there are others, and a call may need one.
  private(set) var isHurried = false

  init(_ configuration: PeerConfiguration) {
    root = configuration.followsNodes ? configuration.rendezvousID : nil
    dialled = Place(
      addresses: [configuration.rendezvous] + configuration.otherRendezvousAddresses)
    present = dialled
    guard !configuration.rendezvousNodes.isEmpty else { return }
    do {
      let kept = try NodeList(parsing: configuration.rendezvousNodes)
      // Of one that is over the serial counts still.
      _ = try adopt(kept, unixSeconds: kept.content.notBefore)
    } catch {
      list = nil  // Another root's: it is asked for anew.
    }
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
