import Congestion
import Cryptography
import Messaging
import Primitives
import Rendezvous
import SecureSession
import Wire

/// A client as the protocol pages describe it, put together from the parts that peers use.
final class TestClient {
  private(set) var identity: LocalIdentity
  private(set) var card: ContactCard
  var presence = Presence.unnamed
  /// The access token of its next INIT.
  var token: String?
  var abilities: ClientAbilities = []
  /// Of its name: the last one that came, or what a test shows instead.
  var receipt: OpaqueReceipt?
  var address: SocketAddress
  var random: RandomSource

  private(set) var response: ResponsePayload?
  private var handshake: HandshakeState?
  private var connection = ConnectionID.none
  private var sendKeys: PacketKeys?
  private var receiveKeys: PacketKeys?
  private(set) var sendNumber: UInt32 = 0

  var channel = MessageChannel(limits: .rendezvous)
  var recorder = FeedbackRecorder()
  var history = SentPacketHistory(capacity: 256)

  /// What has come, in order.
  var messages: [RendezvousMessage] = []
  var delivered: [MessageTag] = []
  var failed: [MessageTag] = []
  var pongs: [PongFrame] = []
  var echoes: [EchoFrame] = []
  var challenges: [PathChallengeFrame] = []
  var pathResponses: [PathResponseFrame] = []
  var closes: [CloseCode] = []
  /// Frames of a relay, and the packets that they were in.
  var channelFrames: [(frame: Frame, packet: [UInt8])] = []
  var cookie: [UInt8]?
  var cards: [ContactCard] = []
  var resetToken: Bytes16?
  /// Numbers of sealed packets that were opened, to see that none comes twice.
  var numbers: [UInt32] = []

  var id: PeerID { identity.id }
  var isRegistered: Bool { sendKeys != nil }

  init(_ number: UInt64, _ address: SocketAddress? = nil) {
    var random = RandomSource(seed: number)
    var identity = LocalIdentity(kind: .peer, unixSeconds: Server.unixSeconds, random: &random)
    guard let card = try? identity.makeCard(unixSeconds: Server.unixSeconds) else {
      preconditionFailure("a card without a home always fits")
    }
    self.identity = identity
    self.card = card
    self.random = random
    self.address =
      address
      ?? SocketAddress(
        v4: 10, UInt8(number >> 16 & 255), UInt8(number >> 8 & 255), UInt8(number & 255),
        port: 4000)
  }

  /// Another card of the same key, as by a clock that shows `unixSeconds`.
  func renewCard(unixSeconds: UInt64) {
    if let fresh = try? identity.makeCard(unixSeconds: unixSeconds) { card = fresh }
  }

  /// A card that says a name, granted or not; `nil` = a card without one.
  func claim(_ name: String?) {
    let made = try? identity.makeCard(
      name: name.flatMap { PeerName($0) }, unixSeconds: Server.unixSeconds)
    if let made { card = made }
  }

  /// A random device key in place of the one before, and a card for it.
  func replaceKey(unixSeconds: UInt64) {
    identity.replaceStaticKey(unixSeconds: unixSeconds, random: &random)
    renewCard(unixSeconds: unixSeconds)
  }

  /// The next device key, if it is due, and a card for it.
  func stepKey(unixSeconds: UInt64) -> Bool {
    defer { renewCard(unixSeconds: unixSeconds) }
    return identity.rotateIfDue(unixSeconds: unixSeconds, random: &random)
  }

  /// Another identity, made by a clock that shows `unixSeconds`.
  func renewIdentity(unixSeconds: UInt64) {
    identity = LocalIdentity(kind: .peer, unixSeconds: unixSeconds, random: &random)
    renewCard(unixSeconds: unixSeconds)
  }

  // MARK: - Handshake

  /// A fresh INIT; forgets the session before.
  func initiation(
    to server: ContactCard, name: String? = nil, milliseconds: UInt64 = Server.unixSeconds * 1000,
    purpose: HandshakePurpose = .register
  ) -> [UInt8] {
    connection = ConnectionID(random: &random)
    sendKeys = nil
    receiveKeys = nil
    let context = HandshakeContext(
      purpose: purpose, connectionID: connection, responder: server.id)
    var payload: [UInt8] = []
    InitPayload(
      time: TAI64N(unixMilliseconds: milliseconds), card: card,
      name: name.flatMap { PeerName($0) }, token: token.map { Array($0.utf8) },
      presence: presence, abilities: abilities, receipt: receipt
    ).write(to: &payload)
    guard
      var handshake = try? HandshakeState(
        context, role: .initiator, localStatic: identity.staticKey,
        remoteStatic: server.staticKey),
      let message = try? handshake.writeMessage(payload: payload.span, random: &random)
    else { preconditionFailure("the first message can always be written") }
    self.handshake = consume handshake
    var bytes = InitPacket.unauthenticated(
      purpose: purpose, connectionID: connection, noiseMessage: message)
    bytes += Self.mac(Self.derive("EST1mac1", server.staticKey).span, bytes.span).bytes
    return bytes + Array(repeating: 0, count: 16)
  }

