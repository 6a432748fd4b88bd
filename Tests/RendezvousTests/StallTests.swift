import Primitives
import Rendezvous
import Testing
import Wire

/// Clients that stop reading, and what they may not do to others (docs/protocol/session.md §9).
struct StallTests {
  private static func address(_ number: Int, of sources: Int) -> SocketAddress {
    SocketAddress(v4: 10, 1, UInt8(number % sources), 1, port: UInt16(1000 + number))
  }

  /// Silent clients: registered, then never acknowledging anything.
  private func makeSilent(_ count: Int, at server: Server, sources: Int = 40) -> [TestClient] {
    (0..<count).map { number in
      let client = TestClient(UInt64(1000 + number), Self.address(number, of: sources))
      server.join(client)
      server.silence(client)
      server.run(.milliseconds(2))
      return client
    }
  }

  private func say(_ client: TestClient, _ server: Server) {
    for packet in client.flush(now: server.now) { server.receive(packet, from: client.address) }
  }

  /// Goal: 100 % of PINGs, look-ups and FORWARDs within 200 ms.
  /// Method: 600 clients of 40 sources ask once and acknowledge nothing, at a server with room for
  /// 512 exchanges; they go on with a PING now and then, and a look-up each 3 s.
  @Test func `serves everybody while clients that acknowledge nothing hold its exchanges`() {
    var limits = ServerLimits()
    limits.exchanges = 512
    let server = Server(limits: limits)
    let silent = makeSilent(600, at: server)
    let (alice, bob) = (TestClient(1), TestClient(2))
    server.join(alice)
    server.join(bob)
    var (pongs, found, forwarded) = (0, 0, 0)
    for round in 0..<40 {
      for (number, client) in silent.enumerated() where number % 6 == round % 6 {
        guard client.isRegistered else { continue }
        server.receive(client.ping(), from: client.address)
        client.request(.lookUp(LookUp(request: 1, target: .id(alice.id))), now: server.now)
        say(client, server)
      }
      alice.pongs = []
      alice.messages = []
      bob.messages = []
      server.receive(alice.ping(token: 5), from: alice.address)
      alice.request(.lookUp(LookUp(request: 2, target: .id(bob.id))), now: server.now)
      let forward = Forward(
        id: ForwardID(random: &alice.random), to: bob.id, lifeSeconds: 8, body: [1])
      alice.request(.forward(forward), now: server.now)
      server.receive(bob.ping(), from: bob.address)
      server.run(.milliseconds(200))
      if alice.pongs.contains(where: { $0.token == 5 }) { pongs += 1 }
      if alice.messages.count == 2 { found += 1 }
      if bob.messages.count == 1 { forwarded += 1 }
      server.run(.milliseconds(300))
      #expect(server.gauges.busyClients <= 512)
    }
    #expect(pongs == 40 && found == 40 && forwarded == 40, "\(pongs), \(found), \(forwarded)")
    server.run(.seconds(20), pinging: [alice, bob])
    #expect(server.gauges.busyClients == 0)
  }

  /// Method: one client asks once and acknowledges nothing; it goes on with a PING each 10 s.
  @Test func `gives an exchange up after 8 s without an acknowledgement, and repeats nothing more`()
  {
    let server = Server()
    let silent = makeSilent(1, at: server)[0]
    silent.request(.lookUp(LookUp(request: 1, target: .id(silent.id))), now: server.now)
    say(silent, server)
    #expect(server.gauges.busyClients == 1)
    server.run(.milliseconds(8100))
    #expect(server.gauges.busyClients == 0)
    let sent = server.counters.datagramsSent
    server.receive(silent.ping(), from: silent.address)
    server.run(.seconds(30))
    #expect(server.counters.datagramsSent == sent + 1, "the PONG and nothing else")
  }

  /// Method: 700 clients of 40 sources send the first 30 KiB of messages whose end never comes, at
  /// a server that keeps 16 MiB of them.
  @Test func `delivers messages of one fragment while half messages hold all the room`() {
    var limits = ServerLimits()
    limits.reassemblyByteCount = 16 << 20
    let server = Server(limits: limits)
    let (alice, bob) = (TestClient(1), TestClient(2))
    server.join(alice)
    server.join(bob)
    let silent = makeSilent(700, at: server)
    for client in silent {
      for sequence in UInt32(0)..<4 {
        for index in UInt8(0)..<7 {
          let bytes = [UInt8](repeating: 7, count: 1080)
          let packet = client.seal {
            MessageFrame(
              stream: .rendezvous, sequence: sequence, fragmentIndex: index, fragmentCount: 8
            ).write(bytes.span, to: &$0)
          }
          server.receive(packet, from: client.address)
        }
      }
      #expect(server.gauges.reassemblyByteCount <= limits.reassemblyByteCount + 32_768)
    }
    for _ in 0..<10 {
      (alice.messages, bob.messages) = ([], [])
      alice.request(.lookUp(LookUp(request: 2, target: .id(bob.id))), now: server.now)
      let body = [UInt8](repeating: 1, count: 3000)
      alice.request(
        .forward(
          Forward(id: ForwardID(random: &alice.random), to: bob.id, lifeSeconds: 8, body: body)),
        now: server.now)
      server.run(.milliseconds(200))
      #expect(alice.messages.count == 2 && bob.messages.count == 1)
    }
  }

  /// Method: 25 identities of one address ask who is online, each within its own rate.
  @Test func `answers 50 look-ups a second and source, and no more`() {
    let server = Server()
    let clients = (0..<25).map { number in
      TestClient(
        UInt64(50 + number), SocketAddress(v4: 10, 2, 0, 1, port: UInt16(2000 + number)))
    }
    for client in clients {
      server.join(client)
      server.run(.milliseconds(60))
    }
    server.run(.seconds(10), pinging: clients)
    let other = TestClient(1)
    server.join(other)
    for client in clients { client.messages = [] }
    for _ in 0..<90 {
      for client in clients {
        client.request(.lookUp(LookUp(request: 1, target: .id(other.id))), now: server.now)
      }
      server.run(.milliseconds(112))
    }
    let statuses = clients.flatMap(\.messages).compactMap { message -> LookUpResult.Status? in
      if case .lookUpResult(let result) = message { result.status } else { nil }
    }
    let answered = statuses.count { $0 == .online }
    #expect((400...750).contains(answered), "\(answered) of \(statuses.count) in 10 s")
    other.messages = []
    other.request(.lookUp(LookUp(request: 1, target: .id(clients[0].id))), now: server.now)
    server.run(.milliseconds(100))
    #expect(other.messages.count == 1)
  }
}
