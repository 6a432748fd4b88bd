import Primitives

/// One frame of an opened DATA packet (docs/protocol/frames.md): small values, and the places in
/// the packet where its bytes are. Nothing is copied and nothing is allocated.
package enum Frame: Equatable, Sendable, BitwiseCopyable {
  /// The rest of the packet is zero.
  case padding(byteCount: Int)
  case ping(PingFrame)
  case pong(PongFrame)
  case feedback(FeedbackFrame)
  case message(MessageFrame, bytes: PacketRange)
  case credit(CreditFrame)
  case pathChallenge(PathChallengeFrame)
  case pathResponse(PathResponseFrame)
  case signal(body: PacketRange)
  case close(CloseFrame, text: PacketRange)
  /// `AudioBody` reads the body, which has been checked.
  case audio(AudioMediaFrame, body: PacketRange)
  /// `AudioReportFrame` reads the body, which has been checked.
  case audioReport(body: PacketRange)
  /// `AudioRequestFrame` reads the body, which has been checked.
  case audioRequest(body: PacketRange)
  case probeRequest(ProbeRequestFrame)
  case probeAnswer(ProbeAnswerFrame)
  case probePacket(ProbePacketFrame)
  case probeReport(ProbeReportFrame)
  case echoRequest(EchoRequestFrame)
  case echo(EchoFrame)
  case video(VideoMediaFrame, payload: PacketRange)
  case videoNack(VideoNackFrame)
  /// Channel frames go between a member and a relay alone (docs/protocol/relay.md §3).
  case channelAudio(ChannelAudioFrame, sealed: PacketRange)
  case channelCopy(ChannelCopyFrame, sealed: PacketRange)
  case channelSource(ChannelSourceFrame)
  case channelKey(uid: UInt32, bytes: PacketRange)
  case channelWho(uid: UInt32)
  case channelCard(uid: UInt32, card: PacketRange)
  case channelPicture(source: UInt8)
  case channelWants(bitsPerSecond: UInt32)
  case channelLow(ChannelLowFrame)
  case channelUnsent(ChannelUnsentFrame)
  /// An AUDIO or VIDEO frame of a kind that is reserved (§5 bit 0, §10); it reached the
  /// packet's end.
  case skipped(type: UInt8)

  /// How soon a receiver of this frame owes a FEEDBACK.
  package var demand: FeedbackDemand {
    switch self {
    case .ping, .message: .soon
    case .audio, .video, .channelAudio, .skipped: .interval
    case .padding, .pong, .feedback, .credit, .pathChallenge, .pathResponse, .signal, .close,
      .audioReport, .audioRequest, .videoNack, .probeRequest, .probeAnswer, .probePacket,
      .probeReport, .echoRequest, .echo, .channelCopy, .channelSource, .channelKey, .channelWho,
      .channelCard, .channelPicture, .channelWants, .channelLow,
      .channelUnsent:
      .none
    }
  }
}

/// How soon a packet asks to be reported (docs/protocol/frames.md §2); the greatest of its frames'
/// demands is the packet's.
package enum FeedbackDemand: UInt8, Comparable, Sendable, BitwiseCopyable {
  /// Reported when a FEEDBACK goes anyway.
  case none
  /// Reported with the next regular FEEDBACK.
  case interval
  /// Reported within 20 ms.
  case soon

  package static func < (left: FeedbackDemand, right: FeedbackDemand) -> Bool {
    left.rawValue < right.rawValue
  }
}

/// The first byte of each frame.
package enum FrameType {
  package static let padding: UInt8 = 0x00
  package static let ping: UInt8 = 0x01
  package static let pong: UInt8 = 0x02
  package static let feedback: UInt8 = 0x03
  package static let message: UInt8 = 0x04
  package static let credit: UInt8 = 0x05
  package static let video: UInt8 = 0x06
  package static let pathChallenge: UInt8 = 0x07
  package static let pathResponse: UInt8 = 0x08
  package static let signal: UInt8 = 0x09
  package static let close: UInt8 = 0x0A
  package static let audioReport: UInt8 = 0x0B
  package static let audioRequest: UInt8 = 0x0C
  package static let videoNack: UInt8 = 0x0D
  package static let probeRequest: UInt8 = 0x10
  package static let probeAnswer: UInt8 = 0x11
  package static let probePacket: UInt8 = 0x12
  package static let probeReport: UInt8 = 0x13
  package static let echoRequest: UInt8 = 0x14
  package static let echo: UInt8 = 0x15
  /// Bits 2..0 of the two are fields.
  package static let channelAudio: UInt8 = 0x20
  package static let channelCopy: UInt8 = 0x28
  package static let channelSource: UInt8 = 0x30
  package static let channelKey: UInt8 = 0x31
  package static let channelWho: UInt8 = 0x32
  package static let channelCard: UInt8 = 0x33
  package static let channelPicture: UInt8 = 0x34
  package static let channelWants: UInt8 = 0x35
  package static let channelLow: UInt8 = 0x36
  package static let channelUnsent: UInt8 = 0x37
  /// Bit 7 marks an AUDIO frame; the other bits are its fields.
  package static let audio: UInt8 = 0x80
}

/// Where some bytes lie in the packet that `FrameReader` was given.
package struct PacketRange: Equatable, Sendable, BitwiseCopyable {
  package let start: Int
  package let count: Int

  package init(_ range: Range<Int>) {
    start = range.lowerBound
    count = range.count
  }

  package var range: Range<Int> { start..<(start &+ count) }
  package var isEmpty: Bool { count == 0 }
}

extension Span where Element == UInt8 {
  /// The bytes at `range`; cut short where the packet does not have them (which only happens to
  /// a range that another packet gave).
  @_lifetime(copy self)
  package func bytes(at range: PacketRange) -> Span<UInt8> {
    let start = Swift.min(Swift.max(range.start, 0), count)
    let length = Swift.min(Swift.max(range.count, 0), count - start)
    return extracting(start..<(start + length))
  }
}
