import Primitives
import Testing
import Wire

@testable import Rendezvous

/// Who may send how much to whom (docs/protocol/session.md §9).
struct ForwardTests {
  let server = Server()
  let bob = TestClient(2)

  init() { server.join(bob) }

  /// Clients of a /24 each, or all of one.
  private func strangers(
    _ count: Int, inOneNetwork: Bool = false, from first: UInt64 = 1000
  ) -> [TestClient] {
    (0..<count).map { number in
      let byte = UInt8(number & 255)
      let address =
        inOneNetwork
        ? SocketAddress(v4: 60, 0, 0, byte, port: 4000)
        : SocketAddress(v4: 60, UInt8(first / 1000), byte, 1, port: 4000)
      let client = TestClient((inOneNetwork ? 2000 : first) + UInt64(number), address)
      server.join(client)
      server.run(.milliseconds(100))
      return client
    }
  }

  private func forward(
    _ count: Int = 1, from sender: TestClient, to receiver: TestClient, byteCount: Int = 1
  ) {
    for _ in 0..<count {
      let id = ForwardID(random: &sender.random)
      let body = [UInt8](repeating: 1, count: byteCount)
      sender.request(
        .forward(Forward(id: id, to: receiver.id, lifeSeconds: 8, body: body)), now: server.now)
    }
  }

  /// How many FORWARDs of a client were passed on since the last time.
  private func passed(_ client: TestClient) -> Int {
    defer { client.messages = [] }
    return client.messages.count {
      if case .forwardResult(let result) = $0 { result.status == .forwarded } else { false }
    }
  }

  /// Method: thirty clients write to bob; he answers each eight times within a second.
  @Test func `answers leave a client's rate to everybody else`() {
    let dave = TestClient(4)
    server.join(dave)
    let strangers = strangers(30)
    for stranger in strangers {
      forward(from: stranger, to: bob)
      server.run(.milliseconds(50))
    }
    bob.messages = []
    for _ in 0..<8 {
      for stranger in strangers { forward(from: bob, to: stranger) }
      server.run(.milliseconds(100))
    }
    forward(5, from: bob, to: dave)
    server.run(.milliseconds(200))
    #expect(passed(bob) == 30 * 8 + 5)
  }

  /// Method: alice begins, and both send 20 FORWARDs a second for 5 s.
  @Test func `answers allow no answers in return`() {
    let alice = TestClient(1)
    server.join(alice)
    forward(from: alice, to: bob)
    server.run(.milliseconds(100))
    for _ in 0..<100 {
      forward(from: bob, to: alice)
      forward(from: alice, to: bob)
      server.run(.milliseconds(50))
    }
    server.run(.milliseconds(200))
    // 40 at once and 5 a second, each of which allows bob eight; his answers allow her none.
    let count = passed(alice)
    #expect((57...68).contains(count), "\(count)")
    #expect(passed(bob) == 100)
  }

  /// Method: alice calls 30 at once; each rings and accepts, and she says that she has got that.
  /// Then she sends as many short ones as she can to the first of them.
  @Test func `a call takes one of its caller's rate, and receipts are few`() {
    let alice = TestClient(1)
    server.join(alice)
    let called = strangers(30)
    func forward(_ byteCount: Int, from sender: TestClient, to receiver: TestClient) {
      let id = ForwardID(random: &sender.random)
      let body = [UInt8](repeating: 1, count: byteCount)
      sender.request(
        .forward(Forward(id: id, to: receiver.id, lifeSeconds: 8, body: body)), now: server.now)
    }
    server.run(.seconds(5))
    for client in called { forward(500, from: alice, to: client) }
    server.run(.seconds(1))
    for client in called {
      for byteCount in [89, 210] { forward(byteCount, from: client, to: alice) }
    }
    server.run(.milliseconds(100))
    for client in called { for _ in 0..<4 { forward(43, from: alice, to: client) } }
    server.run(.seconds(1))
    #expect(passed(alice) == 30 + 30 * 4)
    server.run(.seconds(4), pinging: [alice])
    for _ in 0..<150 {
      forward(43, from: alice, to: called[0])
      server.run(.milliseconds(20))
    }
    server.run(.milliseconds(100))
    // 40 at once and 5 a second to one callee from one host; her own rate would allow 70.
    let more = passed(alice)
    #expect((52...58).contains(more), "\(more)")
  }

