import Cryptography
import Primitives
import SecureSession
import Wire

/// One try to get a session with a rendezvous (docs/protocol/session.md §2-§4): its card if it is
/// not known, INIT until RESP, a cookie if it is under load. Fails after 10 s.
///
/// CARD, COOKIE and VERSION are anybody's who sees our packets: they are tried or remembered, and
/// only RESP decides. What they say is the reason of the failure if no RESP comes.
struct RegistrationAttempt: ~Copyable {
  /// What a datagram led to.
  enum Finding {
    case nothing
    /// A card that verifies, and fits the pinned ID: `handleTimeout` has something to send.
    case cardFound
    /// The list that was asked for, not checked.
    case nodes(NodeList)
    /// `takeEstablished` has the session.
    case established
    case refused(RegistrationFailure)
  }

  /// A session whose RESP verified.
  struct Established: ~Copyable {
    let keys: SessionKeys
    let local: ConnectionID
    let server: ContactCard
    let terms: ResponsePayload
    /// RESP may have been made a while ago, for an earlier copy of INIT.
    let isRepeated: Bool
    /// The access token in INIT.
    let token: [UInt8]?
    /// When INIT was made.
    let asked: Instant
  }

  private enum Timer: CaseIterable { case cardRequest, initiate, renew, doubt, fail }

  private let expected: ExpectedServer
  let request: RegistrationRequest
  /// Until when the attempt may go on where the server has answered; `nil` = it goes on so long.
  private let latestEnd: Instant?
  /// Cards that may be the server's, tried in turn; the present one is the last.
  private var cards: [ContactCard]
  /// When a handshake was last begun.
  private var renewed: Instant?
  private var handshake: HandshakeState?
  private var connectionID = ConnectionID.none
  private var initBytes: [UInt8] = []
  /// Good for 120 s (docs/protocol/session.md §3), and no attempt lasts longer than 10.
  private var cookie: Bytes16?
  private var nonce: UInt64 = 0
  /// When a card was first asked for.
  private var firstRequest: Instant?
  private var deadlines = Deadlines<Timer>()
  private var repetition = 0
  private var cardRepetition = 0
  private var sendsInit = false
  private var sendsCardRequest = false
  private var nodesRequests = RequestedNodes()
  private var established: Established?
  private var symptoms = RegistrationSymptoms()

  /// - Parameters:
  ///   - card: The server's, where it is known.
  ///   - patience: How long a server that says nothing is waited for.
  init(
    _ request: RegistrationRequest, expected: ExpectedServer, card: ContactCard?,
    patience: Duration = longest, now: Instant
  ) {
    self.request = request
    self.expected = expected
    cards = card.map { [$0] } ?? []
    latestEnd = patience < Self.longest ? now + Self.longest : nil
    deadlines.set(.fail, at: now + patience)
    deadlines.set(card == nil ? .cardRequest : .renew, at: now)
    if card != nil { deadlines.set(.cardRequest, at: now + min(Self.cardDoubted, patience / 2)) }
  }

  // MARK: - Inputs

  /// Takes a datagram of the rendezvous' address that is not DATA.
  mutating func handle(
    _ bytes: Span<UInt8>, ownStatic: borrowing X25519.KeyPair, unixSeconds: UInt64, now: Instant
  ) -> Finding {
    var reader = ByteReader(bytes)
    do throws(WireError) {
      switch Demultiplexer.classify(bytes) {
      case .control(.card):
        return handle(try CardPacket(parsing: &reader), unixSeconds: unixSeconds, now: now)
      case .control(.cookie): return handle(try CookiePacket(parsing: &reader), now: now)
      case .control(.nodes):
        let packet = try NodesPacket(parsing: &reader)
        return nodesRequests.isAnswer(packet, to: nonce) ? .nodes(packet.list) : strange()
      case .control(.version):
        return handle(try VersionPacket(parsing: &reader), now: now)
      case .control(.response):
        return handle(
          try ResponsePacket(parsing: &reader), bytes, ownStatic, unixSeconds: unixSeconds)
      case .control, .sealed, .foreign: return strange()
      }
    } catch {
      return strange()
    }
  }

