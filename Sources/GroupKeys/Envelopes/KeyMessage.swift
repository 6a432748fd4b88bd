package import Primitives

/// What members send each other about keys, carried by the rendezvous or the relay
/// (docs/protocol/sframe.md §4).
package enum KeyMessage: Equatable, Sendable {
  /// A sender's key, sealed for one member: a Noise message.
  case key([UInt8])
  /// The member has opened the envelope of that generation: the bytes prove it.
  case receipt(generation: UInt32, Bytes16)
  /// The member lacks the sender's key.
  case request

  /// Of the longest message, a key.
  package static let maximumByteCount = 1 + KeyEnvelope.byteCount

  package init(parsing bytes: Span<UInt8>) throws(WireError) {
    var reader = ByteReader(bytes)
    switch try reader.readUInt8("key message") {
    case 1:
      self = .key(try reader.readBytes(KeyEnvelope.byteCount, "envelope"))
    case 2:
      let generation = try reader.readUInt32("generation")
      self = .receipt(generation: generation, try Bytes16(parsing: &reader, "receipt"))
    case 3: self = .request
    default: throw .invalid("key message", at: 0)
    }
    try reader.expectEnd("key message")
  }

  package var bytes: [UInt8] {
    switch self {
    case .key(let envelope): return [1] + envelope
    case .receipt(let generation, let receipt):
      var bytes: [UInt8] = [2]
      bytes.append(littleEndian: generation)
      return bytes + receipt.bytes
    case .request: return [3]
    }
  }
}
