import Primitives

/// What a frame of channel audio says beside its sealed bytes (docs/protocol/relay.md §3).
package struct ChannelAudioLabel: Equatable, Sendable, BitwiseCopyable {
  package var length: AudioMediaFrame.Length
  /// First frame after silence.
  package var isMarked: Bool
  /// Of the first sample, in 10 ms, wraps.
  package var mediaTime: UInt16
  /// RFC 6464: bit 7 voice, bits 6..0 −dBov; 0 is loudest, 127 silence.
  package var level: UInt8

  package init(length: AudioMediaFrame.Length, isMarked: Bool, mediaTime: UInt16, level: UInt8) {
    self.length = length
    self.isMarked = isMarked
    self.mediaTime = mediaTime
    self.level = level
  }

  /// −dBov, 0...127.
  package var attenuation: UInt8 { level & 127 }
  /// Less than the last of 16 bits (docs/protocol/relay.md §4).
  package var isSilent: Bool { attenuation >= 91 }

  /// SFrame's metadata: bits 2..0 of the type, media time, level.
  package var metadata: InlineArray<4, UInt8> {
    [
      flags, UInt8(truncatingIfNeeded: mediaTime), UInt8(truncatingIfNeeded: mediaTime >> 8), level,
    ]
  }

  var flags: UInt8 { length.rawValue | (isMarked ? Self.marker : 0) }

  init(flags: UInt8, mediaTime: UInt16, level: UInt8) {
    length = AudioMediaFrame.Length(rawValue: flags & 3) ?? .milliseconds20
    isMarked = flags & Self.marker != 0
    self.mediaTime = mediaTime
    self.level = level
  }

  private static let marker: UInt8 = 0b100
}

/// CHANNEL_AUDIO: one sealed frame on its way by a relay; stands last in its packet.
package struct ChannelAudioFrame: Equatable, Sendable, BitwiseCopyable {
  package static let headerByteCount = 5
  /// Of the SFrame frame: a header, a tag, and at least a byte; 128 kbit/s in 20 ms fit twice.
  package static let sealedByteCounts = 10...600

  /// 1...64 from a relay, 0 to it.
  package var source: UInt8
  package var label: ChannelAudioLabel

  package static let highestSource: UInt8 = 64

  package init(source: UInt8 = 0, _ label: ChannelAudioLabel) {
    self.source = source
    self.label = label
  }

  init(flags: UInt8, parsing reader: inout ByteReader) throws(WireError) {
    let at = reader.offset
    source = try reader.readUInt8("source")
    guard source <= Self.highestSource else { throw .invalid("source", at: at) }
    label = ChannelAudioLabel(
      flags: flags, mediaTime: try reader.readUInt16("media time"),
      level: try reader.readUInt8("level"))
  }

  /// Writes everything before the sealed bytes, which the caller appends, up to the packet's end.
  @_lifetime(packet: copy packet)
  package func writeHeader(to packet: inout OutputSpan<UInt8>) {
    packet.append(FrameType.channelAudio | label.flags)
    packet.append(source)
    packet.append(littleEndian: label.mediaTime)
    packet.append(label.level)
  }
}

/// CHANNEL_COPY: an earlier frame of the source whose CHANNEL_AUDIO its packet ends with.
package struct ChannelCopyFrame: Equatable, Sendable, BitwiseCopyable {
  package static let headerByteCount = 5

  /// How much earlier, in 10 ms; 1...255. The label's media time is not known before the
  /// CHANNEL_AUDIO was read: `label(before:)`.
  package var distance: UInt8
  private var bare: ChannelAudioLabel

  package init(_ label: ChannelAudioLabel, distance: UInt8) {
    self.distance = distance
    bare = label
    bare.mediaTime = 0
  }

  /// The copy's label beside a frame of `mediaTime`.
  package func label(before mediaTime: UInt16) -> ChannelAudioLabel {
    var label = bare
    label.mediaTime = mediaTime &- UInt16(distance)
    return label
  }

  @_lifetime(reader: copy reader)
  static func parse(
    flags: UInt8, _ reader: inout ByteReader
  ) throws(WireError) -> (ChannelCopyFrame, PacketRange) {
    let at = reader.offset
    let distance = try reader.readUInt8("distance")
    let level = try reader.readUInt8("level")
    let count = Int(try reader.readUInt16("copy length"))
    guard distance > 0, ChannelAudioFrame.sealedByteCounts.contains(count) else {
      throw .invalid("channel copy", at: at)
    }
    let label = ChannelAudioLabel(flags: flags, mediaTime: 0, level: level)
    return (
      ChannelCopyFrame(label, distance: distance),
      PacketRange(try reader.readRange(count, "channel copy"))
    )
  }

  /// Writes everything before the sealed bytes, of which there are `count`.
  @_lifetime(packet: copy packet)
  package func writeHeader(_ count: Int, to packet: inout OutputSpan<UInt8>) {
    packet.append(FrameType.channelCopy | bare.flags)
    packet.append(distance)
    packet.append(bare.level)
    packet.append(littleEndian: UInt16(clamping: count))
  }
}