  /// Cookies for INITs that no client stands behind.
  struct Prover {
    private let key: Bytes32

    init(to server: ContactCard) { key = derive("EST1cook", server.staticKey) }

    func cookie(in datagram: [UInt8], for initiation: [UInt8]) -> [UInt8]? {
      var reader = ByteReader(datagram.span)
      guard let packet = try? CookiePacket(parsing: &reader),
        let key = SecretKey(copying: key.span)
      else { return nil }
      return try? XChaChaPoly.open(
        packet.sealedCookie.span, associated: Array(initiation[InitPacket.mac1Range]).span,
        key: key, nonce: packet.nonce.span)
    }

    func prove(_ initiation: [UInt8], _ cookie: [UInt8]) -> [UInt8] {
      let bytes = Array(initiation.prefix(InitPacket.mac2Range.lowerBound))
      return bytes + mac(cookie.span, bytes.span).bytes
    }
  }

  /// An INIT whose MAC1 is right and whose payload is junk: `salt` makes each another one.
  static func junkInitiation(to server: ContactCard, salt: UInt64) -> [UInt8] {
    var bytes = InitPacket.unauthenticated(
      purpose: .register,
      connectionID: ConnectionID(rawValue: UInt32(truncatingIfNeeded: salt) | 1),
      noiseMessage: [UInt8](repeating: 9, count: InitPacket.noiseRange.count))
    bytes += mac(derive("EST1mac1", server.staticKey).span, bytes.span).bytes
    return bytes + Array(repeating: 0, count: 16)
  }

  /// The same INIT with MAC2 from the cookie that came.
  func proven(_ initiation: [UInt8], to server: ContactCard) -> [UInt8] {
    guard let cookie else { return initiation }
    let bytes = Array(initiation.prefix(InitPacket.mac2Range.lowerBound))
    return bytes + Self.mac(cookie.span, bytes.span).bytes
  }

  private func finish(_ bytes: [UInt8]) {
    var reader = ByteReader(bytes.span)
    guard let packet = try? ResponsePacket(parsing: &reader), packet.initiator == connection,
      var handshake = handshake.take(),
      let plain = try? handshake.readMessage(bytes.span.extracting(ResponsePacket.noiseRange))
    else { return }
    var payloadReader = ByteReader(plain.span)
    guard let payload = try? ResponsePayload(parsing: &payloadReader),
      payload.responder == packet.responder, payload.initiator == connection
    else { return }
    response = payload
    guard !payload.status.isRefusal, let split = handshake.split() else { return }
    sendKeys = Self.keys(split.initiatorToResponder)
    receiveKeys = Self.keys(split.responderToInitiator)
    sendNumber = 0
    channel = MessageChannel(limits: .rendezvous)
    recorder = FeedbackRecorder()
    history = SentPacketHistory(capacity: 256)
    numbers = []
  }

  // MARK: - Packets

  /// A sealed packet with the frames that `write` writes.
  func seal(number: UInt32? = nil, _ write: (inout OutputSpan<UInt8>) -> Void) -> [UInt8] {
    guard let sendKeys, let response else { preconditionFailure("not registered") }
    let number = number ?? sendNumber
    sendNumber = max(sendNumber, number) + 1
    var bytes: [UInt8] = []
    bytes.append(addingCapacity: Datagram.maximumByteCount) { packet in
      packet.append(zeros: SealedPacket.headerByteCount)
      write(&packet)
      do {
        try sendKeys.seal(
          &packet, connectionID: response.responder.rawValue, number: number)
      } catch {
        preconditionFailure("room for the tag")
      }
    }
    return bytes
  }

  func ping(token: UInt64 = 7) -> [UInt8] {
    seal { PingFrame(token: token).write(to: &$0) }
  }

  func request(_ message: RendezvousMessage, now: Instant) {
    _ = try? channel.send(message.bytes, on: .rendezvous, life: .seconds(8), now: now)
  }

  /// Packets that are due: feedback, credit, messages.
  func flush(now: Instant) -> [[UInt8]] {
    guard isRegistered else { return [] }
    channel.handleTimeout(now: now)
    history.handleTimeout(now: now)
    pollHistory()
    var packets: [[UInt8]] = []
    while packets.count < 64, channel.hasFramesToSend || recorder.isDue(now: now) {
      var hasMessages = false
      let number = UInt64(sendNumber)
      let bytes = seal { packet in
        if recorder.hasUnreported {
          _ = recorder.writeReport(into: &packet, room: 300, now: now)
          if let credit = channel.takeCredit() { credit.write(to: &packet) }
        }
        hasMessages = channel.writeFrames(into: &packet, room: packet.freeCapacity - 16)
      }
      if hasMessages { channel.didSend(number, now: now) }
      history.record(
        SentPacket(
          number: number, sent: now, byteCount: bytes.count, elicitsFeedback: hasMessages,
          hasMessages: hasMessages))
      packets.append(bytes)
    }
    return packets
  }

