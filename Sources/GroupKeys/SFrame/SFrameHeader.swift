package import Primitives

/// The header of an SFrame ciphertext: which key, and which number under it (RFC 9605 §4.3).
///
/// One encoding for each pair: values below 8 stand in the config byte, others in the least number
/// of bytes, big-endian.
package struct SFrameHeader: Equatable, Sendable {
  /// The config byte, and two values of 8 bytes.
  package static let maximumByteCount = 17

  /// KID: in docs/protocol/sframe.md §2 the generation and the low byte of the ratchet step.
  package var keyID: UInt64
  /// CTR: counts the frames sealed under the key, from 0.
  package var counter: UInt64

  package init(keyID: UInt64, counter: UInt64) {
    self.keyID = keyID
    self.counter = counter
  }

  /// How many bytes the header takes: 1...17.
  package var byteCount: Int { 1 + Self.byteCount(of: keyID) + Self.byteCount(of: counter) }

  @_lifetime(reader: copy reader)
  package init(parsing reader: inout ByteReader) throws(WireError) {
    let config = try reader.readUInt8("SFrame config byte")
    keyID = try Self.read(config >> 4, from: &reader, "SFrame KID")
    counter = try Self.read(config & 15, from: &reader, "SFrame CTR")
  }

  /// Writes the header over `bytes` from `start` on.
  ///
  /// - Precondition: There is room for `byteCount` bytes.
  @_lifetime(bytes: copy bytes)
  package func write(to bytes: inout MutableSpan<UInt8>, at start: Int) {
    var position = start + 1
    let key = Self.write(keyID, to: &bytes, at: &position)
    let count = Self.write(counter, to: &bytes, at: &position)
    bytes[start] = key << 4 | count
  }

  /// 0 for a value that stands in the config byte.
  private static func byteCount(of value: UInt64) -> Int {
    value < 8 ? 0 : 8 - value.leadingZeroBitCount / 8
  }

  /// - Parameter field: 4 bits: whether the value is extended, then the value or its length less 1.
  @_lifetime(reader: copy reader)
  private static func read(
    _ field: UInt8, from reader: inout ByteReader, _ name: StaticName
  ) throws(WireError) -> UInt64 {
    guard field & 8 != 0 else { return UInt64(field) }
    let start = reader.offset
    let length = Int(field & 7) + 1
    var value: UInt64 = 0
    for _ in 0..<length { value = value << 8 | UInt64(try reader.readUInt8(name)) }
    guard byteCount(of: value) == length else { throw .invalid(name, at: start) }
    return value
  }

  /// Writes the bytes of an extended value; the 4 bits for the config byte.
  @_lifetime(bytes: copy bytes)
  private static func write(
    _ value: UInt64, to bytes: inout MutableSpan<UInt8>, at position: inout Int
  ) -> UInt8 {
    let length = byteCount(of: value)
    guard length > 0 else { return UInt8(truncatingIfNeeded: value) }
    for index in 0..<length {
      bytes[position + index] = UInt8(truncatingIfNeeded: value >> UInt64(8 * (length - 1 - index)))
    }
    position += length
    return 8 | UInt8(truncatingIfNeeded: length - 1)
  }
}
