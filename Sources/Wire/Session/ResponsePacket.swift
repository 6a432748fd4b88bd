package import Primitives

/// RESP, 0xC2 (docs/protocol/session.md §2):
///
///     0 type, version, suite, purpose   8 initiator's connection ID   168 MAC1 (16)
///     4 responder's connection ID      12 Noise message 2 (156)       184 zero (16)
package struct ResponsePacket: Equatable, Sendable {
  package static let byteCount = 200
  package static let noiseRange = 12..<168
  package static let mac1Coverage = 0..<168

  package var purpose: HandshakePurpose
  package var responder: ConnectionID
  package var initiator: ConnectionID
  package var mac1: Bytes16

  /// Everything but the Noise message, which stays where it is, at `noiseRange`.
  @_lifetime(reader: copy reader)
  package init(parsing reader: inout ByteReader) throws(WireError) {
    let preamble = try PacketPreamble(parsing: &reader, type: .response, byteCount: Self.byteCount)
    try preamble.expectOurs()
    guard let purpose = HandshakePurpose(rawValue: preamble.purpose) else {
      throw .invalid("purpose", at: 3)
    }
    self.purpose = purpose
    responder = try ConnectionID(parsing: &reader, "responder's connection ID")
    initiator = try ConnectionID(parsing: &reader, "initiator's connection ID")
    guard responder != .none else { throw .invalid("responder's connection ID", at: 4) }
    _ = try reader.readRange(Self.noiseRange.count, "Noise message 2")
    mac1 = try Bytes16(parsing: &reader, "MAC1")
    try reader.readZeros(16, "end of RESP")
  }

  /// Everything before MAC1; the caller appends MAC1 and 16 zero bytes.
  package static func unauthenticated(
    purpose: HandshakePurpose, responder: ConnectionID, initiator: ConnectionID,
    noiseMessage: [UInt8]
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(byteCount)
    PacketPreamble(purpose: purpose.rawValue).write(to: &bytes, type: .response)
    responder.write(to: &bytes)
    initiator.write(to: &bytes)
    bytes.append(contentsOf: noiseMessage)
    return bytes
  }

  /// Appends MAC1 and the zero bytes at the end.
  package static func complete(_ bytes: inout [UInt8], mac1: Bytes16) {
    bytes.append(mac1)
    bytes.append(zeros: 16)
  }
}

/// What became of a registration, and of the name that was asked for (docs/protocol/session.md §2).
package enum RegistrationStatus: UInt8, Sendable, BitwiseCopyable {
  case noNameAskedFor = 0
  case nameGranted = 1
  case nameTaken = 2
  case nameMalformed = 3
  case notAllowed = 4
  /// The identity, its address or the server has as many names as it may; the session stands.
  case noMoreNames = 5
  /// A card with a higher serial is known.
  case superseded = 6
  /// The server, or the initiator's address, has as many sessions as it may.
  case full = 7
  /// The card is not valid yet, or no more, by the server's clock.
  case wrongClock = 8
  /// As many programs of the identity are registered as may be.
  case tooManyPrograms = 9
  /// The card claims a name that is not the identity's.
  case nameOnCard = 10
  /// Only holders of an access token may register, and none came.
  case tokenNeeded = 11
  /// The access token is not accepted.
  case tokenRefused = 12

  /// Whether no session was made.
  package var isRefusal: Bool {
    switch self {
    case .notAllowed, .superseded, .full, .wrongClock, .tooManyPrograms, .nameOnCard, .tokenNeeded,
      .tokenRefused:
      true
    case .noNameAskedFor, .nameGranted, .nameTaken, .nameMalformed, .noMoreNames: false
    }
  }
}