  private mutating func strange() -> Finding {
    symptoms.countStrangeAnswer()
    return .nothing
  }

  private mutating func handle(
    _ packet: CardPacket, unixSeconds: UInt64, now: Instant
  ) -> Finding {
    guard packet.nonce == nonce, nonce != 0 else { return strange() }
    do throws(CardFault) {
      // Our clock may be wrong: who holds the key tells the time in RESP, and the card must hold
      // then. One from the future is none that somebody could have kept.
      try packet.card.verify(unixSeconds: packet.card.content.notBefore)
    } catch {
      return strange()
    }
    if packet.card.hasExpired(at: unixSeconds) { symptoms.sawExpiredCard = true }
    if let expectedID = expected.id, !expected.accepts(packet.card.id) {
      let mismatch = RegistrationFailure.identityMismatch(
        expected: expectedID, found: packet.card.id)
      if expected.root != nil { nodesRequests.ask() }
      symptoms.mismatch = mismatch
      recordHint(mismatch, now: now)
      if !symptoms.hasAnsweredShort, deadlines[.doubt] == nil, !symptoms.isDoubted {
        let asked = firstRequest ?? now
        // NODES, where it may come, takes as long again: it has twice the time.
        let list = expected.root == nil ? now : now + (now - asked) * 2
        deadlines.set(.doubt, at: max(list, asked + Self.doubtAfter))
      }
      return .nothing
    }
    deadlines.cancel(.cardRequest)
    deadlines.cancel(.doubt)
    stay(now: now)
    symptoms.hasAnsweredShort = true
    // What was asked for has come: INIT goes the way that was asked last.
    cardRepetition = 0
    guard !cards.contains(where: { $0.staticKey == packet.card.staticKey }),
      cards.count < Self.mostCards
    else { return .nothing }
    cards.insert(packet.card, at: 0)
    // The one that is being tried may be the right one: it has a moment for its RESP.
    deadlines.set(.renew, at: renewed.map { max(now, $0 + Self.otherCardGap) } ?? now)
    return .cardFound
  }

  /// It answers: it is waited for a while longer.
  private mutating func stay(now: Instant) {
    guard let latestEnd, let fail = deadlines[.fail] else { return }
    deadlines.set(.fail, at: min(max(fail, now + Self.answeredPatience), latestEnd))
  }

  /// Somebody says why there will be no RESP; if none comes soon, it is believed.
  private mutating func recordHint(_ hint: RegistrationFailure, now: Instant) {
    guard symptoms.recordHint(hint) else { return }
    let end = now + Self.hintPatience
    if let fail = deadlines[.fail], fail > end { deadlines.set(.fail, at: end) }
  }

  /// Why the attempt failed, or would if it ended now.
  func failure() -> RegistrationFailure { symptoms.failure(hasCookie: cookie != nil) }

  /// The list that came does not hold by our clock: the reason of the failure, if it fails.
  mutating func recordList(isOver: Bool) { symptoms.listFault = .nodesNotValid(isOver: isOver) }

  /// Whether there is somebody.
  var hasAnswer: Bool { symptoms.hasAnsweredShort || cookie != nil }
  /// What those who do not wait for the end may be told; once.
  mutating func popDoubt() -> RegistrationFailure? { symptoms.popDoubt() }

  /// Whether another attempt would fail for the same reason.
  var isFailureFinal: Bool { symptoms.hint != nil && symptoms.listFault == nil }

  private mutating func handle(_ packet: CookiePacket, now: Instant) -> Finding {
    guard packet.initiator == connectionID, let card = cards.last, initBytes.count >= 1184 else {
      return strange()
    }
    let key = Self.derive("EST1cook", card.staticKey)
    let mac1 = Array(initBytes[InitPacket.mac1Range])
    do throws(CryptographyError) {
      let plain = try XChaChaPoly.open(
        packet.sealedCookie.span, associated: mac1.span, key: key, nonce: packet.nonce.span)
      // The next repetition carries it: a COOKIE earns no INIT of its own.
      cookie = Bytes16(plain)
      complete()
      stay(now: now)
      return .nothing
    } catch {
      return strange()
    }
  }

