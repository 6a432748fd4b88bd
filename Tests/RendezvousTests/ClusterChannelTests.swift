import Channels
import Cryptography
import Primitives
import SecureSession
import Simulation
import Testing
import Tokens
import Wire

@testable import Rendezvous

/// Bans from channels at a service of several nodes (docs/protocol/cluster.md §4).
@Suite struct ClusterChannelTests {
  private static var key: TokenSigningKey {
    var random = RandomSource(seed: 3)
    return TokenSigningKey(random: &random)
  }

  private let world = ClusterWorld()
  private let tea: ChannelIdentity
  private let alice = TestClient(1)
  /// Two programs of one identity, each at a node of its own.
  private let mallory: [TestClient]

  init() throws {
    let rooms = try (0..<9).map { number in
      ChannelIdentity(name: try #require(PeerName("tea-\(number)")), key: Self.key.publicKey)
    }
    // The first node has the channel.
    let (first, now) = (try #require(world.nodes[0].shared), world.nodes[0].now)
    tea = try #require(rooms.first { ChannelHome(of: $0.id, first, now: now) == .here })
    mallory = (UInt8(0)..<2).map { number in
      let client = TestClient(2, SocketAddress(v4: 70, 1, number, 1, port: 4000))
      client.presence = Presence(PresenceID(rawValue: UInt64(number) + 5), .answering)
      return client
    }
    world.join(alice, 0)
    for (node, client) in mallory.enumerated() { world.join(client, node) }
    enter(alice, 0, scope: "host manage")
    for (node, client) in mallory.enumerated() { enter(client, node) }
  }

  private func ask(
    _ client: TestClient, _ node: Int, stay: UInt64 = 1, number: UInt32 = 0,
    _ content: ChannelRequest.Content
  ) {
    client.request(
      .channel(ChannelRequest(channel: tea.id, stay: stay, number: number, content)),
      now: world.nodes[node].now)
    world.run(.milliseconds(200))
  }

  private func enter(_ client: TestClient, _ node: Int, stay: UInt64 = 1, scope: String = "host") {
    let claims = TokenClaims(
      audience: tea.audience, subject: client.id, scope: scope,
      expires: Server.unixSeconds * 1000 + 3_600_000)
    let token = Array(PublicToken(signing: claims.json, by: Self.key).text.utf8)
    let join = ChannelJoin(
      role: .host, uid: 0, key: Self.key.publicKey.bytes, name: tea.name, token: token)
    ask(client, node, stay: stay, .join(join))
  }

  /// Says that it is there, as a client does each second.
  private func sync(_ client: TestClient, _ node: Int) {
    for case .welcome(let welcome) in notices(client) {
      return ask(client, node, .sync(RosterPosition(epoch: welcome.epoch, revision: 1)))
    }
  }

  private func notices(_ client: TestClient) -> [ChannelNotice.Content] {
    client.messages.compactMap { message in
      guard case .channelNotice(let notice) = message else { return nil }
      return notice.content
    }
  }

  private func isIn(_ client: TestClient) -> Bool {
    !notices(client).contains { if case .gone = $0 { true } else { false } }
      && notices(client).contains { if case .welcome = $0 { true } else { false } }
  }

  private func isRefused(_ client: TestClient) -> Bool {
    notices(client).contains { notice in
      if case .result(let result) = notice { result.status == .banned } else { false }
    }
  }

  /// Alice bans mallory, whose first program is at her node.
  private func ban(seconds: UInt32 = 60) {
    for case .welcome(let welcome) in notices(mallory[0]) {
      return ask(alice, 0, number: 1, .remove(uid: welcome.uid, banSeconds: seconds))
    }
    Issue.record("mallory was not in")
  }

  /// What a node that starts now learns of Redis.
  private func bansInRedis() throws -> [PeerID] {
    let store = SharedStore(SecretKey(), node: .zero, random: RandomSource(seed: 7))
    store.handleConnection()
    store.fetchBans()
    while let command = store.pollCommand() {
      store.handle(world.redis.run(command), to: command.number)
    }
    return try store.bans(now: Server.unixSeconds * 1000).map(\.id)
  }

  @Test func `who is banned at one node is put out at the others, and stays out until the end`() {
    #expect(mallory.allSatisfy(isIn))
    ban()
    world.run(.seconds(1))
    #expect(mallory.allSatisfy { notices($0).contains(.gone(stay: 1, .banned)) })
    enter(mallory[1], 1, stay: 2)
    #expect(isRefused(mallory[1]))
    world.run(.seconds(61))
    mallory[1].messages = []
    enter(mallory[1], 1, stay: 3)
    #expect(isIn(mallory[1]))
  }

  /// Method: the other node does not reach Redis when alice bans.
  @Test func `a ban that a node did not hear of holds there when Redis is back`() {
    world.nodes[1].setRedis(isThere: false)
    ban()
    world.run(.seconds(2))
    #expect(isIn(mallory[1]))
    world.nodes[1].setRedis(isThere: true)
    world.run(.seconds(2))
    sync(mallory[1], 1)
    #expect(notices(mallory[1]).contains(.gone(stay: 1, .banned)))
    enter(mallory[1], 1, stay: 2)
    #expect(isRefused(mallory[1]))
  }

  /// Method: the connection by which the other node hears is gone alone.
  @Test func `a ban that a deaf node did not hear of holds there when it hears again`() {
    world.nodes[1].shared?.handleListening(false)
    world.nodes[1].isDeaf = true
    ban()
    world.run(.seconds(2))
    #expect(isIn(mallory[1]))
    world.nodes[1].isDeaf = false
    world.nodes[1].shared?.handleListening(true)
    world.run(.seconds(2))
    sync(mallory[1], 1)
    #expect(notices(mallory[1]).contains(.gone(stay: 1, .banned)))
  }

  @Test func `a ban of a node without Redis reaches the others when it is back`() throws {
    world.nodes[0].setRedis(isThere: false)
    ban()
    world.run(.seconds(2))
    #expect(notices(mallory[0]).contains(.gone(stay: 1, .banned)) && isIn(mallory[1]))
    world.nodes[0].setRedis(isThere: true)
    world.run(.seconds(3))
    sync(mallory[1], 1)
    #expect(notices(mallory[1]).contains(.gone(stay: 1, .banned)))
    #expect(try bansInRedis() == [mallory[0].id])
  }

  @Test func `bans that Redis has lost are written there again`() throws {
    ban()
    world.run(.seconds(1))
    #expect(try bansInRedis() == [mallory[0].id])
    world.redis.loseAll()
    #expect(try bansInRedis().isEmpty)
    world.run(.seconds(4))
    #expect(try bansInRedis() == [mallory[0].id])
  }

  /// A word that Redis says again, after the end of the ban, keeps nobody out.
  @Test func `what was said of a ban that is over says nothing any more`() {
    ban(seconds: 10)
    world.run(.seconds(12))
    mallory[1].messages = []
    enter(mallory[1], 1, stay: 2)
    world.redis.repeatPosts()
    world.run(.seconds(1))
    #expect(isIn(mallory[1]))
  }
}
