/// Writing the fields that `ByteReader` reads, in the same order and byte order.
extension OutputSpan where Element == UInt8 {
  @_lifetime(self: copy self)
  package mutating func append(littleEndian value: UInt16) {
    append(UInt8(truncatingIfNeeded: value))
    append(UInt8(truncatingIfNeeded: value >> 8))
  }

  @_lifetime(self: copy self)
  package mutating func append(littleEndian value: UInt32) {
    append(littleEndian: UInt16(truncatingIfNeeded: value))
    append(littleEndian: UInt16(truncatingIfNeeded: value >> 16))
  }

  @_lifetime(self: copy self)
  package mutating func append(littleEndian value: UInt64) {
    append(littleEndian: UInt32(truncatingIfNeeded: value))
    append(littleEndian: UInt32(truncatingIfNeeded: value >> 32))
  }

  @_lifetime(self: copy self)
  package mutating func append(bytes: [UInt8]) {
    append(span: bytes.span)
  }

  @_lifetime(self: copy self)
  package mutating func append(span: Span<UInt8>) {
    precondition(span.count <= freeCapacity, "room for the bytes")
    unsafe withUnsafeMutableBufferPointer { buffer, count in
      unsafe span.withUnsafeBufferPointer { source in
        guard let start = buffer.baseAddress, let first = source.baseAddress else { return }
        unsafe (start + count).update(from: first, count: source.count)
      }
      count += span.count
    }
  }

  @_lifetime(self: copy self)
  package mutating func append(zeros count: Int) {
    append(repeating: 0, count: count)
  }
}

/// The same for bytes that are put together off the packet path.
extension [UInt8] {
  package mutating func append(littleEndian value: UInt16) {
    append(UInt8(truncatingIfNeeded: value))
    append(UInt8(truncatingIfNeeded: value >> 8))
  }

  package mutating func append(littleEndian value: UInt32) {
    append(littleEndian: UInt16(truncatingIfNeeded: value))
    append(littleEndian: UInt16(truncatingIfNeeded: value >> 16))
  }

  package mutating func append(littleEndian value: UInt64) {
    append(littleEndian: UInt32(truncatingIfNeeded: value))
    append(littleEndian: UInt32(truncatingIfNeeded: value >> 32))
  }
}
