package import Primitives

/// Which call a message is about: 16 random bytes, chosen by the caller, the same at both ends.
///
/// Ordered as bytes: of two calls that cross, the one with the lesser ID stands
/// (docs/protocol/calling.md §3). As text it is a UUID of version 4 (RFC 9562 §5.4).
package struct CallID: Hashable, Sendable, BitwiseCopyable {
  package static let byteCount = 16

  /// Bytes 0..7 and 8..15, most significant first.
  private let high: UInt64
  private let low: UInt64

  private init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// A new ID; 122 of its bits are random, the others say that it is a UUID of version 4.
  package init(from random: inout RandomSource) {
    let high = random.next()
    let low = random.next()
    self.init(
      high: high & 0xFFFF_FFFF_FFFF_0FFF | 0x4000,
      low: low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000)
  }

  /// An ID from its 16 bytes; `nil` for any other number of bytes.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    self.init(
      high: bytes[0..<8].reduce(0) { $0 << 8 | UInt64($1) },
      low: bytes[8..<16].reduce(0) { $0 << 8 | UInt64($1) })
  }

  @_lifetime(reader: copy reader)
  package init(parsing reader: inout ByteReader) throws(WireError) {
    let high = try reader.readUInt64("call ID").byteSwapped
    self.init(high: high, low: try reader.readUInt64("call ID").byteSwapped)
  }

  package func write(to bytes: inout [UInt8]) {
    bytes.append(littleEndian: high.byteSwapped)
    bytes.append(littleEndian: low.byteSwapped)
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    write(to: &bytes)
    return bytes
  }
}

extension CallID: Comparable {
  package static func < (left: CallID, right: CallID) -> Bool {
    (left.high, left.low) < (right.high, right.low)
  }
}

extension CallID: LosslessStringConvertible {
  /// The five groups of a UUID, in small letters.
  package var description: String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for (index, byte) in bytes.enumerated() {
      if [4, 6, 8, 10].contains(index) { text.append(UInt8(ascii: "-")) }
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Reads the five groups, in small or capital letters; `nil` for anything else.
  package init?(_ text: String) {
    let letters = Array(text.utf8)
    guard letters.count == 36 else { return nil }
    var bytes: [UInt8] = []
    var half: UInt8?
    for (index, letter) in letters.enumerated() {
      if [8, 13, 18, 23].contains(index) {
        guard letter == UInt8(ascii: "-") else { return nil }
        continue
      }
      guard let digit = Self.value(ofDigit: letter) else { return nil }
      if let first = half {
        bytes.append(first << 4 | digit)
        half = nil
      } else {
        half = digit
      }
    }
    self.init(bytes)
  }

  private static func value(ofDigit letter: UInt8) -> UInt8? {
    switch letter {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): letter - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): letter - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): letter - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
