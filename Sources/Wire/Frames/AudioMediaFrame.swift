import Primitives

/// AUDIO: one Opus packet (docs/protocol/frames.md §5), without its payload.
///
///      0 1 2 3 4 5 6 7
///     |1|strm |len|M|C|0|   bit 7 first: 1, stream 0..3, frame length, marker, copies, zero
///     |   media time    |   of the first sample, in 10 ms, wraps
///
/// Station 6 of the house tour; next is `CallLink+Outbound.swift`.
package struct AudioMediaFrame: Equatable, Sendable, BitwiseCopyable {
  package static let headerByteCount = 3
  /// RFC 6716 §3.4 allows Opus packets of 1 to 1275 bytes in one frame.
  package static let payloadByteCounts = 1...1275

  /// How much sound the packet holds.
  package enum Length: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    case milliseconds10 = 0
    case milliseconds20 = 1
    case milliseconds40 = 2
    case milliseconds60 = 3

    /// In steps of 10 ms, the unit of media time.
    package var mediaTimeSteps: UInt16 {
      switch self {
      case .milliseconds10: 1
      case .milliseconds20: 2
      case .milliseconds40: 4
      case .milliseconds60: 6
      }
    }
  }

  /// 0..3; RTP's SSRC.
  package var stream: UInt8
  package var length: Length
  /// First frame after silence.
  package var isMarked: Bool
  /// Copies of earlier frames stand before the own Opus packet (`AudioBody`).
  package var hasCopies: Bool
  /// Of the first sample, in 10 ms, wraps; × 480 it is RTP's timestamp at 48 kHz.
  package var mediaTime: UInt16

  package init(
    stream: UInt8 = 0, length: Length, isMarked: Bool, hasCopies: Bool = false, mediaTime: UInt16
  ) {
    self.stream = stream
    self.length = length
    self.isMarked = isMarked
    self.hasCopies = hasCopies
    self.mediaTime = mediaTime
  }

  /// `nil` for a reserved kind of frame, which a receiver skips.
  @inline(__always)
  init?(flags: UInt8, parsing reader: inout ByteReader) throws(WireError) {
    mediaTime = try reader.readUInt16("media time")
    guard flags & Bits.reserved == 0, let length = Length(rawValue: flags >> 3 & 3) else {
      return nil
    }
    stream = flags >> 5 & 3
    self.length = length
    isMarked = flags & Bits.marker != 0
    hasCopies = flags & Bits.copies != 0
  }

  /// Writes the frame, which must be the packet's last; `payload` is an Opus packet of 1..1275
  /// bytes or, with `hasCopies`, a body that `AudioBody` reads.
  @_lifetime(packet: copy packet)
  package func write(_ payload: Span<UInt8>, to packet: inout OutputSpan<UInt8>) {
    writeHeader(to: &packet)
    packet.append(span: payload)
  }

  /// Writes everything before the payload, which the caller appends, up to the packet's end.
  @_lifetime(packet: copy packet)
  package func writeHeader(to packet: inout OutputSpan<UInt8>) {
    packet.append(
      FrameType.audio | (stream & 3) << 5 | length.rawValue << 3 | (isMarked ? Bits.marker : 0)
        | (hasCopies ? Bits.copies : 0))
    packet.append(littleEndian: mediaTime)
  }

  private enum Bits {
    static let marker: UInt8 = 0b0000_0100
    static let copies: UInt8 = 0b0000_0010
    static let reserved: UInt8 = 0b0000_0001
  }
}
