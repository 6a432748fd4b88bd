package import Primitives

/// What a sender counts, by the names of W3C webrtc-stats (RTCOutboundRtpStreamStats).
package struct VideoSendStatistics: Equatable, Sendable {
  package var framesEncoded = 0
  package var keyFramesEncoded = 0
  package var framesSent = 0
  /// More than 2.5 times the mean of the frames before.
  package var hugeFramesSent = 0
  /// Encoded, but left out because the path was behind; not in the standard.
  package var framesDiscarded = 0
  package var packetsSent = 0
  /// Of fragments, without headers.
  package var bytesSent = 0
  package var retransmittedPacketsSent = 0
  package var retransmittedBytesSent = 0
  /// Sent again though nobody asked, to fill what the pictures leave of the path; not in the
  /// standard.
  package var repeatedPacketsSent = 0
  package var repeatedBytesSent = 0
  /// Parity, which `packetsSent` does not count; not in the standard, which has it of a receiver.
  package var fecPacketsSent = 0
  package var fecBytesSent = 0
  /// VIDEO_NACK frames with entries.
  package var nackCount = 0
  /// VIDEO_NACK frames that wanted a key frame.
  package var pliCount = 0
  package var qpSum = 0

  package init() {}
}

/// What a receiver counts, by the names of W3C webrtc-stats (RTCInboundRtpStreamStats).
package struct VideoReceiveStatistics: Equatable, Sendable {
  package var packetsReceived = 0
  /// When a packet of any kind came last.
  package var lastPacketReceived: Instant?
  /// Of fragments, without headers.
  package var bytesReceived = 0
  package var retransmittedPacketsReceived = 0
  /// Sent again, and not needed; no other number has got them. Not in the standard.
  package var repeatedPacketsReceived = 0
  /// Parity, which `packetsReceived` does not count.
  package var fecPacketsReceived = 0
  package var fecBytesReceived = 0
  /// Of these, what came too late, twice, or after the frame was whole.
  package var fecPacketsDiscarded = 0
  /// Frames that were put together by parity; not in the standard.
  package var framesRecovered = 0
  /// Fragments whose own packet had not come when their frame was given out or passed by, whatever
  /// repaired them; of a frame none of which came one, as nobody knows how many it had. One that
  /// its own repetition overtook counts too.
  package var packetsLost = 0
  /// Of these, the ones that were sent again, asked or not, and came in time.
  package var packetsRecoveredByRetransmission = 0
  /// Of these, the ones that parity brought back.
  package var packetsRecoveredByFec = 0
  /// Twice, or too late to be of use, or contradicting others of the frame.
  package var packetsDiscarded = 0
  /// Whole frames.
  package var framesReceived = 0
  package var keyFramesReceived = 0
  /// Numbers that were passed by without a frame to decode.
  package var framesDropped = 0
  package var framesAssembledFromMultiplePackets = 0
  /// VIDEO_NACK frames with entries that were made.
  package var nackCount = 0
  /// VIDEO_NACK frames that asked for a key frame.
  package var pliCount = 0
  /// Times that everything held was thrown away; not in the standard.
  package var resetCount = 0

  package init() {}

  /// Adds what another part of the same stream of pictures had.
  package mutating func add(_ other: VideoReceiveStatistics) {
    lastPacketReceived =
      [lastPacketReceived, other.lastPacketReceived].compactMap(\.self).max()
    packetsReceived += other.packetsReceived
    bytesReceived += other.bytesReceived
    retransmittedPacketsReceived += other.retransmittedPacketsReceived
    repeatedPacketsReceived += other.repeatedPacketsReceived
    fecPacketsReceived += other.fecPacketsReceived
    fecBytesReceived += other.fecBytesReceived
    fecPacketsDiscarded += other.fecPacketsDiscarded
    framesRecovered += other.framesRecovered
    packetsLost += other.packetsLost
    packetsRecoveredByRetransmission += other.packetsRecoveredByRetransmission
    packetsRecoveredByFec += other.packetsRecoveredByFec
    packetsDiscarded += other.packetsDiscarded
    framesReceived += other.framesReceived
    keyFramesReceived += other.keyFramesReceived
    framesDropped += other.framesDropped
    framesAssembledFromMultiplePackets += other.framesAssembledFromMultiplePackets
    nackCount += other.nackCount
    pliCount += other.pliCount
    resetCount += other.resetCount
  }
}
