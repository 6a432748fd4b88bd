import Cryptography
import Primitives
import Redis
import Testing
import Wire

@testable import Rendezvous
@testable import RendezvousCommand

/// What stands between a node and Redis.
@Suite(
  .serialized,
  .enabled(if: RedisServer.exists, "redis-server is not installed: tools/setup does it"))
struct RedisLinkTests {
  /// What was asked in between had no answer, and took room from then on.
  @Test func `a node is without Redis from its start until its own connection stands`() throws {
    let server = try #require(RedisServer())
    let address = try #require(RedisAddress("redis://127.0.0.1:\(server.port)"))
    let service = RedisService(address: address, password: nil, mark: [1])
    var connection = try service.connect()
    _ = try connection.run(["DEL", "earshot:2:frozen", "earshot:2:settling"])
    let id = PeerID(word0: 1, word1: 0, word2: 0, word3: 0)
    let store = SharedStore(SecretKey(), node: id, random: RandomSource(seed: 1))
    let link = try RedisLink(store, service)
    try link.begin()
    #expect(store.fetch(.find(.id(id)), now: 100) == nil && store.waiting.isEmpty)
    #expect(try store.bans(now: 100).isEmpty)
  }
}
