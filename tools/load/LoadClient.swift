import Cryptography
import Primitives
import SecureSession
import Wire

/// One registered client, as small as it can be.
struct LoadClient {
  let id: PeerID
  let socket: Int
  let connection: ConnectionID
  private var remote = ConnectionID.none
  private var sendKeys: PacketKeys?
  private var receiveKeys: PacketKeys?
  private var sendNumber: UInt32 = 0
  private var sequence: UInt32 = 0
  /// When the request under way was sent.
  var sentAt = Instant.zero
  /// Message bytes received, for CREDIT.
  private var receivedByteCount: UInt32 = 0

  init(id: PeerID, socket: Int, connection: ConnectionID) {
    self.id = id
    self.socket = socket
    self.connection = connection
  }

  /// The same client at a server that has its keys from a file: `BesideServer`.
  init(_ client: LoadClient, remote: ConnectionID, sendKeys: PacketKeys, receiveKeys: PacketKeys) {
    self.init(id: client.id, socket: client.socket, connection: client.connection)
    self.remote = remote
    self.sendKeys = sendKeys
    self.receiveKeys = receiveKeys
  }

  var isRegistered: Bool { sendKeys != nil }

  mutating func start(_ split: borrowing SplitKeys, remote: ConnectionID) {
    sendKeys = Self.keys(split.initiatorToResponder)
    receiveKeys = Self.keys(split.responderToInitiator)
    self.remote = remote
  }

  private static func keys(_ key: borrowing SecretKey) -> PacketKeys {
    PacketKeys(aead: key.derive("EST1keys", 1), header: key.derive("EST1keys", 2))
  }

  @_lifetime(packet: copy packet)
  private mutating func seal(_ packet: inout OutputSpan<UInt8>) {
    do throws(CryptographyError) {
      try sendKeys?.seal(&packet, connectionID: remote.rawValue, number: sendNumber)
    } catch {
      preconditionFailure("room for the tag")
    }
    sendNumber &+= 1
  }

  @_lifetime(packet: copy packet)
  mutating func writePing(into packet: inout OutputSpan<UInt8>) {
    packet.append(zeros: SealedPacket.headerByteCount)
    PingFrame(token: 1).write(to: &packet)
    seal(&packet)
  }

  @_lifetime(packet: copy packet)
  mutating func writeLookUp(_ target: PeerID, into packet: inout OutputSpan<UInt8>) {
    packet.append(zeros: SealedPacket.headerByteCount)
    let message = RendezvousMessage.lookUp(LookUp(request: sequence, target: .id(target))).bytes
    MessageFrame(
      stream: .rendezvous, sequence: sequence, fragmentIndex: 0, fragmentCount: 1
    ).write(message.span, to: &packet)
    sequence &+= 1
    seal(&packet)
  }

  /// What a client owes within 20 ms of a MSG: FEEDBACK, and CREDIT for what it has read.
  @_lifetime(packet: copy packet)
  mutating func writeFeedback(
    _ number: UInt32, into packet: inout OutputSpan<UInt8>, now: Instant
  ) {
    packet.append(zeros: SealedPacket.headerByteCount)
    FeedbackHeader(
      epoch: 0, largest: number,
      arrival: UInt32(truncatingIfNeeded: now.nanoseconds / FeedbackHeader.nanosecondsPerTick),
      delay: 0, count: 1, hasMarks: false
    ).write(to: &packet)
    CreditFrame(total: 32_768 &+ receivedByteCount).write(to: &packet)
    seal(&packet)
  }

  /// What LOOKUP_RESULT has besides the card: type, request, status, length.
  static let resultByteCount = 8

  enum Answer { case pong, result(number: UInt32, byteCount: Int), other }

  /// Opens a packet; what it answers.
  @_lifetime(bytes: copy bytes)
  mutating func open(_ bytes: inout MutableSpan<UInt8>) -> Answer? {
    guard let receiveKeys else { return nil }
    do {
      let number = try receiveKeys.unmask(&bytes)
      let range = try receiveKeys.open(&bytes, number: number)
      var reader = FrameReader(bytes.span.extracting(range))
      while let frame = try reader.next() {
        switch frame {
        case .pong: return .pong
        case .message(_, let range):
          receivedByteCount &+= UInt32(range.count)
          return .result(number: number, byteCount: range.count)
        default: break
        }
      }
      return .other
    } catch {
      return nil
    }
  }
}

/// A handshake under way.
struct LoadHandshake: ~Copyable {
  /// `nil` after the answer.
  private var state: HandshakeState?
  let id: PeerID
  let initiation: [UInt8]

  init(
    to server: ContactCard, connection: ConnectionID, unixMilliseconds: UInt64,
    random: inout RandomSource
  ) throws {
    let seconds = unixMilliseconds / 1000
    var identity = LocalIdentity(kind: .peer, unixSeconds: seconds, random: &random)
    let card = try identity.makeCard(unixSeconds: seconds)
    var payload: [UInt8] = []
    InitPayload(time: TAI64N(unixMilliseconds: unixMilliseconds), card: card).write(to: &payload)
    var state = try HandshakeState(
      HandshakeContext(purpose: .register, connectionID: connection, responder: server.id),
      role: .initiator, localStatic: identity.staticKey, remoteStatic: server.staticKey)
    let message = try state.writeMessage(payload: payload.span, random: &random)
    var bytes = InitPacket.unauthenticated(
      purpose: .register, connectionID: connection, noiseMessage: message)
    bytes += Self.mac1(bytes, server.staticKey).bytes
    id = identity.id
    self.state = consume state
    initiation = bytes + Array(repeating: 0, count: 16)
  }

  mutating func finish(_ bytes: Span<UInt8>, client: inout LoadClient) {
    var reader = ByteReader(bytes)
    do {
      let packet = try ResponsePacket(parsing: &reader)
      guard var state = state.take() else { return }
      _ = try state.readMessage(bytes.extracting(ResponsePacket.noiseRange))
      guard let split = state.split() else { return }
      client.start(split, remote: packet.responder)
    } catch {
      return
    }
  }

  private static func mac1(_ bytes: [UInt8], _ staticKey: Bytes32) -> Bytes16 {
    var key = BLAKE2b(byteCount: 32)
    key.update(Array("EST1mac1".utf8).span)
    key.update(staticKey.span)
    var hash = BLAKE2b(byteCount: 16, key: key.finalize32().span)
    hash.update(bytes.span)
    return hash.finalize16()
  }
}
