import Cryptography
import Primitives
import Rendezvous
import SecureSession
import Testing
import Wire

@testable import Peer

/// One try to register, with a real rendezvous at the other end and a forger in between.
@Suite struct RegistrationAttemptTests {
  private static let unixSeconds: UInt64 = 1_800_000_000
  private static let client = SocketAddress(v4: 192, 0, 2, 9, port: 4000)
  private static let now = Instant(nanoseconds: 1_000_000_000)

  /// A client that knows its rendezvous' card, and that rendezvous.
  private struct Pair: ~Copyable {
    let identity: LocalIdentity
    let serverCard: ContactCard
    let ownCard: ContactCard
    var attempt: RegistrationAttempt
    var server: RendezvousMachine
    var random: RandomSource

    init() throws {
      var random = RandomSource(seed: 1)
      var identity = LocalIdentity(kind: .peer, unixSeconds: unixSeconds, random: &random)
      var host = LocalIdentity(kind: .rendezvous, unixSeconds: unixSeconds, random: &random)
      let serverCard = try host.makeCard(unixSeconds: unixSeconds)
      let ownCard = try identity.makeCard(unixSeconds: unixSeconds)
      let settings = ServerSettings(
        identity: host, card: serverCard, bootCounter: 5,
        resetKey: Array(repeating: 3, count: 32), wallMilliseconds: unixSeconds * 1000)
      server = RendezvousMachine(
        settings, store: MemoryStore(), random: RandomSource(seed: 2))
      attempt = RegistrationAttempt(
        RegistrationRequest(card: ownCard, name: nil, presence: .unnamed),
        expected: ExpectedServer(id: nil), card: serverCard, now: now)
      self.serverCard = serverCard
      self.ownCard = ownCard
      self.identity = identity
      self.random = random
    }

    /// What the attempt sends at `now`, the last of it.
    mutating func initiation(now: Instant) -> [UInt8] {
      _ = attempt.handleTimeout(
        identity: identity, time: TAI64N(unixMilliseconds: unixSeconds * 1000),
        connectionID: ConnectionID(rawValue: 77), random: &random, now: now)
      var bytes: [UInt8] = []
      var isThere = true
      while isThere {
        let packet = [UInt8](capacity: 1200) { isThere = attempt.writePacket(into: &$0) }
        if isThere { bytes = packet }
      }
      return bytes
    }

    /// Everything that the attempt sends at `now`, and whether it has failed by then.
    mutating func step(now: Instant) -> (packets: [[UInt8]], hasFailed: Bool) {
      let hasFailed = attempt.handleTimeout(
        identity: identity, time: TAI64N(unixMilliseconds: unixSeconds * 1000),
        connectionID: ConnectionID(rawValue: 77), random: &random, now: now)
      var packets: [[UInt8]] = []
      var isThere = true
      while isThere {
        let packet = [UInt8](capacity: 1200) { isThere = attempt.writePacket(into: &$0) }
        if isThere { packets.append(packet) }
      }
      return (packets, hasFailed)
    }

    /// What the rendezvous answers.
    mutating func answer(_ datagram: [UInt8]) -> [UInt8] {
      var bytes = datagram
      var span = bytes.mutableSpan
      server.handle(&span, from: client, marks: DatagramMarks(), now: now)
      var sent = DatagramList()
      var events: [RendezvousMachine.Event] = []
      _ = drain(&server, into: &sent, events: &events, now: now)
      return sent.datagrams.last?.bytes ?? []
    }

    mutating func receive(
      _ bytes: [UInt8], now: Instant = RegistrationAttemptTests.now
    ) -> RegistrationAttempt.Finding {
      attempt.handle(
        bytes.span, ownStatic: identity.staticKey, unixSeconds: unixSeconds, now: now)
    }
  }

  private static func key(_ label: StaticString, of staticKey: Bytes32) -> Bytes32 {
    var hash = BLAKE2b(byteCount: 32)
    hash.update(label)
    hash.update(staticKey.span)
    return hash.finalize32()
  }

  /// Method: the clear part of a RESP is changed and its MAC1, whose key everybody knows, made
  /// anew; the forgery comes first, then the answer itself.
  @Test(arguments: [1, 4, 7, 8, 11]) func `a forger of the clear part cannot end an attempt`(
    place: Int
  ) throws {
    var pair = try Pair()
    let answer = pair.answer(pair.initiation(now: Self.now))
    try #require(answer.count == ResponsePacket.byteCount)
    var forged = answer
    forged[place] ^= 0x41
    let key = Self.key("EST1mac1", of: pair.identity.staticKey.publicKey)
    var hash = BLAKE2b(byteCount: 16, key: key.span)
    hash.update(forged.span.extracting(ResponsePacket.mac1Coverage))
    forged.replaceSubrange(168..<184, with: hash.finalize16().bytes)
    _ = pair.receive(forged)
    _ = pair.receive(answer)
    var reader = ByteReader(answer.span)
    let sent = try ResponsePacket(parsing: &reader)
    var responder: ConnectionID?
    if let established = pair.attempt.takeEstablished() {
      responder = established.terms.responder
    }
    #expect(responder == sent.responder)
  }

