/// Reads little-endian fields from bytes that nobody has checked yet (docs/protocol/README.md §2).
///
/// Every read is bounds-checked and throws instead of trapping. There is no index arithmetic on
/// network bytes outside this type.
package struct ByteReader: ~Escapable {
  private let bytes: Span<UInt8>
  /// How many bytes have been read.
  package private(set) var offset = 0

  @_lifetime(copy bytes)
  package init(_ bytes: Span<UInt8>) { self.bytes = bytes }

  package var remaining: Int { bytes.count - offset }
  package var isAtEnd: Bool { offset == bytes.count }

  @_lifetime(self: copy self)
  package mutating func readUInt8(_ field: StaticName) throws(WireError) -> UInt8 {
    guard remaining >= 1 else { throw WireError(.truncated, field, at: offset) }
    let value = bytes[offset]
    offset += 1
    return value
  }

  @_lifetime(self: copy self)
  package mutating func readUInt16(_ field: StaticName) throws(WireError) -> UInt16 {
    guard remaining >= 2 else { throw WireError(.truncated, field, at: offset) }
    let value = UInt16(bytes[offset]) | UInt16(bytes[offset + 1]) << 8
    offset += 2
    return value
  }

  @_lifetime(self: copy self)
  package mutating func readUInt32(_ field: StaticName) throws(WireError) -> UInt32 {
    guard remaining >= 4 else { throw WireError(.truncated, field, at: offset) }
    let low = UInt32(bytes[offset]) | UInt32(bytes[offset + 1]) << 8
    let high = UInt32(bytes[offset + 2]) | UInt32(bytes[offset + 3]) << 8
    offset += 4
    return low | high << 16
  }

  @_lifetime(self: copy self)
  package mutating func readUInt64(_ field: StaticName) throws(WireError) -> UInt64 {
    let low = UInt64(try readUInt32(field))
    return low | UInt64(try readUInt32(field)) << 32
  }

  /// A copy of the next `count` bytes. Check `count` against the protocol's own limit first: this
  /// allocates (never more than the bytes that are really there).
  @_lifetime(self: copy self)
  package mutating func readBytes(_ count: Int, _ field: StaticName) throws(WireError) -> [UInt8] {
    guard count >= 0, remaining >= count else { throw WireError(.truncated, field, at: offset) }
    var copy = [UInt8]()
    copy.reserveCapacity(count)
    for index in offset..<(offset + count) { copy.append(bytes[index]) }
    offset += count
    return copy
  }

  /// The place of the next `count` bytes, which the reader steps over without copying them.
  @_lifetime(self: copy self)
  package mutating func readRange(_ count: Int, _ field: StaticName) throws(WireError) -> Range<Int>
  {
    guard count >= 0, remaining >= count else { throw WireError(.truncated, field, at: offset) }
    let range = offset..<(offset + count)
    offset += count
    return range
  }

  /// A copy of everything that is left.
  @_lifetime(self: copy self)
  package mutating func readRest() -> [UInt8] {
    var copy = [UInt8]()
    copy.reserveCapacity(remaining)
    for index in offset..<bytes.count { copy.append(bytes[index]) }
    offset = bytes.count
    return copy
  }

  /// UTF-8 text of `count` bytes; malformed text is an error, never repaired.
  @_lifetime(self: copy self)
  package mutating func readText(_ count: Int, _ field: StaticName) throws(WireError) -> String {
    let start = offset
    let raw = try readBytes(count, field)
    guard let text = String(validating: raw, as: UTF8.self) else {
      throw .invalid(field, at: start)
    }
    return text
  }

  package func expectEnd(_ field: StaticName) throws(WireError) {
    guard isAtEnd else { throw WireError(.trailing, field, at: offset) }
  }
}