/// CHANNEL_SOURCE: whose the frames of a source are.
package struct ChannelSourceFrame: Equatable, Sendable, BitwiseCopyable {
  package static let byteCount = 6

  /// 1...64.
  package var source: UInt8
  package var uid: UInt32

  package init(source: UInt8, uid: UInt32) {
    self.source = source
    self.uid = uid
  }

  init(parsing reader: inout ByteReader) throws(WireError) {
    source = try Self.readSource(&reader)
    uid = try reader.readUInt32("uid")
  }

  @_lifetime(reader: copy reader)
  static func readSource(_ reader: inout ByteReader) throws(WireError) -> UInt8 {
    let at = reader.offset
    let source = try reader.readUInt8("source")
    guard (1...ChannelAudioFrame.highestSource).contains(source) else {
      throw .invalid("source", at: at)
    }
    return source
  }

  @_lifetime(packet: copy packet)
  package func write(to packet: inout OutputSpan<UInt8>) {
    packet.append(FrameType.channelSource)
    packet.append(source)
    packet.append(littleEndian: uid)
  }
}

/// CHANNEL_UNSENT: how many frames of a source the relay has not sent to this member so far, though
/// it could (docs/protocol/relay.md §4). They are not lost.
package struct ChannelUnsentFrame: Equatable, Sendable, BitwiseCopyable {
  package static let byteCount = 4

  /// 1...64.
  package var source: UInt8
  /// Since the member's seat began, mod 2^16.
  package var count: UInt16

  package init(source: UInt8, count: UInt16) {
    self.source = source
    self.count = count
  }

  init(parsing reader: inout ByteReader) throws(WireError) {
    source = try ChannelSourceFrame.readSource(&reader)
    count = try reader.readUInt16("unsent frames")
  }

  @_lifetime(packet: copy packet)
  package func write(to packet: inout OutputSpan<UInt8>) {
    packet.append(FrameType.channelUnsent)
    packet.append(source)
    packet.append(littleEndian: count)
  }
}

/// CHANNEL_KEY, CHANNEL_WHO and CHANNEL_CARD: what members say to each other, and ask the relay,
/// about keys.
package enum ChannelWordFrame {
  /// Type, uid and length of CHANNEL_KEY and CHANNEL_CARD.
  package static let headerByteCount = 7
  package static let keyByteCounts = 1...200
  package static let cardByteCounts = 1...330

  @_lifetime(reader: copy reader)
  static func parse(
    _ lengths: ClosedRange<Int>, _ reader: inout ByteReader
  ) throws(WireError) -> (uid: UInt32, PacketRange) {
    let uid = try reader.readUInt32("uid")
    let at = reader.offset
    let count = Int(try reader.readUInt16("length"))
    guard lengths.contains(count) else { throw .invalid("length", at: at) }
    return (uid, PacketRange(try reader.readRange(count, "channel words")))
  }

  @_lifetime(packet: copy packet)
  package static func writeKey(
    _ bytes: Span<UInt8>, uid: UInt32, to packet: inout OutputSpan<UInt8>
  ) {
    write(FrameType.channelKey, bytes, uid, to: &packet)
  }

  @_lifetime(packet: copy packet)
  package static func writeCard(
    _ bytes: Span<UInt8>, uid: UInt32, to packet: inout OutputSpan<UInt8>
  ) {
    write(FrameType.channelCard, bytes, uid, to: &packet)
  }

  /// Asks for the card of a member.
  @_lifetime(packet: copy packet)
  package static func writeQuestion(uid: UInt32, to packet: inout OutputSpan<UInt8>) {
    packet.append(FrameType.channelWho)
    packet.append(littleEndian: uid)
  }

  @_lifetime(packet: copy packet)
  private static func write(
    _ type: UInt8, _ bytes: Span<UInt8>, _ uid: UInt32, to packet: inout OutputSpan<UInt8>
  ) {
    packet.append(type)
    packet.append(littleEndian: uid)
    packet.append(littleEndian: UInt16(clamping: bytes.count))
    packet.append(span: bytes)
  }
}
