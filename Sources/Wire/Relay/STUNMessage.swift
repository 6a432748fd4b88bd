package import Primitives

/// A STUN message as far as a TURN client reads it (RFC 8489 §5, §14; RFC 8656 §18). Texts and data
/// are places in the packet, not copies.
package struct STUNMessage: Equatable, Sendable {
  package let messageClass: STUNClass
  package let method: STUNMethod
  package let transactionID: STUNTransactionID
  package private(set) var errorCode: UInt16?
  /// In seconds.
  package private(set) var lifetime: UInt32?
  package private(set) var channelNumber: UInt16?
  package private(set) var mappedAddress: SocketAddress?
  package private(set) var relayedAddress: SocketAddress?
  package private(set) var peerAddress: SocketAddress?
  package private(set) var realm: Range<Int>?
  package private(set) var nonce: Range<Int>?
  package private(set) var data: Range<Int>?
  package private(set) var passwordAlgorithms: Range<Int>?
  /// Where MESSAGE-INTEGRITY begins, and its value.
  package private(set) var integrity: Integrity?
  /// The same of MESSAGE-INTEGRITY-SHA256.
  package private(set) var integritySHA256: Integrity?

  /// The place of a message authentication code.
  package struct Integrity: Equatable, Sendable {
    /// Of the attribute's header: what stands before it is authenticated.
    package let offset: Int
    package let value: Range<Int>
  }

  package init(parsing bytes: Span<UInt8>) throws(WireError) {
    var reader = ByteReader(bytes)
    let type = try reader.readUInt16("STUN type").byteSwapped
    let length = Int(try reader.readUInt16("STUN length").byteSwapped)
    guard try reader.readUInt32("STUN cookie").byteSwapped == STUNLimits.magicCookie else {
      throw .invalid("STUN cookie", at: 4)
    }
    transactionID = STUNTransactionID(
      high: try reader.readUInt32("STUN transaction").byteSwapped,
      low: try reader.readUInt64("STUN transaction").byteSwapped)
    // The two class bits stand between the bits of the method (RFC 8489 §5, figure 3).
    let classBits = UInt8(truncatingIfNeeded: type >> 4 & 1 | type >> 7 & 2)
    let methodBits = type & 0xF | type >> 1 & 0x70 | type >> 2 & 0xF80
    guard type >> 14 == 0, let messageClass = STUNClass(rawValue: classBits),
      let method = STUNMethod(rawValue: methodBits)
    else { throw .invalid("STUN type", at: 0) }
    guard length == reader.remaining, length & 3 == 0 else { throw .invalid("STUN length", at: 2) }
    self.messageClass = messageClass
    self.method = method
    while !reader.isAtEnd { try readAttribute(&reader) }
  }

  private mutating func readAttribute(_ reader: inout ByteReader) throws(WireError) {
    let start = reader.offset
    let type = try reader.readUInt16("STUN attribute").byteSwapped
    let length = Int(try reader.readUInt16("STUN attribute length").byteSwapped)
    // What follows MESSAGE-INTEGRITY is not authenticated (RFC 8489 §14.5).
    let attribute = STUNAttribute(rawValue: type)
    let isCovered = integritySHA256 == nil && integrity == nil
    let isLast = attribute == .messageIntegritySHA256 || attribute == .fingerprint
    guard let attribute, isCovered || isLast else {
      // Below 0x8000 a receiver must understand it.
      if attribute == nil, isCovered, type < 0x8000, !Self.harmless.contains(type) {
        throw .invalid("STUN attribute", at: start)
      }
      return try skip(length, &reader)
    }
    let end = reader.offset + length
    try read(attribute, length: length, from: start, &reader)
    guard reader.offset == end else { throw .invalid("STUN attribute length", at: start) }
    try skip(0, padding: length, &reader)
  }

  /// Attributes that answers may hold and that say nothing to a TURN client: MAPPED-ADDRESS,
  /// UNKNOWN-ATTRIBUTES, EVEN-PORT, DONT-FRAGMENT, RESERVATION-TOKEN.
  private static let harmless: [UInt16] = [0x0001, 0x000A, 0x0017, 0x0018, 0x001A, 0x0022]

  private func skip(
    _ count: Int, padding: Int? = nil, _ reader: inout ByteReader
  ) throws(WireError) {
    _ = try reader.readRange(count + (4 - (padding ?? count) & 3) & 3, "STUN attribute")
  }

  private mutating func read(
    _ attribute: STUNAttribute, length: Int, from start: Int, _ reader: inout ByteReader
  ) throws(WireError) {
    switch attribute {
    case .errorCode: try readErrorCode(length, &reader)
    case .lifetime:
      let value = try reader.readUInt32("LIFETIME").byteSwapped
      lifetime = lifetime ?? value
    case .channelNumber:
      let value = try reader.readUInt16("CHANNEL-NUMBER").byteSwapped
      _ = try reader.readUInt16("CHANNEL-NUMBER")
      channelNumber = channelNumber ?? value
    case .xorMappedAddress:
      let address = try readAddress(&reader)
      mappedAddress = mappedAddress ?? address
    case .xorRelayedAddress:
      let address = try readAddress(&reader)
      relayedAddress = relayedAddress ?? address
    case .xorPeerAddress:
      let address = try readAddress(&reader)
      peerAddress = peerAddress ?? address
    case .messageIntegrity, .messageIntegritySHA256:
      try readIntegrity(attribute, length: length, from: start, &reader)
    case .realm: realm = try readText(realm, length, "REALM", &reader)
    case .nonce: nonce = try readText(nonce, length, "NONCE", &reader)
    case .passwordAlgorithms:
      passwordAlgorithms = try readText(passwordAlgorithms, length, "PASSWORD-ALGORITHMS", &reader)
    case .data:
      let range = try reader.readRange(length, "DATA")
      data = data ?? range
    case .username, .requestedTransport, .passwordAlgorithm, .userHash, .fingerprint:
      _ = try reader.readRange(length, "STUN attribute")
    }
  }

  /// Class and number (RFC 8489 §14.8): 401 is 4 and 1. The reason phrase is not read.
  private mutating func readErrorCode(
    _ length: Int, _ reader: inout ByteReader
  ) throws(WireError) {
    let start = reader.offset
    let value = try reader.readUInt32("ERROR-CODE").byteSwapped
    _ = try reader.readRange(length - 4, "ERROR-CODE")
    let (hundreds, rest) = (UInt16(value >> 8 & 7), UInt16(value & 0xFF))
    guard (3...6).contains(hundreds), rest < 100 else { throw .invalid("ERROR-CODE", at: start) }
    errorCode = errorCode ?? hundreds * 100 + rest
  }

  private mutating func readIntegrity(
    _ attribute: STUNAttribute, length: Int, from start: Int, _ reader: inout ByteReader
  ) throws(WireError) {
    let isSHA256 = attribute == .messageIntegritySHA256
    // SHA-256 may be cut short, to no less than 16 bytes (RFC 8489 §14.6).
    let isLength = isSHA256 ? (16...32).contains(length) && length & 3 == 0 : length == 20
    guard isLength else { throw .invalid("MESSAGE-INTEGRITY", at: start) }
    let place = Integrity(offset: start, value: try reader.readRange(length, "MESSAGE-INTEGRITY"))
    if isSHA256 { integritySHA256 = integritySHA256 ?? place } else { integrity = place }
  }

  private func readText(
    _ known: Range<Int>?, _ length: Int, _ field: StaticName, _ reader: inout ByteReader
  ) throws(WireError) -> Range<Int> {
    guard length <= STUNLimits.textByteCount else {
      throw WireError(.tooLong, field, at: reader.offset)
    }
    let range = try reader.readRange(length, field)
    return known ?? range
  }

  /// XOR-MAPPED-ADDRESS and its kin (RFC 8489 §14.2).
  private func readAddress(_ reader: inout ByteReader) throws(WireError) -> SocketAddress {
    let start = reader.offset
    let family = try reader.readUInt16("address family").byteSwapped & 0xFF
    let port =
      try reader.readUInt16("port").byteSwapped
      ^ UInt16(truncatingIfNeeded: STUNLimits.magicCookie >> 16)
    switch family {
    case 1:
      let word = try reader.readUInt32("address").byteSwapped ^ STUNLimits.magicCookie
      return SocketAddress(family: .v4, high: UInt64(word) << 32, low: 0, port: port)
    case 2:
      let mask = UInt64(STUNLimits.magicCookie) << 32 | UInt64(transactionID.high)
      let high = try reader.readUInt64("address").byteSwapped ^ mask
      let low = try reader.readUInt64("address").byteSwapped ^ transactionID.low
      return SocketAddress(family: .v6, high: high, low: low, port: port).withoutMapping
    default: throw .invalid("address family", at: start)
    }
  }
}
