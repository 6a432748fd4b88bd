import Primitives
import Rendezvous
import SecureSession
import Simulation
import Testing
import Tokens
import Wire

/// An INIT waits for a store that is elsewhere, and is answered once.
@Suite struct OpenHandshakeTests {
  private let server = Server(redis: RedisModel())
  private let alice = TestClient(1)

  private var initiation: [UInt8] {
    let milliseconds = Server.unixSeconds * 1000 + server.now.nanoseconds / 1_000_000
    return alice.initiation(to: server.card, name: "alice", milliseconds: milliseconds)
  }

  /// Method: Redis has been silent for 6 s.
  @Test func `is answered without a name when Redis is silent for long`() {
    server.attach(alice)
    server.setRedis(isThere: true)
    server.run(.seconds(1))
    server.isRedisSilent = true
    server.run(.seconds(6))
    server.receive(initiation, from: alice.address)
    server.run(.milliseconds(700))
    #expect(alice.response == nil)
    server.run(.milliseconds(200))
    #expect(alice.response?.status == .noNameAskedFor)
    #expect(server.counters.handshakes == 1 && server.counters.storeFailures > 0)
  }

  /// Goal: a name that nobody has is kept from others only for whoever may register, and have it.
  @Test(arguments: ["no token", "a token of another", "not on the list", "too many names"])
  func `keeps no name for whoever is refused`(_ kind: String) throws {
    var random = RandomSource(seed: 7)
    let key = TokenSigningKey(random: &random)
    let tokenKey = kind.contains("token") ? key.publicKey : nil
    let mallory = TestClient(66)
    var limits = ServerLimits()
    if kind == "too many names" {
      let one = Rate(perDay: 1)
      limits.newNames = PrefixRates(host: one, site: one, network: one)
    }
    let isOpen = kind != "not on the list"
    let redis = RedisModel()
    let first = Server(
      limits: limits, admission: isOpen ? .everyone : .only(ids: [alice.id], names: [:]),
      tokenKey: tokenKey, redis: redis)
    let second = Server(tokenKey: tokenKey, identitySeed: 98, redis: redis)
    for server in [first, second] {
      server.setRedis(isThere: true)
      server.run(.seconds(1))
    }
    func token(for server: Server) -> String {
      let now = Server.unixSeconds * 1000
      let claims = TokenClaims(
        audience: "\(server.card.id)", subject: alice.id, issuedAt: now, notBefore: now,
        expires: now + 60_000)
      return PublicToken(signing: claims.json, by: key).text
    }
    if kind == "a token of another" { mallory.token = token(for: first) }
    for name in ["other", "alice"] { join(mallory, first, name) }
    #expect(mallory.response != nil && mallory.response?.status != .nameGranted)
    if tokenKey != nil { alice.token = token(for: second) }
    join(alice, second, "alice")
    #expect(alice.response?.status == .nameGranted)
  }

  private func join(_ client: TestClient, _ server: Server, _ name: String) {
    server.join(client, name: name)
    server.serveStore()
    if client.isRegistered { server.receive(client.ping(), from: client.address) }
    server.serveStore()
    server.run(.seconds(1))
  }

  /// Method: Redis is connected, and has never answered; or the connection of the start is over.
  @Test(arguments: [true, false])
  func `is not answered by a node of which the others never heard`(isConnected: Bool) {
    server.attach(alice)
    server.isRedisSilent = true
    server.setRedis(isThere: true)
    if !isConnected { server.setRedis(isThere: false) }
    server.receive(initiation, from: alice.address)
    server.run(.seconds(300))
    #expect(alice.response == nil)
    server.isRedisSilent = false
    server.setRedis(isThere: true)
    server.run(.seconds(1))
    server.receive(initiation, from: alice.address)
    #expect(alice.response?.status == .nameGranted)
  }

  @Test func `is answered when Redis is, with one key agreement`() {
    server.attach(alice)
    server.setRedis(isThere: true)
    server.isRedisSilent = true
    server.receive(initiation, from: alice.address)
    server.run(.milliseconds(500))
    server.isRedisSilent = false
    server.serveStore()
    #expect(alice.response?.status == .nameGranted)
    #expect(server.counters.handshakes == 1)
    server.run(.seconds(2))
    #expect(server.counters.handshakes == 1 && server.counters.storeFailures == 0)
  }
}
