import Primitives
import Testing
import Wire

@testable import Rendezvous

/// Key agreements wait, and nobody waits behind them (`HandshakeQueue`).
struct HandshakeQueueTests {
  private static func client(_ number: Int) -> TestClient {
    TestClient(UInt64(5000 + number), SocketAddress(v4: 10, UInt8(number), 1, 1, port: 1000))
  }

  private static func initiation(_ client: TestClient, _ server: Server) -> [UInt8] {
    server.attach(client)
    let milliseconds = Server.unixSeconds * 1000 + server.now.nanoseconds / 1_000_000
    return client.initiation(to: server.card, name: nil, milliseconds: milliseconds)
  }

  /// Goal: a client's PING that came behind 40 INITs is answered before 36 of them are.
  @Test func `whoever has a session does not wait behind those who begin one`() {
    let server = Server()
    let alice = TestClient(1)
    server.join(alice)
    let clients = (0..<40).map(Self.client)
    let begun = server.counters.handshakes
    var packets = clients.map { (bytes: Self.initiation($0, server), from: $0.address) }
    packets.append((alice.ping(token: 9), alice.address))
    server.receiveTogether(packets)
    #expect(alice.pongs.contains { $0.token == 9 })
    #expect(server.counters.handshakes - begun <= 4)
    #expect(server.nextDeadline == server.now, "the others wait for no packet")
    server.run(.milliseconds(1))
    #expect(server.counters.handshakes - begun == 40)
    #expect(clients.allSatisfy(\.isRegistered))
  }

  @Test func `one that waits is not done twice, and in its order`() {
    let server = Server()
    let clients = (0..<10).map(Self.client)
    let packets = clients.map { (bytes: Self.initiation($0, server), from: $0.address) }
    server.receiveTogether(packets + packets + packets)
    #expect(clients.map(\.isRegistered) == (0..<10).map { $0 < 4 })
    server.receiveTogether(packets)
    server.run(.milliseconds(1))
    #expect(server.counters.handshakes == 10)
    #expect(clients.allSatisfy(\.isRegistered))
  }

  /// Goal: memory for what waits has its limit, and who goes says no word any more.
  @Test func `beyond the limit an INIT is dropped, and all that wait when the server ends`() {
    var limits = ServerLimits()
    limits.waitingHandshakes = 8
    limits.keyAgreementsPerSecond = 1_000_000
    let server = Server(limits: limits)
    let clients = (0..<40).map(Self.client)
    server.receiveTogether(clients.map { (Self.initiation($0, server), $0.address) })
    server.run(.milliseconds(1))
    #expect(server.counters.handshakes == 12)
    let late = (40..<50).map(Self.client)
    server.receiveTogether(late.map { (Self.initiation($0, server), $0.address) })
    server.goAway()
    server.run(.milliseconds(1))
    #expect(server.counters.handshakes <= 16)
  }
}
