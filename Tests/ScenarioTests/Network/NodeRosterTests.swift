import Primitives
import SecureSession
import Testing
import Wire

@testable import Peer

/// Which node comes next, and what of a list is taken.
@Suite struct NodeRosterTests {
  private static let dialled = SocketAddress(v4: 10, 0, 0, 9, port: 7400)
  private static let day: UInt64 = 1_790_000_000
  private static let client = PeerID(word0: 77, word1: 1, word2: 1, word3: 1)
  private static let start = Instant.zero + .seconds(5)

  private static var root: RootKey {
    var random = RandomSource(seed: 1)
    return RootKey(random: &random)
  }

  private static let rootID = root.id

  private static func list(serial: UInt64 = 7, _ count: UInt64 = 3) throws -> NodeList {
    let key = root
    let nodes = (1...count).map { number in
      NodeList.Node(
        id: PeerID(word0: number, word1: 0, word2: 0, word3: 0), weight: 1,
        addresses: [SocketAddress(v4: 10, 0, 0, UInt8(number), port: 7400)])
    }
    return try NodeList.sign(
      NodeList.Content(
        root: key.id, serial: serial, notBefore: day, notAfter: day + 86_400, nodes: nodes),
      with: key)
  }

  private static func configuration(_ list: NodeList? = nil) -> PeerConfiguration {
    var configuration = PeerConfiguration(rendezvous: dialled, wallClockAtZero: 0)
    configuration.rendezvousID = rootID
    configuration.rendezvousNodes = list?.bytes ?? []
    return configuration
  }

  private static func begin(
    _ roster: inout NodeRoster, at time: UInt64 = day, now: Instant = start
  ) {
    roster.beginRound(for: client, unixSeconds: time, now: now)
  }

  /// The places of a round, in their order.
  private static func round(_ roster: inout NodeRoster, now: Instant = start) -> [PeerID?] {
    begin(&roster, now: now)
    var found = [roster.present.id]
    while roster.handleFailure() {
      roster.goOn(for: client, unixSeconds: day, now: now)
      found.append(roster.present.id)
    }
    return found
  }

  @Test func `without a list there is the address that was dialled, and all patience`() {
    var roster = NodeRoster(Self.configuration())
    #expect(!roster.isService && Self.round(&roster) == [nil])
    #expect(!roster.hasFailed && roster.patience == .seconds(10))
    let expected = roster.expected(Self.rootID)
    #expect(expected.accepts(Self.rootID) && !expected.accepts(Self.client))
    #expect(expected.root == Self.rootID)
    #expect(ExpectedServer(id: nil).accepts(Self.client), "the first one is pinned")
  }

