import Forwarding
import Primitives
import Testing
import Wire

@testable import Rendezvous

/// Tickets for pairs (docs/protocol/relay.md §6): who gets one, and that both ends get the same.
struct PairTests {
  private let program = TestClient(50)
  private let second = TestClient(51)
  private let alice = TestClient(1)
  private let bob = TestClient(2)
  private let carol = TestClient(3)
  private let server: Server
  private let secret = Bytes32(InlineArray(repeating: 9))
  private let call: CallID

  init() throws {
    call = try #require(CallID(Array(0..<16)))
    server = Server(relayIDs: [program.id, second.id])
    for client in [alice, bob, carol] {
      client.abilities = .pairs
      server.join(client)
    }
  }

  private func register(_ relay: TestClient, _ secret: Bytes32) throws {
    server.join(relay)
    let address = try #require(SocketAddress("0.0.0.0:7500"))
    relay.request(.relayPairs(PairOffer(address: address, secret: secret)), now: server.now)
    server.exchange()
  }

  private func write(_ one: TestClient, _ other: TestClient, _ number: UInt64) {
    one.request(
      .forward(
        Forward(
          id: ForwardID(low: number, high: one.id.word0), to: other.id, lifeSeconds: 8, body: [1])),
      now: server.now)
    server.run(.milliseconds(100))
  }

  private func ask(
    _ client: TestClient, for peer: TestClient, _ call: CallID
  ) -> PairResult.Answer? {
    client.messages = []
    client.request(
      .pair(PairRequest(peer: peer.id, call: call, program: PresenceID(rawValue: 4))),
      now: server.now)
    server.run(.milliseconds(100))
    for case .pairResult(let result) in client.messages where result.call == call {
      return result.answer
    }
    return nil
  }

  private func ticket(_ answer: PairResult.Answer?) -> PairTicket? {
    guard case .granted(let ticket) = answer else { return nil }
    return ticket
  }

  /// Goal: who registered before the operator had named a relay gets it with its next call.
  @Test func `a relay that is named later is for those who were there as well`() throws {
    let server = Server()
    for client in [alice, bob] { server.join(client) }
    #expect(alice.response?.hasPairs == true)
    let early = PairTests(server, of: self)
    early.write(alice, bob, 11)
    early.write(bob, alice, 12)
    #expect(early.ask(alice, for: bob, call) == .noRelay)
    // Also before the two have written: nobody is to ask again and again where there is none.
    #expect(early.ask(alice, for: carol, call) == .noRelay)
    server.setRelays([program.id])
    try early.register(program, secret)
    let (one, other) = (early.ask(alice, for: bob, call), early.ask(bob, for: alice, call))
    #expect(early.ticket(one) != nil && early.ticket(one)?.pair == early.ticket(other)?.pair)
  }

  private init(_ server: Server, of other: PairTests) {
    self.server = server
    call = other.call
  }

  @Test func `each server tells those who asked that they may ask for pairs`() {
    #expect(alice.response?.hasPairs == true)
    let old = TestClient(4)
    server.join(old)
    #expect(old.response?.hasPairs == false)
    let bare = Server()
    let other = TestClient(5)
    other.abilities = .pairs
    bare.join(other)
    #expect(other.response?.hasPairs == true)
  }

  @Test func `two who have both written get the two sides of one pair`() throws {
    write(alice, bob, 1)
    #expect(ask(alice, for: bob, call) == .notKnown && ask(bob, for: alice, call) == .notKnown)
    write(bob, alice, 2)
    #expect(ask(alice, for: bob, call) == .noRelay)
    try register(program, secret)
    let one = try #require(ticket(ask(alice, for: bob, call)))
    let other = try #require(ticket(ask(bob, for: alice, call)))
    #expect(one.pair == other.pair && one.side == other.side.other && one.key != other.key)
    var address = program.address
    address.port = 7500
    #expect(one.address == address && other.address == address)
    #expect(PairSecret(secret).key(of: one.pair, one.side, until: one.until) == one.key)
    // Another call, another pair.
    let second = try #require(CallID(Array(1..<17)))
    #expect(ticket(ask(alice, for: bob, second))?.pair != one.pair)
    // Whoever has not been written to gets none, whichever call it names.
    #expect(ask(carol, for: alice, call) == .notKnown && ask(alice, for: alice, call) == .notKnown)
    write(carol, alice, 3)
    #expect(ask(carol, for: alice, call) == .notKnown)
    write(alice, carol, 4)
    #expect(ticket(ask(carol, for: alice, call))?.pair != one.pair)
  }