  private mutating func handle(_ packet: VersionPacket, now: Instant) -> Finding {
    guard packet.initiator == connectionID else { return strange() }
    recordHint(.versionMismatch(lowest: packet.lowest, highest: packet.highest), now: now)
    return .nothing
  }

  private mutating func handle(
    _ packet: ResponsePacket, _ bytes: Span<UInt8>, _ ownStatic: borrowing X25519.KeyPair,
    unixSeconds: UInt64
  ) -> Finding {
    guard packet.initiator == connectionID, packet.purpose == .register,
      let card = cards.last,
      Self.mac1(over: bytes.extracting(ResponsePacket.mac1Coverage), for: ownStatic.publicKey)
        == packet.mac1,
      let payload = open(bytes.extracting(ResponsePacket.noiseRange)),
      payload.initiator == connectionID
    else { return strange() }
    // A key that was given up long ago, and a time that does not fit it either.
    if symptoms.sawExpiredCard, card.hasExpired(at: unixSeconds),
      card.hasExpired(at: payload.serverTime / 1000)
    {
      return strange()
    }
    // The clear responder's ID is anybody's; what counts is the sealed one. To refuse a RESP for
    // the clear one would end the attempt: a Noise message opens only once.
    if let refusal = payload.refusal(of: request) { return .refused(refusal) }
    // Nothing more is said: a session that is never confirmed is shown to nobody.
    let isTold = payload.isForAudience || !request.abilities.contains(.audience)
    guard isTold else { return .refused(.withoutAudience) }
    guard let split = handshake.take()?.split() else { return strange() }
    established = Established(
      keys: SessionKeys(split, role: .initiator), local: connectionID, server: card,
      terms: payload, isRepeated: repetition > 0, token: request.token,
      asked: renewed ?? .zero)
    deadlines.cancelAll()
    return .established
  }

  private mutating func open(_ message: Span<UInt8>) -> ResponsePayload? {
    do {
      guard let plain = try handshake?.readMessage(message) else { return nil }
      var reader = ByteReader(plain.span)
      return try ResponsePayload(parsing: &reader)
    } catch {
      return nil
    }
  }

  mutating func takeEstablished() -> Established? { established.take() }

  /// Does what is due; `true` when the attempt has failed.
  mutating func handleTimeout(
    identity: borrowing LocalIdentity, time: TAI64N, connectionID: ConnectionID,
    random: inout RandomSource, now: Instant
  ) -> Bool {
    while let timer = deadlines.popDue(at: now) {
      switch timer {
      case .fail: return true
      case .doubt: symptoms.doubt()
      case .cardRequest: requestCard(random: &random, now: now)
      case .renew: renew(identity, time, connectionID, random: &random, now: now)
      case .initiate: repeatInit(now: now)
      }
    }
    return false
  }

  private mutating func requestCard(random: inout RandomSource, now: Instant) {
    if nonce == 0 { nonce = random.next() | 1 }
    firstRequest = firstRequest ?? now
    sendsCardRequest = true
    if cardRepetition < Self.cardGaps.count {
      deadlines.set(.cardRequest, at: now + Self.cardGaps[cardRepetition])
      cardRepetition += 1
    }
  }

  /// A fresh ephemeral key, and INIT again from the beginning.
  private mutating func renew(
    _ identity: borrowing LocalIdentity, _ time: TAI64N, _ connectionID: ConnectionID,
    random: inout RandomSource, now: Instant
  ) {
    guard !cards.isEmpty else { return }
    if cards.count > 1 { cards.append(cards.removeFirst()) }
    let card = cards[cards.count - 1]
    (renewed, self.connectionID) = (now, connectionID)
    var payload: [UInt8] = []
    InitPayload(
      time: time, card: request.card, name: request.name, token: request.token,
      presence: request.presence, abilities: request.abilities, receipt: request.receipt,
      loudest: request.loudest
    ).write(to: &payload)
    do throws(HandshakeError) {
      var handshake = try HandshakeState(
        HandshakeContext(purpose: .register, connectionID: connectionID, responder: card.id),
        role: .initiator, localStatic: identity.staticKey, remoteStatic: card.staticKey)
      let message = try handshake.writeMessage(payload: payload.span, random: &random)
      self.handshake = consume handshake
      initBytes = InitPacket.unauthenticated(
        purpose: .register, connectionID: connectionID, noiseMessage: message)
    } catch {
      return  // A card whose key is unusable does not verify in the first place.
    }
    let mac1 = Self.mac1(over: initBytes.span, for: card.staticKey)
    initBytes.append(contentsOf: mac1.bytes)
    complete()
    sendsInit = true
    repetition = 0
    deadlines.set(.initiate, at: now + Self.initGaps[0])
    deadlines.set(.renew, at: now + (cards.count > 1 ? Self.otherCardGap : Self.renewGap))
  }

