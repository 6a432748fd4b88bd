import Channels
import Congestion
import Forwarding
import Primitives
import SecureSession
import Testing
import Tokens
import Wire

@testable import Rendezvous

/// A relay through the seal: grants of the rendezvous, seats, and whom nothing is sent to
/// (docs/protocol/relay.md).
struct RelayTests {
  private static let identitySeed: UInt64 = 98
  private let rendezvous: Server
  private let relay: Server
  private let program = TestClient(50)
  private let alice = TestClient(1)
  private let bob = TestClient(2)
  private let tea: ChannelIdentity

  init() throws {
    tea = try #require(ChannelIdentity("tea"))
    rendezvous = Server(relayIDs: [program.id])
    relay = Server(
      tokenKey: TokenPublicKey(bytes: Bytes32(rendezvous.card.id)),
      forwarding: ForwardingLimits(), identitySeed: Self.identitySeed)
  }

  /// The relay says that it is there. In the tests its ID at the rendezvous is that of `program`.
  private func register() throws {
    rendezvous.join(program)
    program.request(
      .relayHere(RelayHere(address: try #require(SocketAddress("0.0.0.0:7500")))),
      now: rendezvous.now)
    rendezvous.exchange()
  }

  private func notices(_ client: TestClient) -> [ChannelNotice.Content] {
    client.messages.compactMap { message in
      guard case .channelNotice(let notice) = message else { return nil }
      return notice.content
    }
  }

  private func ask(_ client: TestClient, _ content: ChannelRequest.Content) {
    client.request(
      .channel(ChannelRequest(channel: tea.id, stay: 1, number: 3, content)),
      now: rendezvous.now)
    rendezvous.run(.milliseconds(200))
  }

  private func grant(_ client: TestClient, _ role: MemberRole) -> ChannelRelayGrant? {
    rendezvous.join(client)
    ask(client, .join(ChannelJoin(role: role, uid: 0, name: tea.name)))
    ask(client, .relay)
    for case .relay(let grant) in notices(client) { return grant }
    return nil
  }

  /// A grant as the rendezvous makes it for the relay of these tests, whose ID is its own.
  private func token(
    _ client: TestClient, _ uid: UInt32, _ role: MemberRole, audience: PeerID? = nil,
    in channel: Bytes32? = nil
  ) throws -> String {
    let seat = SeatClaim(channel: channel ?? tea.id, uid: uid, role: role)
    let claims = TokenClaims(
      audience: "\(audience ?? relay.card.id)", subject: client.id, scope: seat.scope,
      expires: Server.unixSeconds * 1000 + 600_000, uid: uid)
    var random = RandomSource(seed: 99)
    let identity = LocalIdentity(
      kind: .rendezvous, unixSeconds: Server.unixSeconds, random: &random)
    return PublicToken(signing: claims.json) { identity.signToken($0) }.text
  }

  private func seat(_ client: TestClient, _ uid: UInt32, _ role: MemberRole = .host) throws {
    client.token = try token(client, uid, role)
    relay.join(client)
  }

  private func speak(_ client: TestClient, _ time: UInt16 = 1, from address: SocketAddress? = nil) {
    let packet = client.seal { packet in
      ChannelAudioFrame(
        ChannelAudioLabel(
          length: .milliseconds20, isMarked: false, mediaTime: time, level: 20)
      ).writeHeader(to: &packet)
      packet.append(zeros: 80)
    }
    relay.receive(packet, from: address ?? client.address)
  }

  private func audioCount(_ client: TestClient) -> Int {
    client.channelFrames.count { if case .channelAudio = $0.frame { true } else { false } }
  }

  // MARK: - Grants

  @Test func `a member gets a grant for the relay that has registered`() throws {
    #expect(grant(alice, .host) == nil)
    let refused = notices(alice).contains { content in
      if case .result(let result) = content { result.status == .noRelay } else { false }
    }
    #expect(refused)
    try register()
    let offered = try #require(grant(bob, .audience))
    #expect(offered.relay == program.id)
    // Its own address, with the port that it told.
    var expected = program.address
    expected.port = 7500
    #expect(offered.address == expected)
    let rule = TokenRule(
      key: TokenPublicKey(bytes: Bytes32(rendezvous.card.id)), audience: "\(program.id)")
    let claims = try rule.check(
      offered.token, of: bob.id, unixMilliseconds: Server.unixSeconds * 1000 + 60_000)
    let seat = try #require(claims.seat)
    #expect(seat.channel == tea.id && seat.role == .audience && offered.token.count <= 512)
    // It goes with the relay's session.
    rendezvous.run(.seconds(90), pinging: [alice, bob])
    alice.messages = []
    ask(alice, .join(ChannelJoin(role: .host, uid: 0, name: tea.name)))
    ask(alice, .relay)
    #expect(!notices(alice).contains { if case .relay = $0 { true } else { false } })
  }

  /// Who is there may hear it well: newcomers at another relay would be heard by nobody.
  @Test func `a channel keeps its relay while the rendezvous does not hear of it`() throws {
    let relays = [TestClient(51), TestClient(52)]
    let server = Server(relayIDs: Set(relays.map(\.id)))
    for relay in relays {
      server.join(relay)
      relay.request(
        .relayHere(RelayHere(address: try #require(SocketAddress("0.0.0.0:7500")))),
        now: server.now)
      server.exchange()
    }
    func relay(of client: TestClient) -> PeerID? {
      for content in [.join(ChannelJoin(role: .host, uid: 0, name: tea.name)), .relay]
        as [ChannelRequest.Content]
      {
        client.request(
          .channel(ChannelRequest(channel: tea.id, stay: 1, number: 3, content)), now: server.now)
        server.run(.milliseconds(200))
      }
      for case .relay(let grant) in notices(client) { return grant.relay }
      return nil
    }
    server.join(alice)
    let first = try #require(relay(of: alice))
    server.run(.seconds(14), pinging: [alice] + relays.filter { $0.id != first })
    server.join(bob)
    #expect(relay(of: bob) == first)
  }

  @Test func `nobody registers as a relay whom the operator has not named`() throws {
    rendezvous.join(bob)
    bob.request(
      .relayHere(RelayHere(address: try #require(SocketAddress("192.0.2.1:7500")))),
      now: rendezvous.now)
    rendezvous.exchange()
    #expect(rendezvous.counters.messagesInvalid == 1)
    #expect(grant(alice, .host) == nil)
  }

  /// SIGHUP: `RendezvousMachine.admit`.
  @Test func `a relay that is named later is offered at once, and one that is not any more is not`()
    throws
  {
    let server = Server()
    server.join(program)
    program.request(
      .relayHere(RelayHere(address: try #require(SocketAddress("0.0.0.0:7500")))),
      now: server.now)
    server.exchange()
    let isTold = server.events.contains {
      if case .refused(program.id, .relayNotNamed, _) = $0 { true } else { false }
    }
    #expect(isTold)
    server.join(alice)
    func isGranted() -> Bool {
      let before = notices(alice).count
      for content in [.join(ChannelJoin(role: .host, uid: 0, name: tea.name)), .relay]
        as [ChannelRequest.Content]
      {
        alice.request(
          .channel(ChannelRequest(channel: tea.id, stay: 1, number: 3, content)), now: server.now)
        server.run(.milliseconds(200))
      }
      return notices(alice).dropFirst(before).contains {
        if case .relay = $0 { true } else { false }
      }
    }
    #expect(!isGranted())
    server.setRelays([bob.id])
    #expect(!isGranted())
    server.setRelays([bob.id, program.id])
    #expect(isGranted())
    let invalid = server.counters.messagesInvalid
    server.setRelays([bob.id])
    server.run(.seconds(2))
    #expect(!isGranted())
    server.setRelays([program.id])
    server.run(.seconds(2))
    #expect(isGranted() && server.counters.messagesInvalid == invalid)
  }

  @Test func `of strangers' offers the last 32 are kept, and one of each identity`() {
    var offers = RelayOffers()
    let here = RendezvousMessage.relayHere(
      RelayHere(address: SocketAddress(v4: 0, 0, 0, 0, port: 7500)))
    let ids = (0..<40).map { TestClient(UInt64(100 + $0)).id }
    let isFirst = offers.insert(here, of: 1000, program.id, isNamed: true)
    #expect(isFirst)
    for (slot, id) in ids.enumerated() {
      // The same identity with another session has the same place.
      let isNews = [slot, slot, slot + 100].map {
        offers.insert(here, of: UInt32($0), id, isNamed: false)
      }
      #expect(isNews == [true, false, true])
    }
    let all = Set(ids + [program.id])
    let found = [all, all, [], [program.id]].map { offers.changed(by: $0).map(\.slot) }
    #expect(found == [(108..<140).map { UInt32($0) }, [], [], [1000]])
  }

  @Test func `a grant is worth nothing in other hands, at another relay, or of another signer`()
    throws
  {
    // No rendezvous says that of a token to whoever has shown none: so it is known to be a relay.
    relay.join(alice)
    #expect(alice.response?.status == .tokenRefused && alice.response?.tokenFault == .scope)
    alice.token = try token(bob, 1, .host)
    relay.join(alice)
    #expect(alice.response?.status == .tokenRefused && alice.response?.tokenFault == .subject)
    alice.token = try token(alice, 1, .host, audience: program.id)
    relay.join(alice)
    #expect(alice.response?.tokenFault == .audience)
    var random = RandomSource(seed: 4)
    let key = TokenSigningKey(random: &random)
    let seat = SeatClaim(channel: tea.id, uid: 1, role: .host)
    let claims = TokenClaims(
      audience: "\(relay.card.id)", subject: alice.id, scope: seat.scope, expires: .max / 2, uid: 1)
    alice.token = PublicToken(signing: claims.json, by: key).text
    relay.join(alice)
    #expect(alice.response?.tokenFault == .signature)
    #expect(relay.gauges.seats == 0)
  }

  // MARK: - Forwarding

  @Test func `sealed frames of one member reach the other, and cards and keys as well`() throws {
    try seat(alice, 11)
    try seat(bob, 12, .audience)
    #expect(relay.gauges.seats == 2)
    for time in 0..<10 as Range<UInt16> { speak(alice, time) }
    #expect(audioCount(bob) == 10 && audioCount(alice) == 0)
    relay.receive(
      bob.seal { ChannelWordFrame.writeQuestion(uid: 11, to: &$0) }, from: bob.address)
    let cards = bob.channelFrames.compactMap { entry -> [UInt8]? in
      guard case .channelCard(11, let range) = entry.frame else { return nil }
      return Array(entry.packet[range.range])
    }
    #expect(cards == [alice.card.bytes])
    relay.receive(
      bob.seal { ChannelWordFrame.writeKey([3].span, uid: 11, to: &$0) }, from: bob.address)
    #expect(
      alice.channelFrames.contains { if case .channelKey(12, _) = $0.frame { true } else { false } }
    )
    #expect(relay.counters.framesInvalid == 0)
    // Feedback to the one who speaks.
    relay.run(.milliseconds(300))
    #expect(alice.history.quality.packetsLost == 0)
  }

  @Test func `a newer grant keeps the seat, and the end of the last one ends it`() throws {
    try seat(alice, 11)
    try seat(bob, 12)
    let other = try token(alice, 99, .host)
    alice.request(.token(TokenRenewal(token: Array(other.utf8))), now: relay.now)
    relay.exchange()
    #expect(alice.messages.contains(.tokenResult(.refused(.scope))))
    alice.request(
      .token(TokenRenewal(token: Array(try token(alice, 11, .audience).utf8))), now: relay.now)
    relay.exchange()
    speak(alice)
    #expect(audioCount(bob) == 0 && relay.forwarded?.audioNotAllowed == 1)
    relay.run(.seconds(601), pinging: [alice, bob])
    #expect(relay.gauges.seats == 0 && alice.closes.contains(.tokenExpired))
  }

  @Test func `nothing is copied to an address that is not proven`() throws {
    try seat(alice, 11)
    bob.token = try token(bob, 12, .host)
    // Bob's INIT names another's address, and its first packet never comes.
    relay.attach(bob)
    let victim = bob.address
    relay.receive(bob.initiation(to: relay.card), from: victim)
    let before = relay.sent[victim] ?? 0
    for time in 0..<50 as Range<UInt16> { speak(alice, time) }
    #expect(relay.sent[victim] == before && before <= 200)
    // Nor to one that a member only seems to have moved to.
    relay.receive(bob.ping(), from: victim)
    speak(alice, 60)
    #expect(audioCount(bob) == 1)
    relay.run(.seconds(1))
    let elsewhere = try #require(SocketAddress("198.51.100.7:99"))
    relay.receive(bob.ping(), from: elsewhere)
    let challenge = relay.sent[elsewhere] ?? 0
    for time in 100..<150 as Range<UInt16> { speak(alice, time) }
    #expect(relay.sent[elsewhere] == challenge && audioCount(bob) == 51)
    // Frames that the relay has, under keys that it has given: replayed they are dropped.
    let packet = alice.seal { PingFrame(token: 1).write(to: &$0) }
    relay.receive(packet, from: alice.address)
    relay.receive(packet, from: elsewhere)
    #expect(relay.counters.packetsReplayed == 1)
  }

  /// An office behind one address: more than its exchanges are at once (`exchangesPerHost`).
  @Test func `a message reaches all of two hundred members behind one address`() throws {
    alice.abilities = .channelData
    try seat(alice, 1)
    let members = (0..<200).map { number in
      TestClient(
        UInt64(1000 + number), SocketAddress(v4: 10, 9, 0, 1, port: UInt16(2000 + number)))
    }
    for (number, member) in members.enumerated() {
      member.abilities = .channelData
      try seat(member, UInt32(number + 2), .audience)
      relay.run(.milliseconds(60))
    }
    #expect(relay.gauges.seats == 201)
    let message = SealedChannelMessage(uid: 0, frame: Array(repeating: 7, count: 200))
    alice.request(.channelData(message), now: relay.now)
    relay.run(.seconds(1))
    let reached = members.count { member in
      member.messages.contains { if case .channelData = $0 { true } else { false } }
    }
    #expect(reached == 200 && relay.counters.exchangesGivenUp == 0)
  }

  /// One more session of an identity, for a seat.
  private func more(
    _ identity: UInt64, _ uid: UInt32, in channel: Bytes32? = nil
  ) throws -> TestClient {
    let client = TestClient(
      identity, SocketAddress(v4: 10, 8, 0, 1, port: UInt16(1000 + relay.gauges.clients)))
    client.presence = Presence(
      PresenceID(rawValue: UInt64(relay.gauges.clients + 1)), .guest)
    client.token = try token(client, uid, .audience, in: channel)
    relay.join(client)
    relay.run(.milliseconds(60))
    return client
  }

  /// Goal: a program has seats in its 64 channels within 4 s, and again after it was started anew.
  /// Method: two identities at one address, each as two programs; then one session more of each
  /// kind.
  @Test func `an identity has seats in 64 channels, twice, and as many programs in one as before`()
    throws
  {
    let channels = try (0..<64).map { try #require(ChannelIdentity("tea\($0)")).id }
    for identity in [UInt64(1), 2] {
      for uid in [UInt32(1), 2] {
        for channel in channels {
          #expect(try more(identity, uid + UInt32(identity) * 10, in: channel).isRegistered)
        }
      }
    }
    #expect(relay.gauges.seats == 256)
    // Eight of an identity in one channel, 128 in all, and 256 of an address.
    #expect(try more(1, 50).response?.status == .tooManyPrograms)
    #expect(try more(3, 51).response?.status == .full)
    relay.run(.seconds(61))
    #expect(relay.gauges.seats == 0)
    let seats = try (1...9).map { try more(1, $0).response?.status }
    #expect(seats == Array(repeating: .noNameAskedFor, count: 8) + [.tooManyPrograms])
    #expect(try more(1, 9, in: channels[0]).isRegistered)
  }

  @Test func `a relay tells members that ask that it knows low streams`() throws {
    alice.abilities = .pairs
    try seat(alice, 11)
    try seat(bob, 12)
    #expect(alice.response?.hasPairs == true && bob.response?.hasPairs == false)
  }

  @Test func `a relay looks nobody up and passes no messages on`() throws {
    try seat(alice, 11)
    alice.request(.lookUp(LookUp(request: 1, target: .id(bob.id))), now: relay.now)
    ask(alice, .leave)
    relay.run(.milliseconds(100))
    #expect(relay.counters.messagesInvalid == 2 && relay.counters.lookUps == 0)
    // And a rendezvous takes no frames of a channel.
    rendezvous.join(bob)
    rendezvous.receive(
      bob.seal { ChannelWordFrame.writeQuestion(uid: 1, to: &$0) }, from: bob.address)
    #expect(rendezvous.counters.framesInvalid == 1)
  }
}
