package import Primitives

/// MSG: one fragment of a reliable message (docs/protocol/frames.md §3), without its bytes.
package struct MessageFrame: Equatable, Sendable, BitwiseCopyable {
  /// Type, stream, sequence, index, count, length.
  package static let headerByteCount = 10
  package static let maximumFragmentByteCount = 1100
  package static let maximumFragmentCount = 64
  /// An abandoned message says how many of its bytes had been sent.
  package static let abandonedByteCount = headerByteCount + 4

  package var stream: StreamID
  /// Number of the message within its stream.
  package var sequence: UInt32
  package var fragmentIndex: UInt8
  /// 1..64; 0 means that the sender abandoned the message.
  package var fragmentCount: UInt8

  package init(stream: StreamID, sequence: UInt32, fragmentIndex: UInt8, fragmentCount: UInt8) {
    self.stream = stream
    self.sequence = sequence
    self.fragmentIndex = fragmentIndex
    self.fragmentCount = fragmentCount
  }

  package var isAbandoned: Bool { fragmentCount == 0 }

  /// Whether index, count and the length of the bytes can stand together.
  package func isPlausible(byteCount: Int) -> Bool {
    guard byteCount <= Self.maximumFragmentByteCount, fragmentCount <= Self.maximumFragmentCount
    else { return false }
    if isAbandoned { return fragmentIndex == 0 && (byteCount == 0 || byteCount == 4) }
    return fragmentIndex < fragmentCount && (byteCount > 0 || fragmentCount == 1)
  }

  /// The header, and the number of bytes that follow it.
  @_lifetime(reader: copy reader)
  static func parse(_ reader: inout ByteReader) throws(WireError) -> (MessageFrame, length: Int) {
    let start = reader.offset
    let frame = MessageFrame(
      stream: StreamID(rawValue: try reader.readUInt8("stream")),
      sequence: try reader.readUInt32("sequence"),
      fragmentIndex: try reader.readUInt8("fragment index"),
      fragmentCount: try reader.readUInt8("fragment count"))
    let length = Int(try reader.readUInt16("fragment length"))
    guard frame.isPlausible(byteCount: length) else { throw .invalid("fragment", at: start) }
    return (frame, length)
  }

  /// Writes the frame with `bytes`, at most 1100 of them.
  @_lifetime(packet: copy packet)
  package func write(_ bytes: Span<UInt8>, to packet: inout OutputSpan<UInt8>) {
    writeHeader(byteCount: UInt16(clamping: bytes.count), to: &packet)
    packet.append(span: bytes)
  }

  /// Writes the frame of an abandoned message of which `sentByteCount` bytes had been sent.
  @_lifetime(packet: copy packet)
  package func writeAbandoned(sentByteCount: UInt32, to packet: inout OutputSpan<UInt8>) {
    writeHeader(byteCount: 4, to: &packet)
    packet.append(littleEndian: sentByteCount)
  }

  @_lifetime(packet: copy packet)
  private func writeHeader(byteCount: UInt16, to packet: inout OutputSpan<UInt8>) {
    packet.append(FrameType.message)
    packet.append(stream.rawValue)
    packet.append(littleEndian: sequence)
    packet.append(fragmentIndex)
    packet.append(fragmentCount)
    packet.append(littleEndian: byteCount)
  }
}

/// Which stream of messages (docs/protocol/frames.md §3); bit 7 makes it unordered.
package struct StreamID: RawRepresentable, Hashable, Sendable, BitwiseCopyable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Rekeying and what else keeps the session.
  package static let sessionControl = StreamID(rawValue: 0)
  /// Requests to a rendezvous and its answers.
  package static let rendezvous = StreamID(rawValue: 0x81)
  /// Confirmation, hang-up, media state.
  package static let callControl = StreamID(rawValue: 2)

  /// `number` in 8..127.
  package static func application(_ number: UInt8, isOrdered: Bool = true) -> StreamID {
    StreamID(rawValue: number & 0x7F | (isOrdered ? 0 : 0x80))
  }

  /// Messages of the application that go with a moment of the audio.
  package static func timed(isOrdered: Bool) -> StreamID {
    StreamID(rawValue: timedNumber | (isOrdered ? 0 : 0x80))
  }

  package var isOrdered: Bool { rawValue & 0x80 == 0 }
  package var isTimed: Bool { rawValue & 0x7F == Self.timedNumber }
  /// Streams 0..7 are the protocol's own and go before the application's; those with a time are the
  /// application's.
  package var isControl: Bool { rawValue & 0x7F < 8 && !isTimed }

  private static let timedNumber: UInt8 = 3
}

/// CREDIT: how many message bytes may have been sent in total (docs/protocol/frames.md §4).
package struct CreditFrame: Equatable, Sendable, BitwiseCopyable {
  package static let byteCount = 5

  /// A running total mod 2^32, only ever rising.
  package var total: UInt32

  package init(total: UInt32) { self.total = total }

  package init(parsing reader: inout ByteReader) throws(WireError) {
    total = try reader.readUInt32("credit")
  }

  @_lifetime(packet: copy packet)
  package func write(to packet: inout OutputSpan<UInt8>) {
    packet.append(FrameType.credit)
    packet.append(littleEndian: total)
  }
}
