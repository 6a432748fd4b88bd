package import Primitives

/// COOKIE, 0xC3 (docs/protocol/session.md §3): preamble, initiator's connection ID 4, nonce 24,
/// sealed cookie 32.
package struct CookiePacket: Equatable, Sendable {
  package static let byteCount = 64
  package static let nonceByteCount = 24
  package static let sealedByteCount = 32

  package var initiator: ConnectionID
  package var nonce: [UInt8]
  package var sealedCookie: [UInt8]

  package init(initiator: ConnectionID, nonce: [UInt8], sealedCookie: [UInt8]) {
    self.initiator = initiator
    self.nonce = nonce
    self.sealedCookie = sealedCookie
  }

  @_lifetime(reader: copy reader)
  package init(parsing reader: inout ByteReader) throws(WireError) {
    let preamble = try PacketPreamble(parsing: &reader, type: .cookie, byteCount: Self.byteCount)
    try preamble.expectOurs()
    initiator = try ConnectionID(parsing: &reader, "initiator's connection ID")
    nonce = try reader.readBytes(Self.nonceByteCount, "nonce")
    sealedCookie = try reader.readBytes(Self.sealedByteCount, "sealed cookie")
  }

  package func write(to bytes: inout [UInt8], purpose: UInt8) {
    PacketPreamble(purpose: purpose).write(to: &bytes, type: .cookie)
    initiator.write(to: &bytes)
    bytes.append(contentsOf: nonce)
    bytes.append(contentsOf: sealedCookie)
  }
}

/// RESET, 0xC4 (docs/protocol/session.md §8): preamble, connection ID answered 4, token 16,
/// random 16.
package struct ResetPacket: Equatable, Sendable {
  package static let byteCount = 40

  package var answered: ConnectionID
  package var token: Bytes16
  package var padding: Bytes16

  package init(answered: ConnectionID, token: Bytes16, padding: Bytes16) {
    self.answered = answered
    self.token = token
    self.padding = padding
  }

  @_lifetime(reader: copy reader)
  package init(parsing reader: inout ByteReader) throws(WireError) {
    let preamble = try PacketPreamble(parsing: &reader, type: .reset, byteCount: Self.byteCount)
    try preamble.expectOurs()
    guard preamble.purpose == 0 else { throw .invalid("purpose", at: 3) }
    answered = try ConnectionID(parsing: &reader, "connection ID")
    token = try Bytes16(parsing: &reader, "token")
    padding = try Bytes16(parsing: &reader, "random")
  }

  package func write(to bytes: inout [UInt8]) {
    PacketPreamble().write(to: &bytes, type: .reset)
    answered.write(to: &bytes)
    bytes.append(token)
    bytes.append(padding)
  }
}

/// VERSION, 0xC5 (docs/protocol/session.md §4): preamble, initiator's connection ID 4, lowest and
/// highest version 1 each, zero 6.
package struct VersionPacket: Equatable, Sendable {
  package static let byteCount = 16

  package var initiator: ConnectionID
  package var lowest: UInt8
  package var highest: UInt8

  package init(
    initiator: ConnectionID, lowest: UInt8 = SessionWire.version,
    highest: UInt8 = SessionWire.version
  ) {
    self.initiator = initiator
    self.lowest = lowest
    self.highest = highest
  }

  /// Of any version: that is its point.
  @_lifetime(reader: copy reader)
  package init(parsing reader: inout ByteReader) throws(WireError) {
    _ = try PacketPreamble(parsing: &reader, type: .version, byteCount: Self.byteCount)
    initiator = try ConnectionID(parsing: &reader, "initiator's connection ID")
    let at = reader.offset
    lowest = try reader.readUInt8("lowest version")
    highest = try reader.readUInt8("highest version")
    guard lowest <= highest else { throw .invalid("version range", at: at) }
    try reader.readZeros(6, "end of VERSION")
  }

  package func write(to bytes: inout [UInt8]) {
    PacketPreamble().write(to: &bytes, type: .version)
    initiator.write(to: &bytes)
    bytes.append(lowest)
    bytes.append(highest)
    bytes.append(zeros: 6)
  }
}

/// CARD_REQUEST, 0xC6 (docs/protocol/session.md §4): type, version, zero 2, nonce 8, zero to 512.
package struct CardRequestPacket: Equatable, Sendable {
  package static let byteCount = 512

  package var nonce: UInt64

  package init(nonce: UInt64) { self.nonce = nonce }

  @_lifetime(reader: copy reader)
  package init(parsing reader: inout ByteReader) throws(WireError) {
    let preamble = try PacketPreamble(
      parsing: &reader, type: .cardRequest, byteCount: Self.byteCount)
    try preamble.expectOfCard()
    nonce = try reader.readUInt64("nonce")
    try reader.readZeros(Self.byteCount - 12, "end of CARD_REQUEST")
  }

  package func write(to bytes: inout [UInt8]) {
    let start = bytes.count
    PacketPreamble(suite: 0).write(to: &bytes, type: .cardRequest)
    bytes.append(littleEndian: nonce)
    bytes.append(zeros: start + Self.byteCount - bytes.count)
  }
}

/// CARD, 0xC7 (docs/protocol/session.md §4): type, version, zero 2, the request's nonce 8,
/// length 2, card.
package struct CardPacket: Equatable, Sendable {
  package static let byteCounts =
    (14 + ContactCard.minimumByteCount)...(14 + ContactCard.maximumByteCount)

  package var nonce: UInt64
  package var card: ContactCard

  package init(nonce: UInt64, card: ContactCard) {
    self.nonce = nonce
    self.card = card
  }

  @_lifetime(reader: copy reader)
  package init(parsing reader: inout ByteReader) throws(WireError) {
    let preamble = try PacketPreamble(
      parsing: &reader, type: .card, byteCount: reader.remaining)
    try preamble.expectOfCard()
    nonce = try reader.readUInt64("nonce")
    let length = Int(try reader.readUInt16("card length"))
    guard length <= ContactCard.maximumByteCount else {
      throw WireError(.tooLong, "card length", at: 12)
    }
    card = try ContactCard(parsing: try reader.readBytes(length, "card"))
    try reader.expectEnd("CARD")
  }

  package func write(to bytes: inout [UInt8]) {
    PacketPreamble(suite: 0).write(to: &bytes, type: .card)
    bytes.append(littleEndian: nonce)
    bytes.append(littleEndian: UInt16(clamping: card.bytes.count))
    bytes.append(contentsOf: card.bytes)
  }
}