  /// - Parameter longest: What the line carries, in bytes; anything longer is lost without a sign.
  @Test(arguments: [(1199, RegistrationFailure.longPacketsLost), (511, .noAnswer)])
  func `a line that loses long packets is told apart from one that loses all`(
    longest: Int, failure: RegistrationFailure
  ) throws {
    var pair = try Pair()
    var now = Self.now
    var hasFailed = false
    while !hasFailed, now < Self.now + .seconds(20) {
      now = now + .milliseconds(50)
      let sent = pair.step(now: now)
      for packet in sent.packets where packet.count <= longest {
        let answer = pair.answer(packet)
        if !answer.isEmpty, answer.count <= longest { _ = pair.receive(answer) }
      }
      hasFailed = sent.hasFailed
      // Who does not wait for the end is told the same.
      if now >= Self.now + .seconds(5) { #expect(pair.attempt.failure() == failure) }
    }
    #expect(hasFailed && pair.attempt.failure() == failure)
  }

  /// What anybody can make who sees `initiation`.
  private static func cookie(
    for initiation: [UInt8], of card: ContactCard, filledWith byte: UInt8
  ) throws -> [UInt8] {
    let key = Self.key("EST1cook", of: card.staticKey)
    guard let secret = SecretKey(copying: key.span) else {
      Issue.record("32 bytes are a key")
      return []
    }
    let nonce = [UInt8](repeating: byte, count: CookiePacket.nonceByteCount)
    let sealed = try XChaChaPoly.seal(
      [UInt8](repeating: byte, count: 16).span,
      associated: initiation.span.extracting(InitPacket.mac1Range), key: secret, nonce: nonce.span)
    var cookie: [UInt8] = []
    CookiePacket(initiator: ConnectionID(rawValue: 77), nonce: nonce, sealedCookie: sealed)
      .write(to: &cookie, purpose: HandshakePurpose.register.rawValue)
    return cookie
  }

  /// A cookie is good for 120 s (docs/protocol/session.md §3): no attempt lasts so long, and none
  /// inherits one.
  @Test func `a cookie is not used beyond its attempt`() throws {
    var pair = try Pair()
    let first = pair.initiation(now: Self.now)
    #expect(first[InitPacket.mac2Range].allSatisfy { $0 == 0 })
    _ = pair.receive(try Self.cookie(for: first, of: pair.serverCard, filledWith: 8))
    // It goes with the next repetition.
    #expect(pair.initiation(now: Self.now).isEmpty)
    let proven = pair.initiation(now: Self.now + .milliseconds(300))
    #expect(proven[InitPacket.mac2Range].contains { $0 != 0 })
    let hasFailed = pair.attempt.handleTimeout(
      identity: pair.identity, time: TAI64N(unixMilliseconds: Self.unixSeconds * 1000),
      connectionID: ConnectionID(rawValue: 77), random: &pair.random,
      now: Self.now + .seconds(10))
    #expect(hasFailed)
    pair = try Pair()
    #expect(pair.initiation(now: Self.now)[InitPacket.mac2Range].allSatisfy { $0 == 0 })
  }

  // MARK: - A forger who sees what we send, and is nearer than the rendezvous

  private static func version() -> [UInt8] {
    var bytes: [UInt8] = []
    let packet = VersionPacket(initiator: ConnectionID(rawValue: 77), lowest: 9, highest: 9)
    packet.write(to: &bytes)
    return bytes
  }

  @Test func `a forged VERSION changes nothing if the rendezvous answers`() throws {
    var pair = try Pair()
    let answer = pair.answer(pair.initiation(now: Self.now))
    guard case .nothing = pair.receive(Self.version()) else {
      Issue.record("VERSION ended the attempt")
      return
    }
    guard case .established = pair.receive(answer) else {
      Issue.record("RESP was not taken after VERSION")
      return
    }
  }

  @Test func `what VERSION says is the reason if nothing answers for three seconds`() throws {
    var pair = try Pair()
    _ = pair.initiation(now: Self.now)
    _ = pair.receive(Self.version())
    let ended = (1...100).first { tenth in
      pair.attempt.handleTimeout(
        identity: pair.identity, time: TAI64N(unixMilliseconds: Self.unixSeconds * 1000),
        connectionID: ConnectionID(rawValue: 77), random: &pair.random,
        now: Self.now + .milliseconds(100) * tenth)
    }
    #expect(ended == 30)
    let failure = pair.attempt.failure()
    #expect(failure == .versionMismatch(lowest: 9, highest: 9))
  }

  @Test func `a thousand forged cookies earn no INIT`() throws {
    var pair = try Pair()
    let first = pair.initiation(now: Self.now)
    var extra = 0
    for number in 0..<1000 {
      let byte = UInt8(truncatingIfNeeded: number)
      _ = pair.receive(try Self.cookie(for: first, of: pair.serverCard, filledWith: byte))
      if !pair.initiation(now: Self.now + .milliseconds(1)).isEmpty { extra += 1 }
    }
    #expect(extra == 0)
  }

  /// Method: a card from the future, and one that has expired, each with one bit of its signature
  /// flipped; our clock may be wrong, but the signature must hold.
  @Test(arguments: [+365, -365] as [Int64])
  func `a card whose signature is wrong is not tried, whatever its time`(days: Int64) throws {
    var pair = try Pair()
    let then = UInt64(Int64(Self.unixSeconds) + days * 86_400)
    var host = LocalIdentity(kind: .rendezvous, unixSeconds: then, random: &pair.random)
    let good = try host.makeCard(unixSeconds: then)
    var bytes = good.bytes
    bytes[bytes.count - 1] ^= 1
    for (card, isTried) in [(try ContactCard(parsing: bytes), false), (good, true)] {
      pair.attempt = RegistrationAttempt(
        RegistrationRequest(card: pair.ownCard, name: nil, presence: .unnamed),
        expected: ExpectedServer(id: nil), card: nil, now: Self.now)
      let request = pair.initiation(now: Self.now)
      var reader = ByteReader(request.span)
      var packet: [UInt8] = []
      CardPacket(nonce: try CardRequestPacket(parsing: &reader).nonce, card: card)
        .write(to: &packet)
      var wasFound = false
      if case .cardFound = pair.receive(packet) { wasFound = true }
      #expect(wasFound == isTried)
    }
  }

  /// Method: the rendezvous has an old key, whose card has expired by its own clock as well.
  @Test func `a key whose card has expired by both clocks registers nobody`() throws {
    var pair = try Pair()
    let then = Self.unixSeconds - 365 * 86_400
    var host = LocalIdentity(kind: .rendezvous, unixSeconds: then, random: &pair.random)
    let card = try host.makeCard(unixSeconds: then)
    let settings = ServerSettings(
      identity: host, card: card, bootCounter: 5, resetKey: Array(repeating: 3, count: 32),
      wallMilliseconds: Self.unixSeconds * 1000)
    pair.server = RendezvousMachine(settings, store: MemoryStore(), random: RandomSource(seed: 2))
    pair.attempt = RegistrationAttempt(
      RegistrationRequest(card: pair.ownCard, name: nil, presence: .unnamed),
      expected: ExpectedServer(id: nil), card: nil, now: Self.now)
    let found = pair.answer(pair.initiation(now: Self.now))
    guard case .cardFound = pair.receive(found) else {
      Issue.record("the card was not tried")
      return
    }
    let answer = pair.answer(pair.initiation(now: Self.now))
    #expect(answer.count == ResponsePacket.byteCount)
    guard case .nothing = pair.receive(answer) else {
      Issue.record("RESP was taken")
      return
    }
    let failure = pair.attempt.failure()
    #expect(failure == .wrongClock(serverTime: nil))
  }

  /// When it is told that another identity answers, in ms after the beginning, and whether a
  /// session comes of it.
  ///
  /// Method: `other` is the ID that is given. The rendezvous and a forger, if there is one, each
  /// answer a round trip later.
  private static func pinnedAttempt(
    roundTrip: Int64, isGivenRight: Bool, forgerAt: Int64? = nil
  ) throws -> (told: Int64?, isEstablished: Bool) {
    var pair = try Pair()
    var forger = LocalIdentity(kind: .rendezvous, unixSeconds: unixSeconds, random: &pair.random)
    let forged = try forger.makeCard(unixSeconds: unixSeconds)
    let expected = isGivenRight ? pair.serverCard.id : pair.ownCard.id
    pair.attempt = RegistrationAttempt(
      RegistrationRequest(card: pair.ownCard, name: nil, presence: .unnamed),
      expected: ExpectedServer(id: expected), card: nil, now: now)
    var underWay: [(at: Int64, bytes: [UInt8])] = []
    var told: Int64?
    for time in stride(from: Int64(0), to: 3000, by: 10) {
      for packet in underWay where packet.at == time {
        if case .established = pair.receive(packet.bytes, now: now + .milliseconds(time)) {
          return (told, true)
        }
      }
      for packet in pair.step(now: now + .milliseconds(time)).packets {
        let answer = pair.answer(packet)
        if !answer.isEmpty { underWay.append((time + roundTrip, answer)) }
        var reader = ByteReader(packet.span)
        guard let forgerAt, let asked = try? CardRequestPacket(parsing: &reader) else { continue }
        var bytes: [UInt8] = []
        CardPacket(nonce: asked.nonce, card: forged).write(to: &bytes)
        underWay.append((time + forgerAt, bytes))
      }
      if let doubt = pair.attempt.popDoubt() {
        guard case .identityMismatch(expected, _) = doubt, told == nil else {
          Issue.record("\(doubt)")
          continue
        }
        told = time
      }
    }
    return (told, false)
  }

  @Test(arguments: [10, 50, 200, 600] as [Int64])
  func `another identity than the given one is told within 800 ms`(roundTrip: Int64) throws {
    let end = try Self.pinnedAttempt(roundTrip: roundTrip, isGivenRight: false)
    #expect(end.told == 800 && !end.isEstablished)
  }

  /// Method: VERSION for INIT, then another identity's card for the request 0.9 s after it.
  @Test func `what VERSION said waits for its time, also where a foreign card comes`() throws {
    var pair = try Pair()
    let (known, unix) = (pair.serverCard, Self.unixSeconds)
    pair.attempt = RegistrationAttempt(
      RegistrationRequest(card: pair.ownCard, name: nil, presence: .unnamed),
      expected: ExpectedServer(id: known.id), card: known, now: Self.now)
    var forger = LocalIdentity(kind: .rendezvous, unixSeconds: unix, random: &pair.random)
    let forged = try forger.makeCard(unixSeconds: unix)
    _ = pair.initiation(now: Self.now)
    _ = pair.receive(Self.version())
    var told: [Int: RegistrationFailure] = [:]
    for tenth in 1...29 {
      let now = Self.now + .milliseconds(100) * tenth
      for packet in pair.step(now: now).packets {
        var reader = ByteReader(packet.span)
        var bytes: [UInt8] = []
        guard let asked = try? CardRequestPacket(parsing: &reader) else { continue }
        CardPacket(nonce: asked.nonce, card: forged).write(to: &bytes)
        _ = pair.receive(bytes, now: now)
      }
      if let doubt = pair.attempt.popDoubt() { told[tenth] = doubt }
    }
    #expect(told == [17: .identityMismatch(expected: known.id, found: forged.id)])
    #expect(pair.attempt.failure() == .versionMismatch(lowest: 9, highest: 9))
  }

  @Test(arguments: [50, 200, 600] as [Int64])
  func `a forged card from near by is told of to nobody where the right one comes`(
    roundTrip: Int64
  ) throws {
    let end = try Self.pinnedAttempt(roundTrip: roundTrip, isGivenRight: true, forgerAt: 10)
    #expect(end.told == nil && end.isEstablished)
  }

  /// The forger answers CARD_REQUEST first, with an identity of its own, and stays silent then.
  @Test(arguments: [true, false]) func `a forged card is tried and given up`(isPinned: Bool) throws
  {
    var pair = try Pair()
    var forger = LocalIdentity(
      kind: .rendezvous, unixSeconds: Self.unixSeconds, random: &pair.random)
    let forgedCard = try forger.makeCard(unixSeconds: Self.unixSeconds)
    pair.attempt = RegistrationAttempt(
      RegistrationRequest(card: pair.ownCard, name: nil, presence: .unnamed),
      expected: ExpectedServer(id: isPinned ? pair.serverCard.id : nil), card: nil, now: Self.now)
    let request = pair.initiation(now: Self.now)
    var reader = ByteReader(request.span)
    let nonce = try CardRequestPacket(parsing: &reader).nonce
    for card in [forgedCard, pair.serverCard] {
      var bytes: [UInt8] = []
      CardPacket(nonce: nonce, card: card).write(to: &bytes)
      guard case .refused = pair.receive(bytes) else { continue }
      Issue.record("a CARD ended the attempt")
    }
    var isEstablished = false
    for step in 0..<10 where !isEstablished {
      let initiation = pair.initiation(now: Self.now + .milliseconds(200) * step)
      guard !initiation.isEmpty else { continue }
      let answer = pair.answer(initiation)
      guard !answer.isEmpty, case .established = pair.receive(answer) else { continue }
      isEstablished = true
    }
    #expect(isEstablished)
  }
}
