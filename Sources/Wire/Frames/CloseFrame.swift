import Primitives

/// CLOSE: the session ends in order (docs/protocol/frames.md §8), without its text.
package struct CloseFrame: Equatable, Sendable, BitwiseCopyable {
  /// Type, code and length.
  package static let headerByteCount = 3
  package static let maximumTextByteCount = 128

  package var code: CloseCode

  package init(code: CloseCode) { self.code = code }

  @_lifetime(reader: copy reader)
  static func parse(_ reader: inout ByteReader) throws(WireError) -> (CloseFrame, PacketRange) {
    let frame = CloseFrame(code: CloseCode(rawValue: try reader.readUInt8("close code")))
    let start = reader.offset
    let length = Int(try reader.readUInt8("close text length"))
    guard length <= maximumTextByteCount else {
      throw WireError(.tooLong, "close text", at: start)
    }
    return (frame, PacketRange(try reader.readRange(length, "close text")))
  }

  /// `text` is UTF-8; of more than 128 bytes only the first 128 are sent, cut between letters.
  @_lifetime(packet: copy packet)
  package func write(_ text: Span<UInt8>, to packet: inout OutputSpan<UInt8>) {
    var length = min(text.count, Self.maximumTextByteCount)
    while length > 0, length < text.count, text[length] & 0xC0 == 0x80 { length -= 1 }
    packet.append(FrameType.close)
    packet.append(code.rawValue)
    packet.append(UInt8(clamping: length))
    packet.append(span: text.extracting(0..<length))
  }
}

/// Why a session was closed; codes of later versions are kept as they are.
package struct CloseCode: RawRepresentable, Hashable, Sendable, BitwiseCopyable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let done = CloseCode(rawValue: 0)
  package static let replaced = CloseCode(rawValue: 1)
  package static let protocolViolated = CloseCode(rawValue: 2)
  package static let limits = CloseCode(rawValue: 3)
  package static let goingAway = CloseCode(rawValue: 4)
  package static let notAllowed = CloseCode(rawValue: 5)
  package static let keyLifeEnded = CloseCode(rawValue: 6)
  package static let tokenExpired = CloseCode(rawValue: 7)
}
