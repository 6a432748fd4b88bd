import Primitives
import Testing
import Wire

@testable import Rendezvous

/// Key agreements wait, and nobody waits behind them (`HandshakeQueue`).
struct HandshakeQueueTests {
  /// Without cookies.
  private static var limits: ServerLimits {
    var limits = ServerLimits()
    limits.waitingHandshakes = 1024
    return limits
  }

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
    let server = Server(limits: Self.limits)
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
    #expect(clients.allSatisfy { $0.isRegistered })
  }

  @Test func `one that waits is not done twice, and in its order`() {
    let server = Server(limits: Self.limits)
    let clients = (0..<10).map(Self.client)
    let packets = clients.map { (bytes: Self.initiation($0, server), from: $0.address) }
    server.receiveTogether(packets + packets + packets)
    #expect(clients.map(\.isRegistered) == (0..<10).map { $0 < 4 })
    server.receiveTogether(packets)
    server.run(.milliseconds(1))
    #expect(server.counters.handshakes == 10)
    #expect(clients.allSatisfy { $0.isRegistered })
  }

  /// Goal: a host that is slower than the pace that it is allowed proves addresses all the same.
  @Test func `where many wait addresses are to be proven, whatever the pace`() {
    let server = Server()
    let clients = (0..<40).map(Self.client)
    // Fewer than 2000 a second: so many may be done.
    server.receiveTogether(
      clients.map { (Self.initiation($0, server), $0.address) }, gap: .milliseconds(1))
    #expect(server.counters.cookiesSent == 40 - 4 - 8)
    server.run(.milliseconds(1))
    #expect(server.counters.handshakes == 12)
  }

  /// Goal: memory for what waits has its limit.
  @Test func `as many wait as may, and four of them go on in a turn`() throws {
    let server = Server()
    var queue = HandshakeQueue(limit: 8)
    var atOnce = 0
    while queue.admitsAtOnce() { atOnce += 1 }
    #expect(atOnce == 4 && queue.nextDeadline == nil)
    var appended = 0
    for number in 0..<10 as Range<UInt8> {
      let client = Self.client(Int(number))
      let bytes = Self.initiation(client, server)
      var reader = ByteReader(bytes.span)
      let packet = try InitPacket(parsing: &reader)
      var entry = HandshakeQueue.Entry(
        packet, keyIndex: 0, from: client.address, to: .unspecified,
        fingerprint: try Self.fingerprint(number),
        now: server.now + .milliseconds(Int64(number)))
      entry.keep(bytes.span)
      #expect(entry.bytes == bytes)
      if queue.append(entry) { appended += 1 }
    }
    #expect(appended == 8)
    let early = queue.popFirst()
    #expect(early?.keyIndex == nil, "the turn has had its four")
    queue.beginTurn()
    #expect(queue.nextDeadline == server.now)
    for number in 0..<4 as Range<UInt8> {
      let popped = queue.popFirst()
      let next = try #require(popped)
      #expect(try next.fingerprint == Self.fingerprint(number))
      #expect(!queue.contains(next.fingerprint))
    }
    let fifth = queue.popFirst()
    let isAdmitted = queue.admitsAtOnce()
    #expect(fifth?.keyIndex == nil && !isAdmitted)
    #expect(queue.nextDeadline == server.now + .milliseconds(4))
    #expect(queue.contains(try Self.fingerprint(4)))
    #expect(queue.fill == 500)
  }

  private static func fingerprint(_ number: UInt8) throws -> Bytes16 {
    try #require(Bytes16(Array(repeating: number, count: 16)))
  }

  @Test func `who goes away begins none of those that wait`() {
    let server = Server(limits: Self.limits)
    let clients = (0..<10).map(Self.client)
    server.receiveTogether(clients.map { (Self.initiation($0, server), $0.address) })
    server.goAway()
    server.run(.milliseconds(1))
    #expect(server.counters.handshakes == 4)
  }
}
