internal import Audio

/// What a call's audio has been through, both ways.
struct AudioNumbers: Sendable {
  var playout: PlayoutStatistics
  var quality: QualityMonitor
  var report: ReceptionReport
  /// Of the sound given out.
  var channels: Int
  /// Of the frames received.
  var frameMilliseconds: Int
  var account = AudioAccount()
  var sent = RedundancyStatistics()
  /// What the plan makes of frames and copies, in bits a second.
  var targetBitrate = 0
  var isMuted = false
  /// Frames whose own packet was lost, and that a copy or a repetition brought.
  var repairedByCopies: UInt64 = 0
  var repairedByRetransmissions: UInt64 = 0
  /// Frames that this side asked for.
  var requested: UInt64 = 0

  init(_ buffer: borrowing JitterBuffer) {
    playout = buffer.statistics
    quality = buffer.quality
    report = buffer.report
    channels = buffer.channels
    frameMilliseconds = buffer.frameMilliseconds
  }

  /// The frame, and what the other side's encoder looks ahead (RFC 6716 §2.1.7).
  var packetisationMilliseconds: Double { Double(frameMilliseconds) + 6.5 }
}
