package import Primitives

/// Walks the frames of one opened DATA packet (docs/protocol/frames.md), without allocating.
///
/// A frame that does not parse voids the rest of the packet: `next` throws once and then gives
/// `nil`. Ranges in the frames are places in the span that the reader was made from.
///
/// Station 17 of the house tour; next is `AudioEngine`.
package struct FrameReader: ~Escapable {
  private var reader: ByteReader
  private let packet: Span<UInt8>
  private var isVoid = false

  /// `packet` is what the seal held: the frames, and nothing else.
  @_lifetime(copy packet)
  package init(_ packet: Span<UInt8>) {
    reader = ByteReader(packet)
    self.packet = packet
  }

  /// The next frame; `nil` at the end of the packet.
  @_lifetime(self: copy self)
  package mutating func next() throws(WireError) -> Frame? {
    guard !isVoid, !reader.isAtEnd else { return nil }
    do {
      return try readFrame()
    } catch {
      isVoid = true
      throw error
    }
  }

  @_lifetime(self: copy self) @inline(__always)
  private mutating func readFrame() throws(WireError) -> Frame {
    let start = reader.offset
    let type = try reader.readUInt8("frame type")
    switch type {
    case FrameType.padding: return try readPadding()
    case FrameType.ping: return .ping(try PingFrame(parsing: &reader))
    case FrameType.pong: return .pong(try PongFrame(parsing: &reader))
    case FrameType.feedback: return .feedback(try FeedbackFrame(parsing: &reader))
    case FrameType.message:
      let (frame, length) = try MessageFrame.parse(&reader)
      return .message(frame, bytes: PacketRange(try reader.readRange(length, "message bytes")))
    case FrameType.credit: return .credit(try CreditFrame(parsing: &reader))
    case FrameType.pathChallenge: return .pathChallenge(try PathChallengeFrame(parsing: &reader))
    case FrameType.pathResponse: return .pathResponse(try PathResponseFrame(parsing: &reader))
    case FrameType.signal: return .signal(body: try SignalFrame.parse(&reader))
    case FrameType.close: return try readClose()
    case FrameType.audioReport: return try readAudioReport()
    case FrameType.audioRequest: return try readAudioRequest()
    case FrameType.video: return try readVideo()
    case FrameType.videoNack: return .videoNack(try VideoNackFrame(parsing: &reader))
    case FrameType.audio...: return try readAudio(type)
    case FrameType.probeRequest: return .probeRequest(try ProbeRequestFrame(parsing: &reader))
    case FrameType.probeAnswer: return .probeAnswer(try ProbeAnswerFrame(parsing: &reader))
    case FrameType.probePacket: return .probePacket(try ProbePacketFrame(parsing: &reader))
    case FrameType.probeReport: return .probeReport(try ProbeReportFrame(parsing: &reader))
    case FrameType.echoRequest: return .echoRequest(try EchoRequestFrame(parsing: &reader))
    case FrameType.echo: return .echo(try EchoFrame(parsing: &reader))
    case FrameType.channelAudio...FrameType.channelUnsent: return try readChannel(type, at: start)
    default: throw .invalid("frame type", at: start)
    }
  }

  @_lifetime(self: copy self)
  private mutating func readPadding() throws(WireError) -> Frame {
    let start = reader.offset
    let rest = try reader.readRange(reader.remaining, "padding")
    for index in rest where packet[index] != 0 { throw .invalid("padding", at: index) }
    return .padding(byteCount: 1 + packet.count - start)
  }

  @_lifetime(self: copy self)
  private mutating func readClose() throws(WireError) -> Frame {
    let (frame, text) = try CloseFrame.parse(&reader)
    do {
      _ = try UTF8Span(validating: packet.bytes(at: text))
    } catch {
      throw .invalid("close text", at: text.start)
    }
    return .close(frame, text: text)
  }

  /// VIDEO reaches to the end of the packet (§1).
  @_lifetime(self: copy self) @inline(__always)
  private mutating func readVideo() throws(WireError) -> Frame {
    guard let frame = try VideoMediaFrame(parsing: &reader) else {
      _ = try reader.readRange(reader.remaining, "reserved video")
      return .skipped(type: FrameType.video)
    }
    let start = reader.offset
    let payload = PacketRange(try reader.readRange(reader.remaining, "video payload"))
    guard VideoMediaFrame.payloadByteCounts.contains(payload.count),
      Int(frame.lastFragmentByteCount) <= payload.count
    else { throw .invalid("video payload", at: start) }
    return .video(frame, payload: payload)
  }

  /// AUDIO reaches to the end of the packet (§1).
  @_lifetime(self: copy self) @inline(__always)
  private mutating func readAudio(_ type: UInt8) throws(WireError) -> Frame {
    guard let frame = try AudioMediaFrame(flags: type, parsing: &reader) else {
      _ = try reader.readRange(reader.remaining, "reserved audio")
      return .skipped(type: type)
    }
    let body = PacketRange(try reader.readRange(reader.remaining, "audio payload"))
    guard frame.hasCopies else {
      guard AudioMediaFrame.payloadByteCounts.contains(body.count) else {
        throw .invalid("audio payload", at: body.start)
      }
      return .audio(frame, body: body)
    }
    _ = try AudioBody(packet.bytes(at: body), hasCopies: true)
    return .audio(frame, body: body)
  }

  /// What goes between a member of a channel and its relay (docs/protocol/relay.md §3).
  @_lifetime(self: copy self)
  private mutating func readChannel(_ type: UInt8, at start: Int) throws(WireError) -> Frame {
    switch type {
    case FrameType.channelAudio..<FrameType.channelCopy:
      let frame = try ChannelAudioFrame(flags: type, parsing: &reader)
      let sealed = PacketRange(try reader.readRange(reader.remaining, "channel audio"))
      guard ChannelAudioFrame.sealedByteCounts.contains(sealed.count) else {
        throw .invalid("channel audio", at: sealed.start)
      }
      return .channelAudio(frame, sealed: sealed)
    case FrameType.channelCopy..<FrameType.channelSource:
      let (frame, sealed) = try ChannelCopyFrame.parse(flags: type, &reader)
      return .channelCopy(frame, sealed: sealed)
    case FrameType.channelSource: return .channelSource(try ChannelSourceFrame(parsing: &reader))
    case FrameType.channelKey:
      let (uid, bytes) = try ChannelWordFrame.parse(ChannelWordFrame.keyByteCounts, &reader)
      return .channelKey(uid: uid, bytes: bytes)
    case FrameType.channelWho: return .channelWho(uid: try reader.readUInt32("uid"))
    case FrameType.channelCard:
      let (uid, card) = try ChannelWordFrame.parse(ChannelWordFrame.cardByteCounts, &reader)
      return .channelCard(uid: uid, card: card)
    case FrameType.channelPicture:
      return .channelPicture(source: try ChannelPictureFrame.parse(&reader))
    case FrameType.channelWants:
      return .channelWants(bitsPerSecond: try reader.readUInt32("bits a second"))
    case FrameType.channelLow: return .channelLow(try ChannelLowFrame(parsing: &reader))
    case FrameType.channelUnsent: return .channelUnsent(try ChannelUnsentFrame(parsing: &reader))
    default: throw .invalid("frame type", at: start)
    }
  }

  @_lifetime(self: copy self)
  private mutating func readAudioReport() throws(WireError) -> Frame {
    let body = PacketRange(try reader.readRange(AudioReportFrame.bodyByteCount, "audio report"))
    _ = try AudioReportFrame(body: packet.bytes(at: body))
    return .audioReport(body: body)
  }

  @_lifetime(self: copy self)
  private mutating func readAudioRequest() throws(WireError) -> Frame {
    let start = reader.offset
    let flags = try reader.readUInt8("audio request flags")
    _ = try reader.readRange(Int(flags >> 4) * AudioRequestFrame.entryByteCount, "audio request")
    let body = PacketRange(start..<reader.offset)
    _ = try AudioRequestFrame(body: packet.bytes(at: body))
    return .audioRequest(body: body)
  }
}
