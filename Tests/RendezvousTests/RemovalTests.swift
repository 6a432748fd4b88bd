import Channels
import Forwarding
import Primitives
import SecureSession
import Testing
import Tokens
import Wire

@testable import Rendezvous

/// Members that are removed from a channel: their seats at a relay end, and bans outlive a restart
/// of the rendezvous (docs/protocol/relay.md §2, channels.md §6).
struct RemovalTests {
  private static var key: TokenSigningKey {
    var random = RandomSource(seed: 3)
    return TokenSigningKey(random: &random)
  }

  private let tea: ChannelIdentity
  private let relay = TestClient(50)
  private let alice = TestClient(1)
  private let bob = TestClient(2)
  private let store = MemoryStore()

  init() throws {
    tea = ChannelIdentity(name: try #require(PeerName("tea")), key: Self.key.publicKey)
  }

  private func server(boot: UInt64 = 5, limits: ServerLimits = ServerLimits()) -> Server {
    Server(boot: boot, limits: limits, store: store, relayIDs: [relay.id])
  }

  private func register(at server: Server) throws {
    server.join(relay)
    relay.request(
      .relayHere(RelayHere(address: try #require(SocketAddress("0.0.0.0:7500")))),
      now: server.now)
    server.exchange()
  }

  private func ask(
    _ client: TestClient, _ server: Server, stay: UInt64 = 1, number: UInt32 = 0,
    _ content: ChannelRequest.Content
  ) {
    client.request(
      .channel(ChannelRequest(channel: tea.id, stay: stay, number: number, content)),
      now: server.now)
    server.run(.milliseconds(200))
  }

  private func join(
    _ client: TestClient, _ server: Server, scope: String, stay: UInt64 = 1,
    life: UInt64 = 3_600_000, as role: MemberRole = .host, uid: UInt32 = 0
  ) {
    server.join(client)
    let claims = TokenClaims(
      audience: tea.audience, subject: client.id, scope: scope,
      expires: Server.unixSeconds * 1000 + life)
    let token = Array(PublicToken(signing: claims.json, by: Self.key).text.utf8)
    ask(
      client, server, stay: stay,
      .join(
        ChannelJoin(
          role: role, uid: uid, key: Self.key.publicKey.bytes, name: tea.name, token: token)))
  }

  private func notices(_ client: TestClient) -> [ChannelNotice.Content] {
    client.messages.compactMap { message in
      guard case .channelNotice(let notice) = message else { return nil }
      return notice.content
    }
  }

  private func uid(_ client: TestClient) -> UInt32? {
    for case .welcome(let welcome) in notices(client) { return welcome.uid }
    return nil
  }

  private var seatsEnded: [EndedSeat] {
    relay.messages.flatMap { message -> [EndedSeat] in
      guard case .seatsEnded(let ended) = message else { return [] }
      return ended.seats
    }
  }

  @Test func `a relay is told within a second who was removed, and again when it comes back`()
    throws
  {
    let server = server()
    try register(at: server)
    join(alice, server, scope: "host manage")
    join(bob, server, scope: "host")
    ask(bob, server, number: 1, .relay)
    #expect(notices(bob).contains { if case .relay = $0 { true } else { false } })
    let gone = try #require(uid(bob))
    #expect(seatsEnded.isEmpty)
    ask(alice, server, number: 1, .remove(uid: gone, banSeconds: 0))
    let first = try #require(seatsEnded.first)
    #expect(first.channel == tea.id && first.uid == gone)
    let now = Server.unixSeconds * 1000 + server.now.nanoseconds / 1_000_000
    #expect((now + 599_000...now + 600_000).contains(first.until))
    relay.messages = []
    try register(at: server)
    #expect(seatsEnded == [first])
    // Who just leaves ends its own session.
    ask(alice, server, .leave)
    #expect(seatsEnded == [first])
  }

  /// Method: each joins, is granted a seat, and leaves or comes with a new stay. None says anything
  /// to its relay.
  @Test func `a host that leaves keeps no seat, and of listeners nothing is said`() throws {
    let server = server()
    try register(at: server)
    join(alice, server, scope: "host audience")
    ask(alice, server, number: 1, .relay)
    ask(alice, server, .leave)
    let first = try #require(uid(alice))
    #expect(seatsEnded.map(\.uid) == [first] && seatsEnded.map(\.channel) == [tea.id])
    // The same program has a new stay, again and again: of its seats one is left.
    for stay in UInt64(2)...4 {
      join(bob, server, scope: "host", stay: stay)
      ask(bob, server, stay: stay, number: 1, .relay)
    }
    let uids = notices(bob).compactMap { notice in
      if case .welcome(let welcome) = notice { welcome.uid } else { nil }
    }
    #expect(uids.count == 3 && seatsEnded.map(\.uid) == [first] + uids.dropLast())
    // Who has no seat, and a listener.
    relay.messages = []
    join(alice, server, scope: "host audience", stay: 5)
    ask(alice, server, stay: 5, .leave)
    join(alice, server, scope: "host audience", stay: 6, as: .audience)
    ask(alice, server, stay: 6, number: 1, .relay)
    ask(alice, server, stay: 6, .leave)
    #expect(seatsEnded.isEmpty)
  }

  /// Goal: a host that becomes audience is heard for 1.3 s more at the most.
  @Test func `a relay is told who is a host no more`() throws {
    let server = server()
    try register(at: server)
    join(alice, server, scope: "host audience")
    ask(alice, server, number: 1, .relay)
    // There and back: to its program nothing may have changed.
    ask(alice, server, number: 2, .role(.audience))
    ask(alice, server, number: 3, .role(.host))
    for _ in 0..<10 { ask(alice, server, .sync(RosterPosition(epoch: 0, revision: 0))) }
    #expect(seatsEnded.isEmpty)
    ask(alice, server, number: 4, .role(.audience))
    server.run(.milliseconds(700))
    #expect(seatsEnded.isEmpty)
    server.run(.milliseconds(400))
    let ended = try #require(seatsEnded.first)
    #expect(ended.channel == EndedSeat.hosts(of: tea.id) && ended.uid == uid(alice))
    #expect(seatsEnded.count == 1)
  }

  /// Bans and ended seats of all channels are remembered in one place.
  @Test func `a source has so many removed in a day; those of others go on`() throws {
    var limits = ServerLimits()
    limits.removals = PrefixRates(
      host: Rate(perDay: 2), site: Rate(perDay: 4), network: Rate(perDay: 4))
    let server = server(limits: limits)
    try register(at: server)
    join(alice, server, scope: "host manage")
    for number in UInt32(1)...3 {
      let member = TestClient(UInt64(10 + number))
      join(member, server, scope: "host", stay: UInt64(1 + number))
      let gone = try #require(uid(member))
      ask(alice, server, number: number, .remove(uid: gone, banSeconds: 0))
    }
    #expect(seatsEnded.count == 2)
    let refusals = notices(alice).filter { notice in
      if case .result(let result) = notice { result.status == .tooManyRequests } else { false }
    }
    #expect(refusals.count == 1)
  }

  /// Goal: who lets memberships end by themselves pushes out nobody's.
  /// Method: four of one address whose tokens end, of which two may be told, and a removal.
  @Test func `of one source so many seats end by themselves; removals are told all the same`()
    throws
  {
    var limits = ServerLimits()
    limits.endings = PrefixRates(
      host: Rate(perDay: 2), site: Rate(perDay: 4), network: Rate(perDay: 4))
    let server = server(limits: limits)
    try register(at: server)
    join(alice, server, scope: "host manage")
    join(bob, server, scope: "host")
    let others = (0..<4).map { number in
      TestClient(UInt64(20 + number), SocketAddress(v4: 10, 4, 0, 1, port: UInt16(2000 + number)))
    }
    for other in others { join(other, server, scope: "host", life: 8000) }
    server.run(.seconds(8), pinging: [alice, bob, relay] + others)
    #expect(server.gauges.channelMembers == 2 && seatsEnded.count == 2)
    let gone = try #require(uid(bob))
    ask(alice, server, number: 1, .remove(uid: gone, banSeconds: 0))
    #expect(seatsEnded.count == 3 && seatsEnded.last?.uid == gone)
  }

  /// Goal: no host has a seat that could not be ended when it leaves.
  /// Method: one host of an address may be told of, and comes twice; then a listener.
  @Test func `where no more hosts may be told of none is granted a seat`() throws {
    var limits = ServerLimits()
    let one = Rate(perDay: 1)
    limits.endings = PrefixRates(host: one, site: one, network: one)
    let server = server(limits: limits)
    try register(at: server)
    for stay in UInt64(1)...2 {
      join(bob, server, scope: "host", stay: stay)
      ask(bob, server, stay: stay, number: UInt32(stay), .relay)
      ask(bob, server, stay: stay, .leave)
    }
    func grants(_ client: TestClient) -> Int {
      notices(client).count { if case .relay = $0 { true } else { false } }
    }
    let isRefused = notices(bob).contains { notice in
      if case .result(let result) = notice { result.status == .tooManyRequests } else { false }
    }
    #expect(grants(bob) == 1 && isRefused && seatsEnded.count == 1)
    join(alice, server, scope: "audience", as: .audience)
    ask(alice, server, number: 1, .relay)
    #expect(grants(alice) == 1)
  }

  /// Goal: no seat stays open because many ended at one moment.
  /// Method: 1600 of 25 programs, more than the 64 KiB that may wait for a relay hold.
  @Test func `a relay is told of all seats that end at one moment`() throws {
    var limits = ServerLimits()
    let many = Rate(perDay: 1 << 20)
    limits.endings = PrefixRates(host: many, site: many, network: many)
    let server = server(limits: limits)
    try register(at: server)
    let ends = Server.unixSeconds * 1000 + 12_000
    for number in UInt64(0)..<25 {
      let client = TestClient(100 + number)
      server.join(client)
      for room in 0..<64 {
        let channel = ChannelIdentity(
          name: try #require(PeerName("tea\(room)-\(number)")), key: Self.key.publicKey)
        let claims = TokenClaims(
          audience: channel.audience, subject: client.id, scope: "host", expires: ends)
        let join = ChannelJoin(
          role: .host, uid: 0, key: Self.key.publicKey.bytes, name: channel.name,
          token: Array(PublicToken(signing: claims.json, by: Self.key).text.utf8))
        client.request(
          .channel(ChannelRequest(channel: channel.id, stay: 1, number: 0, .join(join))),
          now: server.now)
      }
      server.run(.milliseconds(200))
    }
    #expect(server.gauges.channelMembers == 1600)
    server.run(.seconds(9))
    #expect(server.gauges.channelMembers == 0 && Set(seatsEnded.map(\.channel)).count == 1600)
  }

  @Test func `a seat that has ended is closed, and no older grant opens it again`() throws {
    let signer = Server()
    let server = Server(
      tokenKey: TokenPublicKey(bytes: Bytes32(signer.card.id)), forwarding: ForwardingLimits(),
      identitySeed: 98)
    func grant(_ life: UInt64) -> String {
      let seat = SeatClaim(channel: tea.id, uid: 12, role: .host)
      var claims = TokenClaims(
        audience: "\(server.card.id)", subject: bob.id, scope: seat.scope,
        expires: Server.unixSeconds * 1000 + life, uid: 12)
      claims.isExact = true
      var random = RandomSource(seed: 99)
      let identity = LocalIdentity(
        kind: .rendezvous, unixSeconds: Server.unixSeconds, random: &random)
      return PublicToken(signing: claims.json) { identity.signToken($0) }.text
    }
    bob.token = grant(600_000)
    server.join(bob)
    #expect(server.gauges.seats == 1)
    let until = Server.unixSeconds * 1000 + 605_000
    // Another channel, another uid, and grants of before are no concern of this seat.
    server.endSeats([
      EndedSeat(channel: .zero, uid: 12, until: until),
      EndedSeat(channel: tea.id, uid: 13, until: until),
      EndedSeat(channel: tea.id, uid: 12, until: until - 100_000),
    ])
    #expect(server.gauges.seats == 1 && bob.closes.isEmpty)
    server.endSeats([EndedSeat(channel: tea.id, uid: 12, until: until)])
    #expect(server.gauges.seats == 0 && bob.closes.contains(.tokenExpired))
    server.run(.seconds(1))
    bob.token = grant(605_000)
    server.join(bob)
    #expect(server.gauges.seats == 0 && server.forwarded?.seatsRefused == 1)
    #expect(server.gauges.clients == 0 && server.gauges.unconfirmedSessions == 0)
    server.run(.seconds(1))
    // Given a moment later, within the same second.
    bob.token = grant(605_001)
    server.join(bob)
    #expect(server.gauges.seats == 1 && server.forwarded?.seatsEnded == 1)
  }

  /// After a restart the server does not know who has a seat.
  @Test func `the seat of who is removed after a restart is ended`() throws {
    let first = server()
    try register(at: first)
    join(alice, first, scope: "host manage")
    join(bob, first, scope: "host")
    ask(bob, first, number: 1, .relay)
    let gone = try #require(uid(bob))
    let again = server(boot: 6)
    try register(at: again)
    join(alice, again, scope: "host manage")
    join(bob, again, scope: "host", as: .host, uid: gone)
    ask(alice, again, number: 1, .remove(uid: gone, banSeconds: 0))
    #expect(seatsEnded.map(\.uid) == [gone])
  }

  @Test func `who is banned stays so after a restart, until the ban's end`() throws {
    let first = server()
    join(alice, first, scope: "host manage")
    join(bob, first, scope: "host")
    ask(alice, first, number: 1, .remove(uid: try #require(uid(bob)), banSeconds: 60))
    #expect(notices(bob).contains(.gone(stay: 1, .banned)))
    let again = server(boot: 6)
    bob.messages = []
    join(bob, again, scope: "host")
    #expect(uid(bob) == nil)
    let isBanned = notices(bob).contains { notice in
      if case .result(let result) = notice { result.status == .banned } else { false }
    }
    #expect(isBanned)
    again.run(.seconds(61))
    join(bob, again, scope: "host")
    #expect(uid(bob) != nil)
  }
}
