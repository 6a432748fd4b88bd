import Primitives

/// CHANNEL_PICTURE: whose pictures the VIDEO or VIDEO_NACK behind it in the packet is about
/// (docs/protocol/relay.md §3).
package enum ChannelPictureFrame {
  package static let byteCount = 2

  @_lifetime(reader: copy reader)
  static func parse(_ reader: inout ByteReader) throws(WireError) -> UInt8 {
    try ChannelSourceFrame.readSource(&reader)
  }

  @_lifetime(packet: copy packet)
  package static func write(source: UInt8, to packet: inout OutputSpan<UInt8>) {
    packet.append(FrameType.channelPicture)
    packet.append(source)
  }
}

/// CHANNEL_WANTS: how many bits a second of pictures are wanted, 0 = none. From a member for
/// itself, from the relay for all who want a host's pictures.
package enum ChannelWantsFrame {
  package static let byteCount = 5

  @_lifetime(packet: copy packet)
  package static func write(_ bitsPerSecond: UInt32, to packet: inout OutputSpan<UInt8>) {
    packet.append(FrameType.channelWants)
    packet.append(littleEndian: bitsPerSecond)
  }
}

/// CHANNEL_LOW: a member's low stream, last in a packet (docs/protocol/relay.md §3). Whoever sends
/// it understands stream 1 of VIDEO.
package struct ChannelLowFrame: Equatable, Sendable, BitwiseCopyable {
  package static let byteCount = 6

  /// What the relay sends a member of others' pictures at the most.
  package enum View: UInt8, Sendable, BitwiseCopyable {
    case audioOnly, low, usual
  }

  package var view: View
  /// From a member what its low stream takes, 0 = it offers none; from the relay what of it is
  /// wanted, 0 = nothing.
  package var bitsPerSecond: UInt32

  package init(view: View = .audioOnly, bitsPerSecond: UInt32) {
    self.view = view
    self.bitsPerSecond = bitsPerSecond
  }

  @_lifetime(reader: copy reader)
  init(parsing reader: inout ByteReader) throws(WireError) {
    let start = reader.offset
    guard let view = View(rawValue: try reader.readUInt8("view")) else {
      throw .invalid("view", at: start)
    }
    self.view = view
    bitsPerSecond = try reader.readUInt32("bits a second")
  }

  @_lifetime(packet: copy packet)
  package func write(to packet: inout OutputSpan<UInt8>) {
    packet.append(FrameType.channelLow)
    packet.append(view.rawValue)
    packet.append(littleEndian: bitsPerSecond)
  }
}

/// What a relay sees of an encoded picture and may not change.
package struct ChannelPictureLabel: Equatable, Sendable, BitwiseCopyable {
  package var stream: UInt8
  package var temporalLayer: UInt8
  package var isKeyFrame: Bool
  /// In 10 ms / 256, 24 bits.
  package var mediaTime: UInt32

  package init(
    stream: UInt8 = 0, temporalLayer: UInt8, isKeyFrame: Bool, mediaTime: UInt32
  ) {
    self.stream = stream
    self.temporalLayer = temporalLayer
    self.isKeyFrame = isKeyFrame
    self.mediaTime = mediaTime & 0xFF_FFFF
  }

  /// SFrame's metadata: stream, layer and key frame as in VIDEO's flags · media time 3 · 0. Longer
  /// than a sound's, so that none is taken for the other.
  package var metadata: InlineArray<5, UInt8> {
    [
      stream & 3 | (temporalLayer & 3) << 2 | (isKeyFrame ? 16 : 0),
      UInt8(truncatingIfNeeded: mediaTime), UInt8(truncatingIfNeeded: mediaTime >> 8),
      UInt8(truncatingIfNeeded: mediaTime >> 16), 0,
    ]
  }
}
