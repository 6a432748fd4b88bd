import Primitives
import Relay
import Rendezvous
import Testing
import Wire

/// TURN servers that a rendezvous has for its clients (docs/decisions/0061).
struct RelayOfferTests {
  private let service: RelayService

  init() throws {
    let secret = try #require(RelaySecret(Array("north-wind-and-sun\n".utf8)))
    service = RelayService(uris: ["turn:192.0.2.1:3478", "turns:relay.example"], secret: secret)
  }

  private func offers(_ client: TestClient) -> [RelayOffer] {
    client.messages.compactMap { if case .relays(let offer) = $0 { offer } else { nil } }
  }

  private func client(_ number: UInt64) -> TestClient {
    let client = TestClient(number)
    client.abilities = [.senderNames, .relays]
    return client
  }

  @Test func `a client that takes relays gets them with every registration`() throws {
    let server = Server(relays: service)
    let alice = client(1)
    server.join(alice, name: "alice")
    server.run(.milliseconds(100))
    server.join(alice, name: "alice")
    server.run(.milliseconds(100))
    let offers = offers(alice)
    try #require(offers.count == 2)
    #expect(offers[0].lifeSeconds == 43_200)
    #expect(offers[0].servers.map(\.uri) == ["turn:192.0.2.1:3478", "turns:relay.example"])
    let users = offers.flatMap { $0.servers.map(\.user) }
    #expect(Set(users).count == 2, "a user for each registration, the same at both servers")
    let end = Server.unixSeconds + 1 + 43_200
    #expect(users.allSatisfy { $0.hasPrefix("\(end):") && $0.count == 10 + 1 + 11 })
    #expect(!users.contains { $0.contains("alice") || $0.contains("\(alice.id)".prefix(8)) })
    #expect(server.counters.relayOffers == 2 && server.counters.framesInvalid == 0)
  }

  @Test func `a client of before gets none, and a server without relays names none`() {
    let server = Server(relays: service)
    let old = TestClient(1)
    old.abilities = .senderNames
    server.join(old)
    let plain = Server()
    let alice = client(2)
    plain.join(alice)
    for (server, client) in [(server, old), (plain, alice)] {
      server.run(.seconds(1))
      #expect(client.isRegistered && offers(client).isEmpty)
      #expect(server.counters.relayOffers == 0)
    }
  }

  @Test func `a lost offer comes again, and a client that says RELAYS is wrong`() {
    let server = Server(relays: service)
    let alice = client(1)
    var lost = 0
    server.isLost = { [unowned server] in
      guard server.isToward(alice.address), alice.isRegistered, lost < 1 else { return false }
      lost += 1
      return true
    }
    server.join(alice)
    server.run(.seconds(3))
    #expect(lost == 1 && offers(alice).count == 1)
    alice.request(.relays(RelayOffer(lifeSeconds: 1, servers: [])), now: server.now)
    server.run(.milliseconds(100))
    #expect(server.counters.messagesInvalid == 1)
  }
}
