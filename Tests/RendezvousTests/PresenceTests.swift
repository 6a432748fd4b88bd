import Primitives
import Rendezvous
import Testing
import Wire

/// Several programs of one identity (docs/protocol/rendezvous.md §2).
struct PresenceTests {
  let server = Server()
  let alice = TestClient(1)

  /// Bob's program `number`.
  private func bob(_ number: UInt8, _ kind: PresenceKind = .answering) -> TestClient {
    let client = TestClient(2, SocketAddress(v4: 10, 9, 9, number, port: 4000))
    client.presence = Presence(PresenceID(rawValue: UInt64(number)), kind)
    return client
  }

  private func status() -> LookUpResult.Status? {
    alice.messages = []
    alice.request(.lookUp(LookUp(request: 1, target: .id(TestClient(2).id))), now: server.now)
    server.run(.milliseconds(100))
    guard case .lookUpResult(let result)? = alice.messages.first else { return nil }
    return result.status
  }

  private func forward(_ presence: PresenceID = .every) -> ForwardResult? {
    alice.messages = []
    let id = ForwardID(random: &alice.random)
    let bob = TestClient(2).id
    alice.request(
      .forward(Forward(id: id, to: bob, presence: presence, lifeSeconds: 8, body: [7])),
      now: server.now)
    server.run(.milliseconds(200))
    guard case .forwardResult(let result)? = alice.messages.first else { return nil }
    return result
  }

  private func received(_ client: TestClient) -> Int {
    defer { client.messages = [] }
    return client.messages.count { if case .forwarded = $0 { true } else { false } }
  }

  @Test func `programs of one identity stand beside each other, and none displaces another`() {
    let (one, two, guest) = (bob(1), bob(2), bob(3, .guest))
    for client in [alice, one, two, guest] { server.join(client) }
    #expect(server.gauges.clients == 4)
    #expect(one.closes.isEmpty && two.closes.isEmpty && guest.closes.isEmpty)
    #expect(forward()?.count == 2)
    #expect(received(one) == 1 && received(two) == 1 && received(guest) == 0)
  }

  @Test func `the same program again takes its own place and nobody else's`() {
    let (one, two) = (bob(1), bob(2))
    for client in [alice, one, two] { server.join(client) }
    server.run(.seconds(2))
    let again = bob(1)
    again.address = SocketAddress(v4: 10, 9, 9, 99, port: 4000)
    server.join(again)
    server.run(.milliseconds(200))
    #expect(server.gauges.clients == 3)
    #expect(one.closes.first == .replaced && two.closes.isEmpty)
    #expect(forward(PresenceID(rawValue: 1))?.count == 1)
    #expect(received(again) == 1 && received(two) == 0)
  }

  @Test func `a program that says good-bye leaves the others`() {
    let (one, two) = (bob(1), bob(2))
    for client in [alice, one, two] { server.join(client) }
    let text: [UInt8] = []
    server.receive(
      one.seal { CloseFrame(code: .done).write(text.span, to: &$0) }, from: one.address)
    #expect(server.gauges.clients == 2)
    #expect(status() == .online)
    #expect(forward()?.count == 1 && received(two) == 1)
  }

  @Test func `a guest alone is not online, and whoever makes a call is`() {
    server.join(alice)
    server.join(bob(1, .guest))
    #expect(status() == .offline)
    #expect(forward()?.status == .notOnline)
    server.join(bob(2, .calling))
    #expect(status() == .online)
    #expect(forward()?.count == 1)
  }

  @Test func `a body for a program reaches it alone, whatever its kind, and says whose it is`() {
    let (one, guest) = (bob(1), bob(2, .guest))
    alice.presence = Presence(PresenceID(rawValue: 77), .guest)
    for client in [alice, one, guest] { server.join(client) }
    #expect(forward(PresenceID(rawValue: 2))?.count == 1)
    guard case .forwarded(let body)? = guest.messages.last else {
      Issue.record("nothing came")
      return
    }
    #expect(body.presence == PresenceID(rawValue: 77) && body.from == alice.id)
    #expect(received(one) == 0)
    #expect(forward(PresenceID(rawValue: 5))?.status == .notOnline)
  }

  @Test func `a body for any one goes to the answering program that was heard last`() {
    let (one, two, caller) = (bob(1), bob(2), bob(3, .calling))
    for client in [alice, one, two, caller] { server.join(client) }
    server.run(.seconds(5), pinging: [alice])
    server.receive(two.ping(), from: two.address)
    server.receive(caller.ping(), from: caller.address)
    #expect(forward(.anyOne)?.count == 1)
    #expect(received(one) == 0 && received(two) == 1 && received(caller) == 0)
  }

  @Test func `eight programs are the most, and a ninth is told so`() {
    for number in UInt8(1)...8 {
      server.join(bob(number))
      server.run(.seconds(2))
    }
    #expect(server.gauges.clients == 8)
    let ninth = bob(9)
    server.join(ninth)
    #expect(ninth.response?.status == .tooManyPrograms)
    #expect(!ninth.isRegistered && server.gauges.clients == 8)
    let again = bob(3)
    server.join(again)
    #expect(again.isRegistered && server.gauges.clients == 8)
    // Others do not pay for it.
    server.join(alice)
    #expect(alice.isRegistered)
  }

  @Test func `one that was not heard for three periods gives way, and a guest at once`() {
    var programs: [TestClient] = []
    for number in UInt8(1)...8 {
      programs.append(bob(number, number == 8 ? .guest : .answering))
      server.join(programs[Int(number) - 1])
      server.run(.seconds(2))
    }
    server.join(bob(9))
    #expect(server.gauges.clients == 8)
    #expect(!programs[7].closes.isEmpty || server.events.contains(.left(bob(1).id, .crowdedOut)))
    server.run(.seconds(24), pinging: Array(programs[1..<7]))
    server.join(bob(10))
    server.run(.milliseconds(200))
    #expect(server.gauges.clients == 8)
    // Bob's programs 1 and 9 were silent; 1 for longer.
    #expect(programs[0].closes.first == .limits)
    #expect(programs[1..<7].allSatisfy { $0.closes.isEmpty })
  }

  @Test func `what another node would be told of a program is one small record`() throws {
    let record = PresenceRecord(
      identity: alice.id, presence: Presence(PresenceID(rawValue: 3), .calling), node: 4,
      expiryMilliseconds: 5, serial: 6)
    #expect(record.bytes.count == PresenceRecord.byteCount)
    #expect(try PresenceRecord(parsing: record.bytes.span) == record)
    for count in 0..<record.bytes.count {
      #expect(throws: WireError.self) {
        _ = try PresenceRecord(parsing: Array(record.bytes.prefix(count)).span)
      }
    }
    let (one, two) = (bob(1), bob(2, .guest))
    server.join(one)
    server.join(two)
    server.run(.seconds(5))
    let records = server.presences(of: one.id)
    #expect(records.map(\.presence) == [one.presence, two.presence])
    let seconds = (records.first?.expiryMilliseconds ?? 0) / 1000 - Server.unixSeconds
    #expect((59...62).contains(seconds), "\(seconds)")
  }
}
