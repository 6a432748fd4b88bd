package import Primitives

/// Finds the messages of a TURN server in a stream of bytes (RFC 8656 §12.5): STUN messages and
/// channel data, one behind the other, channel data padded to four bytes.
///
/// Holds at most one message and what one reading brought: 64 KiB and a little.
package struct RelayStreamReader: Sendable {
  private var bytes: [UInt8] = []
  /// Where the next message begins.
  private var start = 0

  package init() {}

  /// What waits for the rest of its message.
  package var byteCount: Int { bytes.count - start }

  /// The longest message: channel data of 65 535 bytes, with header and padding.
  package static let messageByteLimit = 65_540

  package mutating func append(_ more: Span<UInt8>) {
    if start > 0 {
      bytes.removeFirst(start)
      start = 0
    }
    bytes.reserveCapacity(bytes.count + more.count)
    for index in more.indices { bytes.append(more[index]) }
  }

  /// The next whole message; `nil` = its end has not come yet.
  ///
  /// - Throws: Where nothing can begin that a TURN server sends: the stream is of no use any more.
  package mutating func next() throws(WireError) -> [UInt8]? {
    guard byteCount >= Self.headByteCount else { return nil }
    let length = Int(bytes[start + 2]) << 8 | Int(bytes[start + 3])
    let count: Int
    switch bytes[start] {
    case 0x00...0x3F:
      guard length & 3 == 0 else { throw .invalid("STUN length in a stream", at: 2) }
      count = STUNLimits.headerByteCount + length
      try checkCookie()
    case 0x40...0x4F: count = STUNLimits.channelHeaderByteCount + (length + 3) & ~3
    default: throw .invalid("message in a stream", at: 0)
    }
    guard byteCount >= count else { return nil }
    defer { start += count }
    return Array(bytes[start..<start + count])
  }

  /// A length field alone would take a stream of something else for a message.
  private func checkCookie() throws(WireError) {
    guard byteCount >= 8 else { return }
    let cookie = bytes[start + 4..<start + 8].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    guard cookie == STUNLimits.magicCookie else { throw .invalid("STUN cookie", at: 4) }
  }

  private static let headByteCount = 4
}
