import Primitives
import Rendezvous
import Testing
import Wire

/// A server with several addresses answers from the one that was asked.
struct AskedAddressTests {
  private static let second = LocalAddressID(rawValue: 2)
  private static let third = LocalAddressID(rawValue: 3)

  @Test func `all answers leave from the address that was asked`() {
    let server = Server()
    let alice = TestClient(1)
    server.attach(alice)
    let initiation = alice.initiation(to: server.card, name: "alice")
    server.receive(initiation, from: alice.address, at: Self.second)
    server.receive(initiation, from: alice.address, at: Self.second)
    #expect(alice.isRegistered)
    server.receive(alice.ping(), from: alice.address, at: Self.second)
    #expect(alice.pongs.count == 1)
    server.goAway()
    server.run(.seconds(1))
    #expect(alice.closes.count == 3)
    #expect(server.locals.count >= 6)
    #expect(server.locals.allSatisfy { $0 == Self.second }, "\(server.locals)")
  }

  @Test func `it follows a client that asks at another of its addresses`() {
    let server = Server()
    let alice = TestClient(1)
    server.join(alice)
    server.receive(alice.ping(), from: alice.address, at: Self.third)
    #expect(server.locals.last == Self.third)
  }

  @Test func `an old packet at another address changes nothing`() {
    let server = Server()
    let alice = TestClient(1)
    server.join(alice)
    let (older, newer) = (alice.ping(), alice.ping())
    server.receive(newer, from: alice.address, at: Self.second)
    server.receive(older, from: alice.address, at: Self.third)
    server.receive(alice.ping(), from: alice.address, at: Self.second)
    #expect(!server.locals.contains(Self.third), "\(server.locals)")
  }

  @Test func `a client that moves is challenged from where it asked, and is served from there`() {
    let server = Server()
    let alice = TestClient(1)
    server.join(alice)
    alice.address = SocketAddress(v4: 10, 9, 9, 9, port: 4000)
    server.receive(alice.ping(), from: alice.address, at: Self.second)
    // The challenge; PONG goes to the proven address, from where the client asked before.
    #expect(server.locals.contains(Self.second))
    #expect(alice.challenges.count == 1)
  }
}