  var nextDeadline: Instant? {
    earliest(
      channel.hasFramesToSend ? .zero : channel.nextDeadline,
      earliest(recorder.nextDeadline, history.nextDeadline))
  }

  func handle(_ datagram: [UInt8], now: Instant) {
    switch Demultiplexer.classify(datagram.span) {
    case .control(.response): finish(datagram)
    case .control(.cookie): cookie = openCookie(datagram)
    case .control(.card):
      var reader = ByteReader(datagram.span)
      if let packet = try? CardPacket(parsing: &reader) { cards.append(packet.card) }
    case .control(.reset):
      var reader = ByteReader(datagram.span)
      resetToken = try? ResetPacket(parsing: &reader).token
    case .sealed(connection): open(datagram, now: now)
    default: break
    }
  }

  private func open(_ datagram: [UInt8], now: Instant) {
    var bytes = datagram
    var span = bytes.mutableSpan
    guard let receiveKeys, let number = try? receiveKeys.unmask(&span),
      let range = try? receiveKeys.open(&span, number: number)
    else { return }
    numbers.append(number)
    let frames = Array(bytes[range])
    var reader = FrameReader(frames.span)
    var demand = FeedbackDemand.none
    while let frame = try? reader.next() {
      demand = max(demand, frame.demand)
      handle(frame, in: frames, now: now)
    }
    recorder.record(
      UInt64(number), at: now, isCongestionExperienced: false, demand: demand)
    while let event = channel.poll() {
      switch event {
      case .received(_, let bytes):
        if let message = try? RendezvousMessage(parsing: bytes.span) { messages.append(message) }
        if case .nameReceipt(let given) = messages.last { receipt = given.receipt }
      case .delivered(let tag): delivered.append(tag)
      case .failed(let tag): failed.append(tag)
      case .missed: break
      }
    }
  }

  private func handle(_ frame: Frame, in frames: [UInt8], now: Instant) {
    switch frame {
    case .pong(let pong): pongs.append(pong)
    case .echo(let echo): echoes.append(echo)
    case .pathChallenge(let challenge): challenges.append(challenge)
    case .pathResponse(let response): pathResponses.append(response)
    case .close(let close, _): closes.append(close.code)
    case .credit(let credit): channel.handle(credit)
    case .feedback(let feedback):
      try? history.handle(feedback, in: frames.span, now: now)
      pollHistory()
    case .channelAudio, .channelCopy, .channelSource, .channelKey, .channelCard:
      channelFrames.append((frame, frames))
    case .message(let message, let range):
      try? channel.handle(message, bytes: frames.span.bytes(at: range), now: now)
    default: break
    }
  }

  private func pollHistory() {
    while let outcome = history.poll() {
      switch outcome.fate {
      case .acknowledged, .acknowledgedLate: channel.packetAcknowledged(outcome.packet.number)
      case .lost: channel.packetLost(outcome.packet.number)
      }
    }
  }

  // MARK: - Parts

  private func openCookie(_ datagram: [UInt8]) -> [UInt8]? {
    var reader = ByteReader(datagram.span)
    guard let packet = try? CookiePacket(parsing: &reader), let mac1 = lastMAC1,
      let key = SecretKey(copying: Self.derive("EST1cook", serverKey).span)
    else { return nil }
    return try? XChaChaPoly.open(
      packet.sealedCookie.span, associated: mac1.span, key: key, nonce: packet.nonce.span)
  }

  /// Set by `Server.join`, to open cookies with.
  var lastMAC1: [UInt8]?
  var serverKey = Bytes32.zero

  private static func keys(_ key: borrowing SecretKey) -> PacketKeys {
    PacketKeys(aead: key.derive("EST1keys", 1), header: key.derive("EST1keys", 2))
  }

  private static func mac(_ key: Span<UInt8>, _ message: Span<UInt8>) -> Bytes16 {
    var hash = BLAKE2b(byteCount: 16, key: key)
    hash.update(message)
    return hash.finalize16()
  }

  private static func derive(_ label: StaticString, _ staticKey: Bytes32) -> Bytes32 {
    var hash = BLAKE2b(byteCount: 32)
    hash.update(Array(label.description.utf8).span)
    hash.update(staticKey.span)
    return hash.finalize32()
  }
}
