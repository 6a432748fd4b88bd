/// Who somebody is: an Ed25519 public key (RFC 8032), which is also the address one dials.
///
/// As text it is 52 letters of z-base-32 (docs/decisions/0004): easy to read out, safe in a file
/// name, and never to be confused with a name, because names of that shape are refused.
public struct PeerID: Hashable, Sendable, BitwiseCopyable {
  package let word0: UInt64
  package let word1: UInt64
  package let word2: UInt64
  package let word3: UInt64

  package static let byteCount = 32
  package static let zero = PeerID(word0: 0, word1: 0, word2: 0, word3: 0)

  package init(word0: UInt64, word1: UInt64, word2: UInt64, word3: UInt64) {
    self.word0 = word0
    self.word1 = word1
    self.word2 = word2
    self.word3 = word3
  }

  /// An ID from the 32 bytes of the public key; `nil` for any other number of bytes.
  public init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    func word(_ start: Int) -> UInt64 {
      (0..<8).reduce(0) { $0 | UInt64(bytes[start + $1]) << UInt64(8 * $1) }
    }
    self.init(word0: word(0), word1: word(8), word2: word(16), word3: word(24))
  }

  package init(parsing reader: inout ByteReader, _ field: StaticName = "ID") throws(WireError) {
    self.init(
      word0: try reader.readUInt64(field), word1: try reader.readUInt64(field),
      word2: try reader.readUInt64(field), word3: try reader.readUInt64(field))
  }

  /// The 32 bytes of the public key.
  public var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Self.byteCount)
    write(to: &bytes)
    return bytes
  }

  @_lifetime(packet: copy packet)
  package func write(to packet: inout OutputSpan<UInt8>) {
    packet.append(littleEndian: word0)
    packet.append(littleEndian: word1)
    packet.append(littleEndian: word2)
    packet.append(littleEndian: word3)
  }

  package func write(to bytes: inout [UInt8]) {
    bytes.append(littleEndian: word0)
    bytes.append(littleEndian: word1)
    bytes.append(littleEndian: word2)
    bytes.append(littleEndian: word3)
  }
}

extension PeerID: CustomStringConvertible, LosslessStringConvertible {
  /// 52 letters of z-base-32.
  public var description: String { ZBase32.encode(bytes) }

  /// Reads the 52 letters; `nil` for anything else.
  public init?(_ text: String) {
    guard text.utf8.count == 52, let bytes = ZBase32.decode(text) else { return nil }
    self.init(bytes)
  }
}
