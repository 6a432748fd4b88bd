import Primitives
import Rendezvous
import Testing
import Wire

struct RegistrationTests {
  @Test func `registers a client, answers its PING and tells it its address`() {
    let server = Server()
    let alice = TestClient(1)
    server.join(alice, name: "alice")
    #expect(alice.response?.status == .nameGranted)
    #expect(alice.response?.seenAddress == alice.address)
    #expect(alice.response?.life == 3600 && alice.response?.period == 6)
    #expect(alice.response?.boot == 5)
    #expect(alice.pongs == [PongFrame(token: 7, observed: alice.address)])
    #expect(server.gauges.clients == 1)
    #expect(
      server.events == [
        .registered(
          alice.id, name: PeerName("alice"), status: .nameGranted, from: alice.address)
      ])
    server.run(.milliseconds(150))
    #expect(server.store.commitCount == 1)
    #expect(server.gauges.busyClients == 0)
  }

  @Test func `keeps a name for the first who asked, also when that one is away`() {
    let server = Server()
    let (alice, mallory) = (TestClient(1), TestClient(2))
    server.join(alice, name: "alice")
    server.join(mallory, name: "alice")
    #expect(mallory.response?.status == .nameTaken)
    #expect(mallory.isRegistered && server.gauges.clients == 2)
    server.run(.seconds(90))
    #expect(server.gauges.clients == 0)
    server.join(mallory, name: "alice")
    #expect(mallory.response?.status == .nameTaken)
    server.join(alice, name: "alice")
    #expect(alice.response?.status == .nameGranted)
  }

  @Test func `promises a name to one of two who ask at the same time`() {
    let server = Server()
    let (alice, mallory) = (TestClient(1), TestClient(2))
    server.attach(alice)
    server.attach(mallory)
    server.receive(alice.initiation(to: server.card, name: "x"), from: alice.address)
    server.receive(mallory.initiation(to: server.card, name: "x"), from: mallory.address)
    #expect(alice.response?.status == .nameGranted)
    #expect(mallory.response?.status == .nameTaken)
    // Whoever was promised it does not come: it is free again.
    server.run(.seconds(20))
    server.join(mallory, name: "x")
    #expect(mallory.response?.status == .nameGranted)
  }

  @Test func `puts a newer session in place of the older one`() {
    let server = Server()
    let alice = TestClient(1)
    server.join(alice, name: "alice")
    let old = alice.ping()
    server.run(.seconds(2))
    server.join(alice, name: "alice")
    #expect(alice.response?.status == .nameGranted)
    #expect(server.gauges.clients == 1)
    let opened = server.counters.packetsOpened
    server.receive(old, from: alice.address)
    #expect(server.counters.packetsOpened == opened)
    #expect(server.events.contains(.left(alice.id, .replaced)))
  }

  @Test func `keeps the old session until the new one is used`() {
    let server = Server()
    let (old, new) = (TestClient(1), TestClient(1))
    server.join(old)
    server.run(.seconds(2))
    server.attach(new)
    server.receive(
      new.initiation(to: server.card, milliseconds: Server.unixSeconds * 1000 + 9000),
      from: new.address)
    #expect(new.isRegistered)
    server.receive(old.ping(token: 8), from: old.address)
    #expect(old.pongs.last?.token == 8)
    server.receive(new.ping(), from: new.address)
    server.run(.milliseconds(200))
    #expect(old.closes == [.replaced, .replaced, .replaced])
    #expect(server.gauges.clients == 1 && server.gauges.unconfirmedSessions == 0)
  }

  @Test func `answers a repeated INIT with the same bytes and no second session`() {
    let server = Server()
    let alice = TestClient(1)
    let initiation = alice.initiation(to: server.card)
    for _ in 0..<3 { server.receive(initiation, from: alice.address) }
    #expect(server.strays.count == 3)
    #expect(Set(server.strays.map(\.bytes)).count == 1)
    #expect(server.gauges.unconfirmedSessions == 1)
    #expect(server.counters.handshakes == 1 && server.counters.initiationsRepeated == 2)
  }

  @Test func `drops an INIT that is not newer than the one confirmed`() {
    let server = Server()
    let alice = TestClient(1)
    server.join(alice)
    let handshakes = server.counters.handshakes
    server.run(.seconds(12), pinging: [alice])
    let again = TestClient(1)
    server.receive(
      again.initiation(to: server.card, milliseconds: Server.unixSeconds * 1000),
      from: again.address)
    #expect(server.counters.handshakes == handshakes)
  }

  @Test func `lets a client go that is silent for three periods, and no sooner`() {
    let server = Server()
    let (alice, bob) = (TestClient(1), TestClient(2))
    server.join(alice)
    server.join(bob)
    server.run(.seconds(59), pinging: [bob])
    #expect(server.gauges.clients == 2)
    server.run(.seconds(4), pinging: [bob])
    #expect(server.gauges.clients == 1)
    #expect(server.events.last == .left(alice.id, .silent))
  }

  @Test func `forgets a session whose first packet never comes, within 5 s`() {
    let server = Server()
    let alice = TestClient(1)
    server.receive(alice.initiation(to: server.card, name: "alice"), from: alice.address)
    server.run(.milliseconds(3900))
    #expect(server.gauges.unconfirmedSessions == 1)
    server.run(.milliseconds(1200))
    #expect(server.gauges.unconfirmedSessions == 0)
    server.run(.seconds(6))
    #expect(server.nextDeadline == nil)
    #expect(server.counters.unconfirmedForgotten == 1)
  }

  @Test func `closes a session whose keys are 5400 s old`() {
    let server = Server()
    let alice = TestClient(1)
    server.join(alice)
    server.run(.seconds(5395), pinging: [alice])
    #expect(server.gauges.clients == 1)
    server.run(.seconds(20))
    #expect(alice.closes.first == .keyLifeEnded)
    #expect(server.gauges.clients == 0)
  }

  @Test func `ends a session that says good-bye, whose CLOSE cannot be replayed on the next`() {
    let server = Server()
    let alice = TestClient(1)
    server.join(alice)
    let text: [UInt8] = []
    let close = alice.seal { CloseFrame(code: .done).write(text.span, to: &$0) }
    server.receive(close, from: alice.address)
    #expect(server.gauges.clients == 0)
    server.run(.seconds(2))
    server.join(alice)
    server.receive(close, from: alice.address)
    #expect(server.gauges.clients == 1)
  }

  @Test func `lets in only who is on the list, whoever asks for a listed name first`() {
    let (alice, bob, mallory) = (TestClient(1), TestClient(2), TestClient(3))
    let server = Server(
      admission: .only(ids: [alice.id, bob.id], names: [PeerName("bob")!: bob.id]))
    server.join(mallory, name: "bob")
    server.join(alice, name: "bob")
    #expect(alice.response?.status == .nameTaken)
    server.join(bob, name: "bob")
    #expect(bob.response?.status == .nameGranted)
    #expect(alice.isRegistered && bob.isRegistered && !mallory.isRegistered)
    #expect(mallory.response?.status == .notAllowed)
    #expect(server.gauges.clients == 2 && server.gauges.unconfirmedSessions == 0)
    #expect(server.events.contains(.refused(mallory.id, .notAllowed, from: mallory.address)))
  }
}
