import Channels
import Primitives
import SecureSession
import Simulation
import Testing
import Tokens
import Wire

@testable import Rendezvous

/// Relays of one node and channels of another (docs/protocol/cluster.md §9): `RelaySharing` and
/// `RelayTable`.
@Suite struct ClusterRelayTests {
  private static var key: TokenSigningKey {
    var random = RandomSource(seed: 3)
    return TokenSigningKey(random: &random)
  }

  private let relay = TestClient(50)
  /// Alice is at the relay's node, bob at the other one.
  private let people = (UInt64(1)...2).map { TestClient($0) }
  private let world: ClusterWorld
  private let rooms: [ChannelIdentity]

  init() throws {
    // The third node has no clients.
    world = ClusterWorld(nodeCount: 3, relayIDs: [relay.id])
    rooms = try (0..<16).map { number in
      ChannelIdentity(
        name: try #require(PeerName("tea-\(number)")), key: Self.key.publicKey)
    }
    for (node, client) in people.enumerated() { world.join(client, node) }
  }

  private func register() throws {
    world.join(relay, 0)
    relay.request(
      .relayHere(RelayHere(address: try #require(SocketAddress("0.0.0.0:7500")))),
      now: world.nodes[0].now)
    world.run(.milliseconds(1200))
  }

  private func ask(
    _ person: Int, _ room: ChannelIdentity, number: UInt32 = 0, _ content: ChannelRequest.Content
  ) {
    let request = ChannelRequest(
      channel: room.id, stay: UInt64(person) + 1, number: number, content)
    people[person].request(.channel(request), now: world.nodes[person].now)
    world.run(.milliseconds(300))
  }

  private func enter(_ person: Int, _ room: ChannelIdentity) {
    let claims = TokenClaims(
      audience: room.audience, subject: people[person].id, scope: "host manage",
      expires: Server.unixSeconds * 1000 + 3_600_000)
    let token = Array(PublicToken(signing: claims.json, by: Self.key).text.utf8)
    ask(
      person, room,
      .join(
        ChannelJoin(
          role: .host, uid: UInt32(person) + 5, key: Self.key.publicKey.bytes, name: room.name,
          token: token)))
  }

  private func grant(_ person: Int, _ room: ChannelIdentity) -> ChannelRelayGrant? {
    for case .channelNotice(let notice) in people[person].messages.reversed()
    where notice.channel == room.id {
      if case .relay(let grant) = notice.content { return grant }
    }
    return nil
  }

  private func isWithoutRelay(_ person: Int, _ room: ChannelIdentity) -> Bool {
    people[person].messages.contains { message in
      guard case .channelNotice(let notice) = message, notice.channel == room.id,
        case .result(let result) = notice.content
      else { return false }
      return result.status == .noRelay
    }
  }

  private var seatsEnded: [EndedSeat] {
    relay.messages.flatMap { message -> [EndedSeat] in
      guard case .seatsEnded(let ended) = message else { return [] }
      return ended.seats
    }
  }

  @Test func `a relay of one node is for members and channels of all`() throws {
    try register()
    for room in rooms {
      for person in people.indices {
        enter(person, room)
        ask(person, room, number: 1, .relay)
        let offered = try #require(grant(person, room))
        #expect(offered.relay == relay.id)
        // Its own node has signed it: the relay believes no other.
        let rule = TokenRule(
          key: TokenPublicKey(bytes: Bytes32(world.nodes[0].card.id)), audience: "\(relay.id)")
        let seat = try rule.check(
          offered.token, of: people[person].id,
          unixMilliseconds: Server.unixSeconds * 1000 + 2000
        ).seat
        #expect(seat?.channel == room.id && seat?.uid == UInt32(person) + 5)
      }
    }
  }

  @Test func `the relay is told who was removed, whichever node has the channel`() throws {
    try register()
    for room in rooms {
      for person in people.indices { enter(person, room) }
      relay.messages = []
      ask(1, room, number: 1, .remove(uid: 5, banSeconds: 0))
      let seat = try #require(seatsEnded.first)
      #expect(seat.channel == room.id && seat.uid == 5 && seatsEnded.count == 1)
      relay.messages = []
      world.redis.repeatPosts()
      world.run(.seconds(1))
      #expect(seatsEnded.isEmpty)
    }
  }

  /// Goal: what ended once ends nobody's seat a second time, whoever comes or goes.
  @Test(arguments: [Int64(0), 30, -30])
  func `nodes that change put nobody off a seat again, whatever their clocks show`(
    ahead: Int64
  ) throws {
    for node in [1, 2] { world.nodes[node].setWallClock(ahead: ahead) }
    try register()
    let limit = (Server.unixSeconds + 630) * 1000
    for room in rooms {
      for person in people.indices { enter(person, room) }
      ask(1, room, number: 1, .remove(uid: 5, banSeconds: 0))
    }
    #expect(Set(seatsEnded.map(\.channel)) == Set(rooms.map(\.id)))
    // By the relay's own clock no later than the grants that its node has given.
    #expect(seatsEnded.allSatisfy { $0.until < limit })
    relay.messages = []
    world.kill(2)
    world.run(.seconds(45))
    #expect(seatsEnded.isEmpty)
  }

  /// Goal: a removal counts at the relays of other nodes as well, once there is Redis again.
  @Test func `who was removed while there was no Redis is told of when it is back`() throws {
    try register()
    for room in rooms { for person in people.indices { enter(person, room) } }
    relay.messages = []
    for node in world.nodes { node.setRedis(isThere: false) }
    world.run(.milliseconds(500))
    people[1].messages = []
    for room in rooms { ask(1, room, number: 1, .remove(uid: 5, banSeconds: 0)) }
    #expect(seatsEnded.isEmpty)
    for node in world.nodes { node.setRedis(isThere: true) }
    world.run(.seconds(40))
    let told = Set(seatsEnded.map(\.channel))
    // Channels of the node at which the removal was asked for.
    #expect(!told.isEmpty && told.count == seatsEnded.count)
  }

  /// Goal: what a hostile Redis has kept for longer than a grant lives gives nobody a seat.
  @Test func `a wish for a grant that was kept back is worth nothing later`() throws {
    try register()
    for room in rooms { for person in people.indices { enter(person, room) } }
    for client in people { client.messages = [] }
    world.redis.holdsPosts = true
    for room in rooms { ask(1, room, number: 1, .relay) }
    let before = rooms.filter { grant(1, $0) != nil }.count
    for node in world.nodes { node.setWallClock(ahead: 700) }
    world.redis.releasePosts()
    world.run(.seconds(2))
    #expect(rooms.filter { grant(1, $0) != nil }.count == before)
  }

  /// A relay that registers after a removal is told of it as well.
  @Test func `a relay that comes later is told of seats that ended in channels of others`() throws {
    for room in rooms {
      for person in people.indices { enter(person, room) }
      ask(1, room, number: 1, .remove(uid: 5, banSeconds: 0))
    }
    try register()
    #expect(Set(seatsEnded.map(\.channel)) == Set(rooms.map(\.id)))
  }

  @Test func `a relay that has gone, or whose node has, is not offered any more`() throws {
    try register()
    world.kill(0)
    world.run(.seconds(12))
    enter(1, rooms[0])
    ask(1, rooms[0], number: 1, .relay)
    #expect(grant(1, rooms[0]) == nil && isWithoutRelay(1, rooms[0]))
  }

  @Test func `who asks before the others were heard is not told that there is no relay`() {
    var others = OtherRelays()
    let word = RelaysOfNode(node: 7, relays: [relay.id])
    others.handle(word, now: .zero)
    #expect(others.all.map(\.node) == [7])
    others.isIncomplete = true
    others.forgetOld(now: .zero + .seconds(60))
    #expect(others.all.count == 1)
    others.isIncomplete = false
    others.forgetOld(now: .zero + .seconds(4))
    #expect(others.all.count == 1)
    others.handle(RelaysOfNode(node: 7, relays: []), now: .zero + .seconds(4))
    #expect(others.all.isEmpty)
  }
}
