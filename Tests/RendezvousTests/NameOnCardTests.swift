import Primitives
import Rendezvous
import Testing
import Wire

/// A name on a card is one that was granted, and FORWARDED says which one that was
/// (docs/protocol/rendezvous.md §2, §3).
struct NameOnCardTests {
  private let server = Server()
  private let alice = TestClient(1)
  private let mallory = TestClient(2)
  private let bob = TestClient(3)

  /// What came of registering with a card that claims a name; without one if that was refused.
  private func join(_ client: TestClient, name: String?, claiming claim: String?) {
    client.claim(claim)
    server.join(client, name: name)
    server.run(.seconds(2))
  }

  private func names(at client: TestClient) -> [PeerName?] {
    client.messages.compactMap { message in
      if case .forwarded(let forwarded) = message { .some(forwarded.name) } else { nil }
    }
  }

  private func forward(from sender: TestClient, to receiver: TestClient) {
    let forward = Forward(
      id: ForwardID(random: &sender.random), to: receiver.id, lifeSeconds: 8, body: [1, 2])
    sender.request(.forward(forward), now: server.now)
    server.run(.milliseconds(200))
  }

  @Test func `refuses a card with somebody else's name, and takes it without`() {
    join(alice, name: "alice", claiming: "alice")
    #expect(alice.response?.status == .nameGranted && alice.isRegistered)
    for asked in ["alice", "mallory", nil] {
      join(mallory, name: asked, claiming: "alice")
      #expect(mallory.response?.status == .nameOnCard, "asked for \(asked ?? "nothing")")
      #expect(server.gauges.clients == 1 && server.gauges.unconfirmedSessions == 0)
    }
    #expect(server.counters.registrationsRefused[.nameOnCard] == 3)
    join(mallory, name: "alice", claiming: nil)
    #expect(mallory.response?.status == .nameTaken && mallory.isRegistered)
  }

  @Test func `refuses a free name on a card that was not asked for or not granted`() throws {
    join(mallory, name: nil, claiming: "free")
    #expect(mallory.response?.status == .nameOnCard)
    join(mallory, name: "other", claiming: "free")
    #expect(mallory.response?.status == .nameOnCard)
    for number in 1...9 { join(alice, name: "name\(number)", claiming: "name\(number)") }
    #expect(alice.response?.status == .nameOnCard, "the ninth name is one too many")
    #expect(try server.store.owner(of: PeerName("free")!, now: Server.unixSeconds) == nil)
    #expect(try server.store.card(of: mallory.id) == nil)
  }

  @Test func `takes any name on a card that the identity has`() throws {
    join(alice, name: "alice", claiming: "alice")
    join(alice, name: "work", claiming: "alice")
    #expect(alice.response?.status == .nameGranted && alice.isRegistered)
    join(alice, name: nil, claiming: "work")
    #expect(alice.response?.status == .noNameAskedFor && alice.isRegistered)
    #expect(try server.store.card(of: alice.id) == alice.card.bytes)
  }

  /// Method: the store fails while mallory registers, so that nobody can say whose the name is.
  @Test func `keeps no card whose name nobody could look up`() throws {
    join(alice, name: "alice", claiming: "alice")
    server.store.failure = StoreFailure("the disk is full")
    join(mallory, name: nil, claiming: "alice")
    server.store.failure = nil
    #expect(mallory.response?.status == .noNameAskedFor && mallory.isRegistered)
    #expect(try server.store.card(of: mallory.id) == nil)
    mallory.claim("alice")
    server.attach(mallory)
    server.store.failure = StoreFailure("the disk is full")
    let time = Server.unixSeconds * 1000 + server.now.nanoseconds / 1_000_000
    server.receive(
      mallory.initiation(to: server.card, milliseconds: time), from: mallory.address)
    server.store.failure = nil
    server.receive(mallory.ping(), from: mallory.address)
    server.run(.seconds(1))
    #expect(try server.store.card(of: mallory.id) == nil)
  }

  @Test func `forwards with the granted name, to those who understand it`() {
    bob.abilities = .senderNames
    let old = TestClient(4)
    for client in [bob, old] { server.join(client) }
    join(alice, name: "alice", claiming: "alice")
    join(mallory, name: "alice", claiming: nil)
    for sender in [alice, mallory] {
      for receiver in [bob, old] { forward(from: sender, to: receiver) }
    }
    #expect(names(at: bob) == [PeerName("alice"), nil])
    #expect(names(at: old) == [nil, nil])
    // A session without the name does not inherit it from the one before.
    join(alice, name: nil, claiming: nil)
    forward(from: alice, to: bob)
    #expect(names(at: bob).last == .some(nil) && names(at: bob).count == 3)
  }
}