/// What a RESP says under seal (docs/protocol/session.md §2), always 108 bytes.
package struct ResponsePayload: Equatable, Sendable {
  package static let byteCount = 108

  package var responder: ConnectionID
  package var initiator: ConnectionID
  /// Milliseconds since 1970 UTC.
  package var serverTime: UInt64
  /// How often the responder has been started.
  package var boot: UInt64
  /// The initiator's address as the responder sees it.
  package var seenAddress: SocketAddress
  /// Session life in seconds.
  package var life: UInt32
  /// Longest time between the initiator's packets, in seconds.
  package var period: UInt16
  package var resetToken: Bytes16
  package var status: RegistrationStatus
  /// With `superseded` the highest serial known, else 0.
  package var knownSerial: UInt64
  /// What is the matter with the access token; `nil` unless `tokenRefused`.
  package var tokenFault: TokenFault?
  /// How long the access token lasts, in ms; 0 where none is needed, and with a refusal.
  package var tokenLife: UInt32
  /// Whether only the initiator's AUDIENCE learns of the session, as it asked.
  package var isForAudience: Bool
  /// Whether the responder may name relays for pairs, to an initiator that asked.
  package var hasPairs: Bool
  /// Whether it is a relay that passes CHANNEL_DATA on, to an initiator that understands it.
  package var hasChannelData: Bool
  /// Whether it is a relay that says CHANNEL_UNSENT, to an initiator that understands it.
  package var hasUnsentCounts: Bool

  package init(
    responder: ConnectionID, initiator: ConnectionID, seenAddress: SocketAddress,
    terms: SessionTerms
  ) {
    self.responder = responder
    self.initiator = initiator
    self.seenAddress = seenAddress
    serverTime = terms.serverTime
    boot = terms.boot
    life = terms.life
    period = terms.period
    resetToken = terms.resetToken
    status = terms.status
    knownSerial = terms.knownSerial
    tokenFault = terms.tokenFault
    tokenLife = terms.tokenLife
    isForAudience = terms.isForAudience
    hasPairs = terms.hasPairs
    hasChannelData = terms.hasChannelData
    hasUnsentCounts = terms.hasUnsentCounts
  }

  @_lifetime(reader: copy reader)
  package init(parsing reader: inout ByteReader) throws(WireError) {
    guard reader.remaining == Self.byteCount else { throw .invalid("payload length", at: 0) }
    responder = try ConnectionID(parsing: &reader, "responder's connection ID")
    initiator = try ConnectionID(parsing: &reader, "initiator's connection ID")
    serverTime = try reader.readUInt64("server time")
    boot = try reader.readUInt64("boot counter")
    seenAddress = try SocketAddress(parsing: &reader)
    life = try reader.readUInt32("session life")
    period = try reader.readUInt16("period")
    resetToken = try Bytes16(parsing: &reader, "reset token")
    let at = reader.offset
    guard let status = RegistrationStatus(rawValue: try reader.readUInt8("status")) else {
      throw .invalid("status", at: at)
    }
    self.status = status
    knownSerial = try reader.readUInt64("known serial")
    guard status == .superseded || knownSerial == 0 else {
      throw .invalid("known serial", at: at + 1)
    }
    tokenFault = try Self.readTokenFault(&reader, status)
    tokenLife = try reader.readUInt32("token life")
    guard tokenLife == 0 || !status.isRefusal else { throw .invalid("token life", at: at + 10) }
    let flag = try reader.readUInt8("audience")
    guard flag <= (status.isRefusal ? 0 : 1) else { throw .invalid("audience", at: at + 14) }
    isForAudience = flag == 1
    let pairs = try reader.readUInt8("pairs")
    guard pairs <= (status.isRefusal ? 0 : 7) else { throw .invalid("pairs", at: at + 15) }
    hasPairs = pairs & 1 != 0
    hasChannelData = pairs & 2 != 0
    hasUnsentCounts = pairs & 4 != 0
    try reader.readZeros(27, "end of payload")
  }

  @_lifetime(reader: copy reader)
  private static func readTokenFault(
    _ reader: inout ByteReader, _ status: RegistrationStatus
  ) throws(WireError) -> TokenFault? {
    let at = reader.offset
    let code = try reader.readUInt8("token fault")
    let fault = TokenFault(rawValue: code)
    guard status == .tokenRefused ? fault != nil : code == 0 else {
      throw .invalid("token fault", at: at)
    }
    return fault
  }

  package func write(to bytes: inout [UInt8]) {
    responder.write(to: &bytes)
    initiator.write(to: &bytes)
    bytes.append(littleEndian: serverTime)
    bytes.append(littleEndian: boot)
    seenAddress.write(to: &bytes)
    bytes.append(littleEndian: life)
    bytes.append(littleEndian: period)
    bytes.append(resetToken)
    bytes.append(status.rawValue)
    bytes.append(littleEndian: knownSerial)
    bytes.append(tokenFault?.rawValue ?? 0)
    bytes.append(littleEndian: tokenLife)
    bytes.append(isForAudience ? 1 : 0)
    bytes.append((hasPairs ? 1 : 0) | (hasChannelData ? 2 : 0) | (hasUnsentCounts ? 4 : 0))
    bytes.append(zeros: 27)
  }
}

/// The part of RESP that the responder decides (docs/protocol/session.md §2).
package struct SessionTerms: Equatable, Sendable {
  /// Milliseconds since 1970 UTC.
  package var serverTime: UInt64
  package var boot: UInt64
  /// Session life in seconds.
  package var life: UInt32
  /// Longest time between the initiator's packets, in seconds.
  package var period: UInt16
  package var resetToken: Bytes16
  package var status: RegistrationStatus
  /// With `superseded` the highest serial known, else 0.
  package var knownSerial: UInt64
  /// What is the matter with the access token; `nil` unless `tokenRefused`.
  package var tokenFault: TokenFault?
  /// How long the access token lasts, in ms; 0 where none is needed, and with a refusal.
  package var tokenLife: UInt32
  /// Whether only the initiator's AUDIENCE learns of the session, as it asked.
  package var isForAudience: Bool
  /// Whether the responder may name relays for pairs, to an initiator that asked.
  package var hasPairs: Bool
  /// Whether it is a relay that passes CHANNEL_DATA on, to an initiator that understands it.
  package var hasChannelData: Bool
  /// Whether it is a relay that says CHANNEL_UNSENT, to an initiator that understands it.
  package var hasUnsentCounts: Bool

  package init(
    serverTime: UInt64, boot: UInt64, life: UInt32 = 3600, period: UInt16 = 20,
    resetToken: Bytes16, status: RegistrationStatus, knownSerial: UInt64 = 0,
    tokenFault: TokenFault? = nil, tokenLife: UInt32 = 0, isForAudience: Bool = false,
    hasPairs: Bool = false, hasChannelData: Bool = false, hasUnsentCounts: Bool = false
  ) {
    self.hasChannelData = hasChannelData
    self.hasUnsentCounts = hasUnsentCounts
    self.isForAudience = isForAudience
    self.hasPairs = hasPairs
    self.knownSerial = knownSerial
    self.tokenFault = tokenFault
    self.tokenLife = tokenLife
    self.serverTime = serverTime
    self.boot = boot
    self.life = life
    self.period = period
    self.resetToken = resetToken
    self.status = status
  }
}