  /// Method: bob calls 70, and hears nothing any more when all answer.
  @Test func `64 answers wait for one client`() {
    let called = strangers(70)
    for client in called {
      forward(from: bob, to: client)
      server.run(.milliseconds(150))
    }
    server.isLost = { [server, bob] in server.isToward(bob.address) }
    for client in called { forward(from: client, to: bob) }
    server.run(.milliseconds(100))
    #expect(called.reduce(0) { $0 + passed($1) } == 64)
  }

  @Test func `of what answers allow, only short ones are free, and allow none`() {
    var credits = ForwardCredits(limit: 64, hash: Self.hash)
    let (alice, bob, now) = (Self.id(1), Self.id(2), Self.at(10))
    func pass(_ byteCount: Int, from sender: PeerID, to: PeerID) -> ForwardCredits.Kind {
      let kind = credits.spend(from: sender, to: to, byteCount: byteCount, now: now)
      credits.recordPassed(
        from: sender, to: to, byteCount: byteCount, kind, count: 1, now: now)
      return kind
    }
    let kinds = [
      pass(500, from: alice, to: bob), pass(210, from: bob, to: alice),
      pass(65, from: alice, to: bob), pass(64, from: alice, to: bob),
      pass(43, from: alice, to: bob), pass(43, from: alice, to: bob),
    ]
    #expect(kinds == [.begun, .answer, .begun, .receipt, .receipt, .begun])
    for _ in 0..<5 { #expect(pass(210, from: bob, to: alice) == .answer) }
    let short = (0..<6).map { _ in pass(43, from: alice, to: bob) }
    #expect(short.count { $0 == .receipt } == 4, "REJECT five times allows four")
    #expect(credits.haveWritten(alice, bob, now: now))
    #expect(!credits.haveWritten(alice, Self.id(3), now: now))
  }

  /// Method: 200 hosts of one /24 send one FORWARD each to bob, within 2 s; one of another network
  /// sends five, and carol is written to by one of the 200.
  @Test func `one network does not take up what others may send to a callee`() {
    let carol = TestClient(3)
    server.join(carol)
    let crowd = strangers(200, inOneNetwork: true)
    let dave = TestClient(4)
    server.join(dave)
    for (number, stranger) in crowd.enumerated() {
      forward(from: stranger, to: bob)
      if number % 40 == 39 { forward(from: dave, to: bob) }
      server.run(.milliseconds(10))
    }
    server.run(.milliseconds(200))
    let count = crowd.reduce(0) { $0 + passed($1) }
    #expect((100...130).contains(count), "\(count)")
    #expect(passed(dave) == 5)
    forward(from: crowd[199], to: carol)
    server.run(.milliseconds(100))
    #expect(passed(crowd[199]) == 1)
  }

  /// Method: bob does not acknowledge; a network fills its places at him, and he is written to by
  /// others, and by one whom he has called.
  @Test func `what waits for a callee leaves room for other networks and for answers`() {
    let crowd = strangers(40, inOneNetwork: true)
    let others = strangers(40)
    let dave = TestClient(4)
    server.join(dave)
    forward(from: bob, to: dave)
    server.run(.milliseconds(100))
    server.isLost = { [server, bob] in server.isToward(bob.address) }
    for client in crowd { forward(from: client, to: bob) }
    server.run(.milliseconds(20))
    for client in others { forward(from: client, to: bob) }
    server.run(.milliseconds(20))
    forward(from: dave, to: bob)
    server.run(.milliseconds(100))
    #expect(crowd.reduce(0) { $0 + passed($1) } == 32)
    #expect(others.reduce(0) { $0 + passed($1) } == 32)
    #expect(passed(dave) == 1)
  }

  /// Method: bob does not acknowledge; two networks send him the longest bodies, and then he is to
  /// hear answers and the rendezvous.
  @Test func `the longest bodies leave room for answers, and for what the rendezvous says`() {
    let crowd = strangers(40, inOneNetwork: true)
    let others = strangers(10)
    let called = strangers(12, from: 3000)
    for client in called { forward(from: bob, to: client) }
    server.run(.seconds(1))
    _ = passed(bob)
    server.isLost = { [server, bob] in server.isToward(bob.address) }
    for client in crowd { forward(from: client, to: bob, byteCount: 4096) }
    server.run(.milliseconds(20))
    for client in others { forward(from: client, to: bob, byteCount: 4096) }
    server.run(.milliseconds(20))
    #expect(crowd.reduce(0) { $0 + passed($1) } == 5)
    #expect(others.reduce(0) { $0 + passed($1) } == 6)
    for client in called { forward(from: client, to: bob, byteCount: 600) }
    server.run(.milliseconds(20))
    #expect(called.reduce(0) { $0 + passed($1) } == 12)
    bob.request(.lookUp(LookUp(request: 7, target: .id(bob.id))), now: server.now)
    server.run(.milliseconds(20))
    server.isLost = nil
    server.run(.seconds(3))
    let isAnswered = bob.messages.contains {
      if case .lookUpResult(let result) = $0 { result.request == 7 } else { false }
    }
    #expect(isAnswered)
  }

  // MARK: - AnswerCredits

  private static let hash = KeyedHash(key0: 0x9E37_79B9_7F4A_7C15, key1: 0xD1B5_4A32_D192_ED03)

  private static func id(_ number: Int) -> PeerID {
    PeerID(word0: UInt64(number), word1: 1, word2: 2, word3: 3)
  }

  private static func at(_ seconds: UInt64) -> Instant {
    Instant(nanoseconds: seconds * 1_000_000_000)
  }

  /// How many of `tries` answers are allowed.
  private static func take(
    _ tries: Int = 1, from answerer: Int, to writer: Int, of credits: inout AnswerCredits,
    at seconds: UInt64
  ) -> Int {
    var count = 0
    for _ in 0..<tries where credits.spend(from: id(answerer), to: id(writer), now: at(seconds)) {
      count += 1
    }
    return count
  }

  @Test func `credits are of one pair and one direction, end after 190 s, and are 64 at most`() {
    var credits = AnswerCredits(limit: 64, hash: Self.hash)
    credits.grant(to: Self.id(1), from: Self.id(2), count: 8, now: Self.at(10))
    let back = Self.take(from: 2, to: 1, of: &credits, at: 10)
    let other = Self.take(from: 1, to: 3, of: &credits, at: 10)
    let taken = Self.take(20, from: 1, to: 2, of: &credits, at: 199)
    #expect(back == 0 && other == 0 && taken == 8)
    credits.grant(to: Self.id(1), from: Self.id(2), count: 8, now: Self.at(10))
    let late = Self.take(from: 1, to: 2, of: &credits, at: 200)
    #expect(late == 0)
    for _ in 0..<100 {
      credits.grant(to: Self.id(1), from: Self.id(2), count: 64, now: Self.at(300))
    }
    let most = Self.take(200, from: 1, to: 2, of: &credits, at: 301)
    #expect(most == 64)
  }

  @Test func `when credits are too many, those go that end first`() {
    var credits = AnswerCredits(limit: 64, hash: Self.hash)
    for number in 0..<1000 {
      credits.grant(
        to: Self.id(number), from: Self.id(5000), count: 1,
        now: Self.at(1000 + UInt64(number) / 10))
    }
    var kept: [Int] = []
    for number in 0..<1000 where Self.take(from: number, to: 5000, of: &credits, at: 1100) == 1 {
      kept.append(number)
    }
    #expect(kept.count == 64 && kept.allSatisfy { $0 >= 700 }, "\(kept)")
  }
}
