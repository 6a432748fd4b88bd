import Primitives
import Rendezvous
import Testing
import Wire

struct RequestTests {
  let server = Server()
  let alice = TestClient(1)
  let bob = TestClient(2)

  init() {
    server.join(alice, name: "alice")
    server.join(bob, name: "bob")
  }

  private func lookUp(_ target: LookUp.Target, request: UInt32 = 1) -> LookUpResult? {
    alice.messages = []
    alice.request(.lookUp(LookUp(request: request, target: target)), now: server.now)
    server.run(.milliseconds(100))
    guard case .lookUpResult(let result)? = alice.messages.first else { return nil }
    return result
  }

  private func forward(
    _ body: [UInt8] = [1, 2, 3], to: PeerID, life: UInt16 = 8
  ) -> ForwardResult.Status? {
    alice.messages = []
    let id = ForwardID(random: &alice.random)
    alice.request(
      .forward(Forward(id: id, to: to, lifeSeconds: life, body: body)), now: server.now)
    server.run(.milliseconds(200))
    guard case .forwardResult(let result)? = alice.messages.first, result.id == id else {
      return nil
    }
    return result.status
  }

  @Test func `finds cards by ID and by name, online or not`() {
    let card = bob.card.bytes
    #expect(
      lookUp(.id(bob.id), request: 9)
        == LookUpResult(request: 9, status: .online, card: card))
    #expect(
      lookUp(.name(PeerName("bob")!)) == LookUpResult(request: 1, status: .online, card: card))
    #expect(lookUp(.name(PeerName("carol")!)) == LookUpResult(request: 1, status: .unknown))
    #expect(lookUp(.id(TestClient(3).id)) == LookUpResult(request: 1, status: .unknown))
    server.run(.seconds(80), pinging: [alice])
    #expect(lookUp(.id(bob.id)) == LookUpResult(request: 1, status: .offline, card: card))
  }

  @Test func `answers 128 look-ups at once and ten a second, and says when it is too many`() {
    for request in UInt32(0)..<133 {
      alice.request(.lookUp(LookUp(request: request, target: .id(bob.id))), now: server.now)
    }
    server.run(.milliseconds(20))
    let statuses = alice.messages.compactMap { message -> LookUpResult.Status? in
      if case .lookUpResult(let result) = message { result.status } else { nil }
    }
    #expect(statuses.count == 133)
    #expect(statuses.count { $0 == .online } == 128)
    #expect(statuses.count { $0 == .tooManyRequests } == 5)
    server.run(.milliseconds(1000))
    #expect(lookUp(.id(bob.id))?.status == .online)
  }

  @Test func `passes a body on with the sender's proven ID, once`() {
    #expect(forward([1, 2, 3], to: bob.id) == .forwarded)
    guard case .forwarded(let forwarded)? = bob.messages.first else {
      Issue.record("nothing came")
      return
    }
    #expect(forwarded.from == alice.id && forwarded.body == [1, 2, 3])
    #expect(forwarded.lifeSeconds == 8)
    #expect(bob.messages.count == 1)
    #expect(server.events.contains(.forwarded(from: alice.id, to: bob.id, byteCount: 3)))
    server.run(.seconds(1))
    #expect(server.gauges.busyClients == 0)
  }

  @Test(arguments: [0, 1, 1100, 4095, 4096])
  func `passes bodies of every length on`(count: Int) {
    let body = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    #expect(forward(body, to: bob.id) == .forwarded)
    #expect(bob.messages.count == 1)
    if case .forwarded(let forwarded)? = bob.messages.first { #expect(forwarded.body == body) }
  }

  @Test func `says why it does not pass a body on`() {
    #expect(forward(to: TestClient(3).id) == .notOnline)
    #expect(forward(Array(repeating: 0, count: 4097), to: bob.id) == .bodyTooLong)
    #expect(forward(to: alice.id) == .notAllowed)
    // Three of forty are used; of fifty more at once 37 or a few more fit.
    for _ in 0..<50 {
      alice.request(
        .forward(
          Forward(
            id: ForwardID(random: &alice.random), to: TestClient(3).id, lifeSeconds: 8,
            body: [1])),
        now: server.now)
    }
    server.run(.milliseconds(300))
    let refused = alice.messages.count {
      if case .forwardResult(let result) = $0 { result.status == .tooMany } else { false }
    }
    #expect((4...13).contains(refused), "\(refused)")
  }

  @Test func `holds no more than five bodies of one sender for a callee that does not answer`() {
    server.isLost = { [server, bob] in server.isToward(bob.address) }
    for _ in 0..<10 {
      alice.request(
        .forward(
          Forward(
            id: ForwardID(random: &alice.random), to: bob.id, lifeSeconds: 8,
            body: Array(repeating: 1, count: 1000))),
        now: server.now)
    }
    server.run(.seconds(1))
    let statuses = alice.messages.compactMap { message -> ForwardResult.Status? in
      if case .forwardResult(let result) = message { result.status } else { nil }
    }
    #expect(statuses.count { $0 == .forwarded } == 5)
    #expect(statuses.count { $0 == .tooMany } == 5)
    #expect(bob.messages.isEmpty)
    server.run(.seconds(12), pinging: [alice])
    #expect(server.counters.forwardsUndelivered == 5)
  }

  /// Method: a third of the datagrams is lost, both ways; each message is repeated until confirmed
  /// or 8 s old. 40 messages fail together with p < 10⁻⁶ by RFC 9002's repetitions.
  @Test(arguments: UInt64(1)...20)
  func `delivers once over a line that loses a third`(seed: UInt64) {
    var random = RandomSource(seed: seed)
    server.isLost = { random.unit() < 0.33 }
    for _ in 0..<5 {
      alice.request(
        .forward(
          Forward(
            id: ForwardID(random: &alice.random), to: bob.id, lifeSeconds: 8,
            body: Array(repeating: 1, count: 2500))),
        now: server.now)
    }
    server.run(.seconds(9))
    let forwarded = Set(
      bob.messages.compactMap { message -> ForwardID? in
        if case .forwarded(let forwarded) = message { forwarded.id } else { nil }
      })
    #expect(forwarded.count == bob.messages.count, "twice; EARSHOT_SEED=\(seed)")
    #expect(forwarded.count >= 4, "EARSHOT_SEED=\(seed)")
    server.isLost = nil
    server.run(.seconds(12), pinging: [alice, bob])
    #expect(server.gauges.busyClients == 0, "EARSHOT_SEED=\(seed)")
    #expect(server.gauges.reassemblyByteCount == 0, "EARSHOT_SEED=\(seed)")
  }

  @Test func `refuses politely while the store fails, and goes on when it works again`() {
    server.store.failure = StoreFailure("the disk is full")
    #expect(lookUp(.id(bob.id))?.status == .tooManyRequests)
    let carol = TestClient(3)
    server.join(carol, name: "carol")
    #expect(carol.response?.status == .noNameAskedFor)
    #expect(carol.isRegistered && server.gauges.clients == 3)
    #expect(forward(to: carol.id) == .forwarded)
    #expect(server.counters.storeFailures >= 3)
    #expect(server.events.contains(.storeFailed(StoreFailure("the disk is full"))))
    server.store.failure = nil
    #expect(lookUp(.id(bob.id))?.status == .online)
    server.run(.seconds(2))
    server.join(carol, name: "carol")
    #expect(carol.response?.status == .nameGranted)
    #expect(lookUp(.name(PeerName("carol")!))?.status == .online)
  }

  @Test func `closes a client that sends nonsense sixteen times`() {
    for count in 1...16 {
      #expect(server.gauges.clients == 2)
      let nonsense = alice.seal { $0.append(0x7F) }
      server.receive(nonsense, from: alice.address)
      #expect(server.counters.framesInvalid == UInt64(count))
    }
    #expect(server.gauges.clients == 1)
    #expect(alice.closes == [.protocolViolated])
    server.run(.milliseconds(200))
    #expect(alice.closes.count == 3)
  }

  @Test func `says good-bye to everyone, three times, and takes nothing more`() {
    server.goAway()
    server.run(.milliseconds(200))
    #expect(server.isGone)
    #expect(alice.closes == [.goingAway, .goingAway, .goingAway])
    #expect(bob.closes == [.goingAway, .goingAway, .goingAway])
    let pongs = alice.pongs.count
    server.receive(alice.ping(), from: alice.address)
    #expect(alice.pongs.count == pongs)
  }

  /// Method: nothing reaches bob for two seconds, so a message to him is under way; carol has none.
  @Test func `with patience, tells the idle at once, and the busy when they are done`() {
    let carol = TestClient(3)
    server.join(carol)
    server.run(.seconds(1))
    let end = server.now + .seconds(2)
    server.isLost = { [server, bob] in server.isToward(bob.address) && server.now < end }
    #expect(forward(to: bob.id) == .forwarded)
    server.goAway(patience: .seconds(10))
    server.run(.milliseconds(300))
    #expect(carol.closes == [.goingAway, .goingAway, .goingAway])
    #expect(bob.messages.isEmpty && !server.isGone)
    server.receive(
      TestClient(4).initiation(to: server.card, name: nil, milliseconds: 1_800_000_005_000),
      from: SocketAddress(v4: 10, 9, 9, 9, port: 1))
    #expect(server.strays.isEmpty, "nobody is let in any more")
    server.run(.seconds(4))
    #expect(bob.messages.count == 1 && bob.closes == [.goingAway, .goingAway, .goingAway])
    #expect(alice.closes.contains(.goingAway) && server.isGone)
  }

  /// Method: a message to bob is under way for two seconds. Alice had none, was told, and is heard
  /// no more; meanwhile bob answers her.
  @Test func `with patience, nobody who was told is waited for`() {
    let end = server.now + .seconds(2)
    let told = server.now + .milliseconds(700)
    server.isLost = { [server, alice, bob] in
      (server.isToward(bob.address) && server.now < end)
        || (server.isToward(alice.address) && server.now > told)
    }
    #expect(forward(to: bob.id) == .forwarded)
    server.goAway(patience: .seconds(30))
    server.run(.milliseconds(800))
    #expect(alice.closes == [.goingAway, .goingAway, .goingAway])
    let answer = Forward(
      id: ForwardID(random: &bob.random), to: alice.id, lifeSeconds: 8, body: [1])
    bob.request(.forward(answer), now: server.now)
    server.run(.seconds(3))
    #expect(bob.messages.count == 2 && server.isGone)
    guard case .forwardResult(let result)? = bob.messages.last else {
      Issue.record("bob is not told what became of his answer")
      return
    }
    #expect(result.status == .notOnline)
  }

  @Test func `patience ends`() {
    server.isLost = { [server, bob] in server.isToward(bob.address) }
    #expect(forward(to: bob.id) == .forwarded)
    server.goAway(patience: .seconds(3))
    server.run(.milliseconds(2900))
    #expect(!server.isGone)
    server.run(.milliseconds(400))
    #expect(server.isGone)
  }
}