  @Test func `of two relays both ends get the same, and both relays have calls`() throws {
    write(alice, bob, 1)
    write(bob, alice, 2)
    try register(program, secret)
    try register(second, Bytes32(InlineArray(repeating: 7)))
    #expect(server.counters.messagesInvalid == 0)
    var hosts: [SocketAddress: Int] = [:]
    for number in 1...16 as ClosedRange<UInt8> {
      let call = try #require(CallID(Array(repeating: number, count: 16)))
      let one = try #require(ticket(ask(alice, for: bob, call)))
      let other = try #require(ticket(ask(bob, for: alice, call)))
      #expect(one.address == other.address && one.pair == other.pair)
      #expect(one.side == other.side.other)
      hosts[one.address, default: 0] += 1
    }
    let relays = [program, second].map { relay in
      var address = relay.address
      address.port = 7500
      return address
    }
    #expect(Set(hosts.keys) == Set(relays), "\(hosts)")
  }

  @Test func `no call is sent to a relay that is silent, if another one is not`() throws {
    try register(program, secret)
    try register(second, Bytes32(InlineArray(repeating: 7)))
    func hosts() throws -> Set<SocketAddress> {
      write(alice, bob, UInt64(server.now.second) * 2 + 1)
      write(bob, alice, UInt64(server.now.second) * 2 + 2)
      return try Set(
        (1...16 as ClosedRange<UInt8>).map { number in
          let call = try #require(CallID(Array(repeating: number, count: 16)))
          return try #require(ticket(ask(alice, for: bob, call))).address
        })
    }
    #expect(try hosts().count == 2)
    // One dies without a word: its session stands.
    server.run(.seconds(13), pinging: [alice, bob, second])
    var alive = second.address
    alive.port = 7500
    #expect(try hosts() == [alive])
    // The line of both was away: any is better than none.
    server.run(.seconds(13), pinging: [alice, bob])
    #expect(try hosts().count == 2)
  }

  @Test func `a relay that starts anew has other pairs, and none once it is gone`() throws {
    write(alice, bob, 1)
    write(bob, alice, 2)
    try register(program, secret)
    let before = try #require(ticket(ask(alice, for: bob, call)))
    // It was started anew, and drew another secret.
    try register(program, Bytes32(InlineArray(repeating: 8)))
    let after = try #require(ticket(ask(alice, for: bob, call)))
    #expect(before.pair != after.pair)
    #expect(ticket(ask(bob, for: alice, call))?.pair == after.pair)
    self.server.run(.seconds(90), pinging: [alice, bob])
    write(alice, bob, 3)
    write(bob, alice, 4)
    #expect(ask(alice, for: bob, call) == .noRelay)
  }

  @Test func `whoever is no relay offers none, and requests have a rate`() throws {
    write(alice, bob, 1)
    write(bob, alice, 2)
    carol.request(
      .relayPairs(
        PairOffer(address: SocketAddress(v4: 10, 0, 0, 9, port: 1), secret: secret)),
      now: server.now)
    server.exchange()
    #expect(server.counters.messagesInvalid == 1)
    #expect(ask(alice, for: bob, call) == .noRelay)
    try register(program, secret)
    var refused = 0
    for number in 0..<180 as Range<UInt8> {
      let call = try #require(CallID(Array(repeating: number, count: 16)))
      alice.request(
        .pair(PairRequest(peer: bob.id, call: call, program: .every)), now: server.now)
      server.exchange()
    }
    server.run(.seconds(1))
    for case .pairResult(let result) in alice.messages where result.answer == .tooMany {
      refused += 1
    }
    #expect(refused > 20)
  }
}
