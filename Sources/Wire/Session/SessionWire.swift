package import Primitives

/// Which association a packet belongs to: chosen by its receiver, in clear in every packet
/// (docs/protocol/session.md §6). Never zero in a packet.
package struct ConnectionID: RawRepresentable, Hashable, Sendable, BitwiseCopyable {
  package var rawValue: UInt32
  package static let none = ConnectionID(rawValue: 0)

  package init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Written out: the one that `RawRepresentable` gives is called through a witness table.
  package static func == (left: ConnectionID, right: ConnectionID) -> Bool {
    left.rawValue == right.rawValue
  }

  package static func != (left: ConnectionID, right: ConnectionID) -> Bool {
    left.rawValue != right.rawValue
  }

  /// Random and not zero; the caller checks that it is not in use.
  package init(random: inout RandomSource) {
    let value = UInt32(truncatingIfNeeded: random.next())
    rawValue = value == 0 ? 1 : value
  }

  package init(parsing reader: inout ByteReader, _ field: StaticName) throws(WireError) {
    rawValue = try reader.readUInt32(field)
  }

  package func write(to bytes: inout [UInt8]) { bytes.append(littleEndian: rawValue) }
}

/// What a handshake is for (docs/protocol/session.md §1): part of its prologue, so that a message
/// of one kind can never pass for another.
package enum HandshakePurpose: UInt8, Sendable, BitwiseCopyable {
  case register = 1
  case call = 2
  case rekey = 3
  case direct = 4
}

/// Numbers of docs/protocol/session.md §1, §2.
package enum SessionWire {
  package static let version: UInt8 = 1
  /// Noise_IKpsk2_25519_ChaChaPoly_SHA256.
  package static let suite: UInt8 = 1
}

/// The first four bytes of 0xC1..0xC7, 0xCA and 0xCB: type, version, suite, purpose.
struct PacketPreamble {
  var version: UInt8
  var suite: UInt8
  var purpose: UInt8

  init(
    version: UInt8 = SessionWire.version, suite: UInt8 = SessionWire.suite, purpose: UInt8 = 0
  ) {
    self.version = version
    self.suite = suite
    self.purpose = purpose
  }

  /// Reads the four bytes after checking type and length.
  init(
    parsing reader: inout ByteReader, type: PacketType, byteCount: Int
  ) throws(WireError) {
    guard reader.remaining == byteCount else { throw .invalid("packet length", at: 0) }
    guard try reader.readUInt8("type") == type.rawValue else { throw .invalid("type", at: 0) }
    version = try reader.readUInt8("version")
    suite = try reader.readUInt8("suite")
    purpose = try reader.readUInt8("purpose")
  }

  /// Refuses what is not of our version and suite.
  func expectOurs() throws(WireError) {
    guard version == SessionWire.version else { throw .invalid("version", at: 1) }
    guard suite == SessionWire.suite else { throw .invalid("suite", at: 2) }
  }

  /// Refuses what is not of our version, or names the suite or purpose that a card does not have.
  func expectOfCard() throws(WireError) {
    guard version == SessionWire.version else { throw .invalid("version", at: 1) }
    guard suite == 0, purpose == 0 else { throw .invalid("zero", at: 2) }
  }

  func write(to bytes: inout [UInt8], type: PacketType) {
    bytes.append(type.rawValue)
    bytes.append(version)
    bytes.append(suite)
    bytes.append(purpose)
  }
}

extension [UInt8] {
  package mutating func append(_ value: Bytes16) { append(contentsOf: value.bytes) }
  package mutating func append(_ value: Bytes32) { append(contentsOf: value.bytes) }
  mutating func append(zeros count: Int) { append(contentsOf: repeatElement(0, count: count)) }
}

extension ByteReader {
  /// Steps over bytes that must be zero.
  @_lifetime(self: copy self)
  mutating func readZeros(_ count: Int, _ field: StaticName) throws(WireError) {
    for _ in 0..<count {
      let at = offset
      guard try readUInt8(field) == 0 else { throw .invalid(field, at: at) }
    }
  }
}