  @Test func `each node is tried once a round, then the address that was dialled`() throws {
    let list = try Self.list()
    var roster = NodeRoster(Self.configuration(list))
    let order = list.order(for: Self.client).map { Optional($0.id) }
    #expect(Self.round(&roster) == order + [nil])
    var patience = [roster.patience]
    for _ in 0..<24 {
      _ = roster.handleFailure()
      roster.goOn(for: Self.client, unixSeconds: Self.day, now: Self.start)
      if roster.present.id == order[0] { patience.append(roster.patience) }
    }
    #expect(
      patience == [600, 1_200, 2_400, 4_800, 9_600, 10_000, 10_000].map { .milliseconds($0) })
  }

  /// All die, and one is back after a minute: no dead one takes ten seconds before it.
  @Test func `where nodes have answered before each is given twice that time`() throws {
    var roster = NodeRoster(Self.configuration(try Self.list()))
    Self.begin(&roster)
    roster.beginInquiry(nonce: 1, now: Self.start)
    Self.begin(&roster)
    var patience = [roster.patience]
    for _ in 0..<(12 * 4) {
      _ = roster.handleFailure()
      roster.goOn(for: Self.client, unixSeconds: Self.day, now: Self.start)
      if patience.last != roster.patience { patience.append(roster.patience) }
    }
    // A line may have become slower: one round of twelve has all the time.
    #expect(patience == [600, 1_200, 10_000, 1_200].map { .milliseconds($0) })
  }

  @Test func `a node that is avoided comes after the others, for its time`() throws {
    let list = try Self.list()
    let order = list.order(for: Self.client).map { Optional($0.id) }
    var roster = NodeRoster(Self.configuration(list))
    Self.begin(&roster)
    roster.avoidPresent(for: NodeMove.silentAvoided, now: Self.start)
    #expect(Self.round(&roster) == [order[1], order[2], order[0], nil])
    Self.begin(&roster)
    let before = Self.start + .seconds(59)
    let after = Self.start + .seconds(60)
    #expect(!roster.prefersOther(for: Self.client, unixSeconds: Self.day, now: before))
    #expect(roster.prefersOther(for: Self.client, unixSeconds: Self.day, now: after))
    #expect(Self.round(&roster, now: after) == order + [nil])
  }

  @Test func `a list that is over is not used, and its serial counts`() throws {
    var roster = NodeRoster(Self.configuration(try Self.list(serial: 7)))
    Self.begin(&roster, at: Self.day + 90_000)
    #expect(roster.isService && roster.present.id == nil)
    #expect(roster.expected(Self.rootID).members.isEmpty)
    let older = try Self.list(serial: 6)
    #expect(throws: NodeListFault.older) { _ = try roster.adopt(older, unixSeconds: Self.day) }
    let isOther = try [7, 8].map { serial in
      try roster.adopt(try Self.list(serial: serial), unixSeconds: Self.day)
    }
    #expect(isOther == [false, true])
  }

  @Test func `lists of others, and those that nobody asked for, are not kept`() throws {
    var other = Self.configuration(try Self.list())
    other.rendezvousID = Self.client
    #expect(!NodeRoster(other).isService)
    var relay = Self.configuration(try Self.list())
    relay.followsNodes = false
    #expect(!NodeRoster(relay).isService && NodeRoster(relay).expected(Self.rootID).root == nil)
    var damaged = Self.configuration()
    damaged.rendezvousNodes = [1, 2, 3]
    #expect(!NodeRoster(damaged).isService)
    var roster = NodeRoster(Self.configuration(try Self.list()))
    let unasked = roster.handleAnswer(NodesPacket(nonce: 9, list: try Self.list(serial: 8)))
    #expect(unasked == nil)
    roster.beginInquiry(nonce: 9, now: Self.start)
    #expect(roster.inquiry.due == Self.start)
    let early = roster.handleAnswer(NodesPacket(nonce: 9, list: try Self.list(serial: 8)))
    #expect(early == nil, "the question has not left")
  }

  @Test func `a newer list is asked for three times, and its answer is taken once`() throws {
    var inquiry = NodeInquiry()
    inquiry.begin(nonce: 9, now: Self.start)
    var now = Self.start
    var sent = 0
    while let due = inquiry.due {
      now = due
      var isWritten = false
      let bytes = [UInt8](capacity: 1200) {
        isWritten = inquiry.write(into: &$0, root: Self.rootID, now: now)
      }
      #expect(isWritten && bytes.count == NodesRequestPacket.byteCount)
      sent += 1
    }
    #expect(sent == 3 && now == Self.start + .seconds(2))
    let ends = [8, 9, 9].map { inquiry.end(nonce: $0) }
    #expect(ends == [false, true, false])
  }

  @Test func `a list is asked for once for each strange card, five times at the most`() throws {
    var requests = RequestedNodes()
    let answer = NodesPacket(nonce: 3, list: try Self.list())
    var sent = [requests.pop()]
    #expect(!requests.isAnswer(answer, to: 3))
    for _ in 0..<6 {
      requests.ask()
      sent += [requests.pop(), requests.pop()]
    }
    let once = (0..<5).flatMap { _ in [true, false] }
    #expect(sent == [false] + once + [false, false])
    #expect(requests.isAnswer(answer, to: 3) && !requests.isAnswer(answer, to: 4))
  }

  /// NODES takes a round trip more than CARD: on a slow line a strange card is no reason yet.
  @Test(arguments: [(10, 800), (600, 1800)] as [(Int64, Int64)])
  func `a strange card is told of when its list would have come`(
    roundTrip: Int64, told: Int64
  ) throws {
    var random = RandomSource(seed: 5)
    var node = LocalIdentity(kind: .rendezvous, unixSeconds: Self.day, random: &random)
    var own = LocalIdentity(kind: .peer, unixSeconds: Self.day, random: &random)
    let strange = try node.makeCard(unixSeconds: Self.day)
    let card = try own.makeCard(unixSeconds: Self.day)
    var attempt = RegistrationAttempt(
      RegistrationRequest(card: card, name: nil, presence: .unnamed),
      expected: ExpectedServer(id: Self.rootID, root: Self.rootID), card: nil, now: Self.start)
    var isTold: [Bool] = []
    for time in [0, told - 1, told] {
      _ = attempt.handleTimeout(
        identity: own, time: TAI64N(unixMilliseconds: Self.day * 1000),
        connectionID: ConnectionID(rawValue: 7), random: &random,
        now: Self.start + .milliseconds(time))
      isTold.append(attempt.popDoubt() != nil)
      guard time == 0 else { continue }
      let bytes = [UInt8](capacity: 1200) { _ = attempt.writePacket(into: &$0) }
      var reader = ByteReader(bytes.span)
      var answer: [UInt8] = []
      let nonce = try CardRequestPacket(parsing: &reader).nonce
      CardPacket(nonce: nonce, card: strange).write(to: &answer)
      _ = attempt.handle(
        answer.span, ownStatic: own.staticKey, unixSeconds: Self.day,
        now: Self.start + .milliseconds(roundTrip))
    }
    #expect(isTold == [false, false, true])
  }

  @Test func `cards of nodes are kept while they are on the list`() throws {
    var random = RandomSource(seed: 5)
    var identity = LocalIdentity(kind: .rendezvous, unixSeconds: Self.day, random: &random)
    let card = try identity.makeCard(unixSeconds: Self.day)
    var roster = NodeRoster(Self.configuration(try Self.list()))
    roster.keep(card)
    Self.begin(&roster)
    #expect(roster.card == nil && !roster.contains(card.id))
  }
}
