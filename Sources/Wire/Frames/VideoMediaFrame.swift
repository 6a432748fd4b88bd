import Primitives

/// VIDEO: one fragment of an encoded frame, or one of parity over its fragments
/// (docs/protocol/frames.md §10), without its bytes.
///
///      0 1 2 3 4 5 6 7
///     |0|P|R|K|layer|strm|  bit 7 first: zero, parity, repeated, key frame, temporal layer, stream
///     |  frame number   |   counts encoded frames, wraps
///     |  other |  base  |   how many frames back the references are, 0 = none
///     |   media time    |   3 bytes, in 10 ms / 256, wraps as AUDIO's does
///     |  index |  last  |   of this fragment, and of the frame's last one
///     | bytes of last   |   2 bytes, parity only: how long the frame's last fragment is
package struct VideoMediaFrame: Equatable, Sendable, BitwiseCopyable {
  /// With the type.
  package static let headerByteCount = 10
  /// Leaves 15 of the 1200 bytes of a packet to small frames before it.
  package static let payloadByteCounts = 1...1150
  package static let maximumFragmentCount = 256
  /// With the type, of a fragment of parity.
  package static let parityHeaderByteCount = 12
  /// Fragments of parity that a frame may have.
  package static let maximumParityCount = 32
  /// Fragments of a frame that may have parity: with the parity's they are numbers of one byte.
  package static let maximumProtectedCount = 224

  /// 0..3; RTP's SSRC.
  package var stream: UInt8
  /// 0..3; frames of layers above 0 may be left out.
  package var temporalLayer: UInt8
  package var isKeyFrame: Bool
  /// Whether this fragment has been sent before.
  package var isRetransmission: Bool
  /// Whether its bytes are parity, of which `fragmentIndex` is the number, 0..31.
  package var isParity: Bool
  /// Counts the frames of the stream, wraps.
  package var number: UInt16
  /// How many frames back the one of layer 0 is that this refers to, 1..15; 0 for a key frame.
  package var baseDistance: UInt8
  /// The same of a further reference, 0 = none.
  package var otherDistance: UInt8
  /// 24 bits, in 10 ms / 256; the upper 16 count the same 10 ms as AUDIO's media time.
  package var mediaTime: UInt32
  package var fragmentIndex: UInt8
  package var lastFragmentIndex: UInt8
  /// Of parity: how long the last fragment is, 1..1150; all others are as long as the parity.
  package var lastFragmentByteCount: UInt16

  package init(
    stream: UInt8 = 0, number: UInt16, mediaTime: UInt32, isKeyFrame: Bool, temporalLayer: UInt8,
    references: (base: UInt8, other: UInt8)
  ) {
    self.stream = stream & 3
    self.temporalLayer = temporalLayer & 3
    self.isKeyFrame = isKeyFrame
    isRetransmission = false
    isParity = false
    self.number = number
    baseDistance = references.base & 15
    otherDistance = references.other & 15
    self.mediaTime = mediaTime & 0xFF_FFFF
    fragmentIndex = 0
    lastFragmentIndex = 0
    lastFragmentByteCount = 0
  }

  /// How many fragments the frame has, 1..256.
  package var fragmentCount: Int { Int(lastFragmentIndex) + 1 }

  /// Reads what follows the type; `nil` for a reserved kind of frame, which a receiver skips.
  @_lifetime(reader: copy reader)
  init?(parsing reader: inout ByteReader) throws(WireError) {
    let start = reader.offset
    let flags = try reader.readUInt8("video flags")
    number = try reader.readUInt16("frame number")
    let references = try reader.readUInt8("references")
    let fraction = try reader.readUInt8("media time")
    mediaTime = UInt32(try reader.readUInt16("media time")) << 8 | UInt32(fraction)
    fragmentIndex = try reader.readUInt8("fragment index")
    lastFragmentIndex = try reader.readUInt8("last fragment index")
    isParity = flags & Bits.parity != 0
    isRetransmission = flags & Bits.retransmission != 0
    guard flags & Bits.reserved == 0, !isParity || !isRetransmission else { return nil }
    lastFragmentByteCount = isParity ? try reader.readUInt16("last fragment's length") : 0
    stream = flags & 3
    temporalLayer = flags >> 2 & 3
    isKeyFrame = flags & Bits.keyFrame != 0
    baseDistance = references & 15
    otherDistance = references >> 4
    guard isPlausible else { throw .invalid("video", at: start) }
  }

  /// A key frame refers to nothing and is of layer 0; every other frame refers to one before.
  package var isPlausible: Bool {
    if isParity {
      guard fragmentIndex < Self.maximumParityCount, fragmentCount <= Self.maximumProtectedCount,
        lastFragmentByteCount > 0
      else { return false }
    } else {
      guard fragmentIndex <= lastFragmentIndex else { return false }
    }
    if isKeyFrame { return baseDistance == 0 && otherDistance == 0 && temporalLayer == 0 }
    return baseDistance > 0
  }

  /// Writes everything before the bytes, of which the caller appends 1..1150, up to the packet's
  /// end.
  @_lifetime(packet: copy packet)
  package func writeHeader(to packet: inout OutputSpan<UInt8>) {
    packet.append(FrameType.video)
    packet.append(
      stream | temporalLayer << 2 | (isKeyFrame ? Bits.keyFrame : 0)
        | (isRetransmission ? Bits.retransmission : 0) | (isParity ? Bits.parity : 0))
    packet.append(littleEndian: number)
    packet.append(otherDistance << 4 | baseDistance)
    packet.append(UInt8(truncatingIfNeeded: mediaTime))
    packet.append(littleEndian: UInt16(truncatingIfNeeded: mediaTime >> 8))
    packet.append(fragmentIndex)
    packet.append(lastFragmentIndex)
    if isParity { packet.append(littleEndian: lastFragmentByteCount) }
  }

  private enum Bits {
    static let keyFrame: UInt8 = 0b0001_0000
    static let retransmission: UInt8 = 0b0010_0000
    static let parity: UInt8 = 0b0100_0000
    static let reserved: UInt8 = 0b1000_0000
  }
}
