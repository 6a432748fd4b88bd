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

  /// Moves what was written `gap` bytes on, for a header that comes before it; `false` = there is
  /// no room. What stands in the gap does not matter.
  @_lifetime(self: copy self)
  package mutating func openGap(_ gap: Int) -> Bool {
    guard gap >= 0, freeCapacity >= gap else { return false }
    let moved = count
    append(zeros: gap)
    unsafe withUnsafeMutableBufferPointer { buffer, _ in
      guard let start = buffer.baseAddress else { return }
      unsafe (start + gap).update(from: start, count: moved)
    }
    return true
  }

  /// Lets `body` write into the free bytes, as though there were `limit` at most.
  @_lifetime(self: copy self)
  package mutating func withRoom<Result>(
    _ limit: Int, _ body: (inout OutputSpan<UInt8>) -> Result
  ) -> Result {
    unsafe withUnsafeMutableBufferPointer { buffer, count in
      let end = min(buffer.count, count + max(0, limit))
      let room = unsafe UnsafeMutableBufferPointer(rebasing: buffer[count..<end])
      var output = unsafe OutputSpan(buffer: room, initializedCount: 0)
      let result = body(&output)
      count += unsafe output.finalize(for: room)
      return result
    }
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
