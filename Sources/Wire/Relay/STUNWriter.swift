package import Primitives

/// Puts a STUN message together (RFC 8489 §5). For requests: what carries media is written in place
/// (`RelayFraming`).
package struct STUNWriter: Sendable {
  package private(set) var bytes: [UInt8] = []
  private let transactionID: STUNTransactionID

  package init(_ messageClass: STUNClass, _ method: STUNMethod, _ id: STUNTransactionID) {
    transactionID = id
    append(bigEndian: Self.type(messageClass, method))
    append(bigEndian: UInt16(0))
    append(bigEndian: STUNLimits.magicCookie)
    append(bigEndian: id.high)
    append(bigEndian: id.low)
  }

  /// The class bits stand between the bits of the method (RFC 8489 §5, figure 3).
  package static func type(_ messageClass: STUNClass, _ method: STUNMethod) -> UInt16 {
    let (kind, name) = (UInt16(messageClass.rawValue), method.rawValue)
    return name & 0xF | (name & 0x70) << 1 | (name & 0xF80) << 2 | (kind & 1) << 4 | (kind & 2) << 7
  }

  /// A value that is not longer than an attribute may be.
  package mutating func append(_ attribute: STUNAttribute, _ value: [UInt8]) {
    appendHeader(attribute, byteCount: value.count)
    bytes += value.prefix(Int(UInt16.max))
    while bytes.count & 3 != 0 { bytes.append(0) }
    setLength(following: 0)
  }

  package mutating func append(_ attribute: STUNAttribute, _ value: UInt32) {
    var big: [UInt8] = []
    big.append(littleEndian: value.byteSwapped)
    append(attribute, big)
  }

  /// XOR-MAPPED-ADDRESS and its kin (RFC 8489 §14.2).
  package mutating func append(_ attribute: STUNAttribute, _ address: SocketAddress) {
    var value: [UInt8] = []
    let xored = XoredAddress(address, transactionID)
    value.append(littleEndian: xored.head.byteSwapped)
    if address.family == .v4 {
      value.append(littleEndian: xored.word.byteSwapped)
    } else {
      value.append(littleEndian: xored.high.byteSwapped)
      value.append(littleEndian: xored.low.byteSwapped)
    }
    append(attribute, value)
  }

  /// Appends what `authenticate` makes of all bytes so far, with the length that the message will
  /// have behind this attribute (RFC 8489 §14.5).
  package mutating func append(
    _ attribute: STUNAttribute, byteCount: Int, authenticate: ([UInt8]) -> [UInt8]
  ) {
    setLength(following: 4 + byteCount)
    append(attribute, Array(authenticate(bytes).prefix(byteCount)))
  }

  private mutating func appendHeader(_ attribute: STUNAttribute, byteCount: Int) {
    append(bigEndian: attribute.rawValue)
    append(bigEndian: UInt16(clamping: byteCount))
  }

  private mutating func setLength(following: Int) {
    let length = UInt16(clamping: bytes.count - STUNLimits.headerByteCount + following)
    bytes[2] = UInt8(length >> 8)
    bytes[3] = UInt8(length & 0xFF)
  }

  private mutating func append(bigEndian value: UInt16) {
    bytes.append(littleEndian: value.byteSwapped)
  }
  private mutating func append(bigEndian value: UInt32) {
    bytes.append(littleEndian: value.byteSwapped)
  }
  private mutating func append(bigEndian value: UInt64) {
    bytes.append(littleEndian: value.byteSwapped)
  }
}

/// An address as XOR-MAPPED-ADDRESS and its kin hold it (RFC 8489 §14.2).
struct XoredAddress {
  /// Family and port.
  let head: UInt32
  /// Of IPv4.
  let word: UInt32
  /// Of IPv6.
  let high: UInt64
  let low: UInt64

  init(_ address: SocketAddress, _ id: STUNTransactionID) {
    let cookie = STUNLimits.magicCookie
    let port = address.port ^ UInt16(truncatingIfNeeded: cookie >> 16)
    head = (address.family == .v4 ? 1 : 2) << 16 | UInt32(port)
    word = UInt32(truncatingIfNeeded: address.high >> 32) ^ cookie
    high = address.high ^ (UInt64(cookie) << 32 | UInt64(id.high))
    low = address.low ^ id.low
  }
}
