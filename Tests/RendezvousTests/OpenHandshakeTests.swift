import Primitives
import Rendezvous
import SecureSession
import Simulation
import Testing
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