  private mutating func repeatInit(now: Instant) {
    sendsInit = true
    repetition += 1
    if repetition < Self.initGaps.count {
      deadlines.set(.initiate, at: now + Self.initGaps[repetition])
    }
  }

  /// Puts MAC2, or zeros, behind the rest.
  private mutating func complete() {
    initBytes.removeLast(initBytes.count - InitPacket.mac2Coverage.upperBound)
    var mac2 = Bytes16.zero
    if let cookie {
      var hash = BLAKE2b(byteCount: 16, key: cookie.span)
      hash.update(initBytes.span)
      mac2 = hash.finalize16()
    }
    initBytes.append(contentsOf: mac2.bytes)
  }

  /// What was sent last goes again: there is another way.
  mutating func repeatSoon(now: Instant) {
    if initBytes.isEmpty {
      sendsCardRequest = nonce != 0
    } else {
      sendsInit = true
    }
  }

  // MARK: - Outputs

  @_lifetime(packet: copy packet)
  mutating func writePacket(into packet: inout OutputSpan<UInt8>) -> Bool {
    if sendsCardRequest {
      sendsCardRequest = false
      var bytes: [UInt8] = []
      CardRequestPacket(nonce: nonce).write(to: &bytes)
      packet.append(bytes: bytes)
      return true
    }
    if let root = expected.root, nodesRequests.pop() {
      packet.append(bytes: NodesRequestPacket(nonce: nonce, root: root).bytes)
      return true
    }
    guard sendsInit, initBytes.count == InitPacket.byteCount else { return false }
    sendsInit = false
    packet.append(bytes: initBytes)
    return true
  }

  /// Whether so many packets have brought nothing: the way there may be dead. The second goes 0.3 s
  /// after the first, the third 0.9 s.
  func isUnanswered(after count: Int) -> Bool { repetition >= count || cardRepetition > count }

  /// When `handleTimeout` next has something to do.
  func wakeUp() -> Instant? { deadlines.next }

  // MARK: - Constants

  /// How long an attempt lasts at the most.
  static let longest = Duration.seconds(10)
  /// How long a server is waited for after it has answered: INIT goes again after 0.3 and 0.9 s.
  private static let answeredPatience = Duration.seconds(2)
  /// After so long without RESP the card that is known may be an old one.
  private static let cardDoubted = Duration.milliseconds(900)
  /// Cards that came for one request, and are tried.
  private static let mostCards = 4
  /// How long a card is tried while there is another.
  private static let otherCardGap = Duration.milliseconds(400)
  /// A fresh handshake after so long without RESP.
  private static let renewGap = Duration.milliseconds(4500)
  /// A card that fits comes within a round trip of its request, and another one may come before it:
  /// longer than the slowest usual line's 600 ms, and told of within a second.
  private static let doubtAfter = Duration.milliseconds(800)
  /// How long RESP may come after a hint that none will: ten times the usual, with two repetitions.
  private static let hintPatience = Duration.seconds(3)

  /// INIT again 0.3, 0.9 and 2.1 s after the first.
  private static let initGaps: [Duration] = [300, 600, 1200].map { .milliseconds($0) }
  /// CARD_REQUEST again after 0.3, 0.9, 2.1 and 4.5 s.
  private static let cardGaps: [Duration] = initGaps + [.milliseconds(2400)]
}
