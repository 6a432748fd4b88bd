import Primitives
import Rendezvous
import SecureSession
import Testing
import Wire

/// Who may learn that somebody is online (docs/protocol/rendezvous.md §6).
struct AudienceTests {
  let server = Server()
  let alice = TestClient(1)
  let bob = TestClient(2)
  let mallory = TestClient(3)

  init() {
    bob.abilities = .audience
    for client in [alice, mallory] { server.join(client) }
  }

  /// Bob's session, and that alice may see him.
  private func joinBob() {
    server.join(bob, name: "bob")
    tell([alice])
  }

  private func tell(_ contacts: [TestClient]) {
    let marks = contacts.map { AudienceMark(of: $0.id, for: bob.id) }
    bob.request(.audience(Audience(marks)), now: server.now)
    server.run(.milliseconds(100))
  }

  /// What a client is answered, as bytes.
  private func ask(_ client: TestClient, _ target: LookUp.Target) -> [UInt8] {
    client.messages = []
    client.request(.lookUp(LookUp(request: 7, target: target)), now: server.now)
    server.run(.milliseconds(300))
    return client.messages.first?.bytes ?? []
  }

  private func status(_ client: TestClient) -> LookUpResult.Status? {
    let bytes = ask(client, .id(bob.id))
    guard case .lookUpResult(let result)? = try? RendezvousMessage(parsing: bytes.span) else {
      return nil
    }
    return result.status
  }

  private func forward(
    from sender: TestClient, to receiver: TestClient, _ presence: PresenceID = .every
  ) -> ForwardResult.Status? {
    sender.messages = []
    let id = ForwardID(random: &sender.random)
    sender.request(
      .forward(
        Forward(id: id, to: receiver.id, presence: presence, lifeSeconds: 8, body: [7])),
      now: server.now)
    server.run(.milliseconds(300))
    guard case .forwardResult(let result)? = sender.messages.first else { return nil }
    return result.status
  }

  private var received: Int {
    bob.messages.count { if case .forwarded = $0 { true } else { false } }
  }

  @Test func `a stranger gets the bytes that it gets when nobody is there`() throws {
    joinBob()
    #expect(bob.response?.isForAudience == true)
    let name = try #require(PeerName("bob"))
    let present = [ask(mallory, .id(bob.id)), ask(mallory, .name(name))]
    #expect(status(alice) == .online && status(mallory) == .offline)
    let text: [UInt8] = []
    server.receive(
      bob.seal { CloseFrame(code: .done).write(text.span, to: &$0) }, from: bob.address)
    #expect(status(alice) == .offline)
    let absent = [ask(mallory, .id(bob.id)), ask(mallory, .name(name))]
    #expect(present == absent && !present.contains([]))
    // Back with a newer card that has nothing new but its serial.
    bob.renewCard(unixSeconds: Server.unixSeconds + 3600)
    server.run(.seconds(60))
    // They have said nothing for a minute.
    for client in [alice, mallory] { server.join(client) }
    joinBob()
    #expect(bob.isRegistered && status(alice) == .online)
    #expect([ask(mallory, .id(bob.id)), ask(mallory, .name(name))] == absent)
  }

  @Test func `what a stranger sends does not arrive, and it is told that nobody is there`() {
    bob.presence = Presence(PresenceID(rawValue: 5), .answering)
    joinBob()
    for presence in [PresenceID.every, .anyOne, PresenceID(rawValue: 5)] {
      #expect(forward(from: mallory, to: bob, presence) == .notOnline)
      #expect(received == 0)
      #expect(forward(from: alice, to: bob, presence) == .forwarded)
      #expect(received == 1)
      bob.messages = []
    }
  }

  @Test func `nobody sees it before it has said who may`() {
    server.join(bob)
    #expect(bob.isRegistered && status(alice) == .offline && status(mallory) == .offline)
    tell([mallory])
    #expect(status(alice) == .offline && status(mallory) == .online)
    tell([])
    #expect(status(alice) == .offline && status(mallory) == .offline)
  }

  @Test func `whoever was written to may answer`() {
    joinBob()
    #expect(forward(from: bob, to: mallory) == .forwarded)
    #expect(forward(from: mallory, to: bob) == .forwarded)
    #expect(status(mallory) == .offline)
  }

  @Test func `one program is for all and the other for contacts`() {
    bob.presence = Presence(PresenceID(rawValue: 5), .answering)
    joinBob()
    let open = TestClient(2, SocketAddress(v4: 10, 9, 9, 9, port: 4000))
    open.presence = Presence(PresenceID(rawValue: 6), .answering)
    server.join(open)
    #expect(status(mallory) == .online && forward(from: mallory, to: bob) == .forwarded)
    #expect(received == 0)
    #expect(forward(from: alice, to: bob) == .forwarded)
    #expect(received == 1)
    // The open one answers: what mallory may say to that is not for the other one.
    let id = ForwardID(random: &open.random)
    let ringing = [UInt8](repeating: 1, count: 89)
    open.request(
      .forward(Forward(id: id, to: mallory.id, lifeSeconds: 8, body: ringing)), now: server.now)
    server.run(.seconds(1))
    for presence in [PresenceID.every, PresenceID(rawValue: 5)] {
      _ = forward(from: mallory, to: bob, presence)
      #expect(received == 1)
    }
  }

  @Test func `a device key that is new is handed out all the same`() throws {
    joinBob()
    let before = ask(mallory, .id(bob.id))
    bob.replaceKey(unixSeconds: Server.unixSeconds + 5)
    server.run(.seconds(10))
    joinBob()
    #expect(bob.isRegistered)
    #expect(ask(mallory, .id(bob.id)) != before)
    #expect(try server.store.card(of: bob.id) == bob.card.bytes)
  }

  @Test func `an audience of what everybody may see is an error, sixteen end the session`() {
    alice.request(.audience(Audience()), now: server.now)
    server.run(.seconds(1))
    #expect(server.counters.messagesInvalid == 1 && status(mallory) != .online)
    #expect(alice.closes.isEmpty)
    #expect(alice.response?.isForAudience == false)
  }

  @Test func `a mark fits one owner and one other`() {
    let marks = [
      AudienceMark(of: alice.id, for: bob.id), AudienceMark(of: bob.id, for: alice.id),
      AudienceMark(of: alice.id, for: mallory.id), AudienceMark(of: mallory.id, for: bob.id),
    ]
    #expect(Set(marks).count == 4)
    #expect(marks[0] == AudienceMark(of: alice.id, for: bob.id))
  }
}
