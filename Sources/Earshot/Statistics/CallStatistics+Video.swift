internal import Peer
internal import Primitives
internal import Video

extension CallStatistics {
  /// What this side sent of its video (`outbound-rtp`).
  public struct VideoOutbound: Sendable, Equatable {
    /// Pictures that the source gave.
    public var framesCaptured = 0
    /// Frames that the encoder made.
    public var framesEncoded = 0
    /// Of those, key frames.
    public var keyFramesEncoded = 0
    /// Frames that left whole.
    public var framesSent = 0
    /// Encoded, but left out because the path was behind.
    public var framesDiscarded = 0
    /// Frames far larger than those before.
    public var hugeFramesSent = 0
    /// Packets, without those sent again.
    public var packetsSent = 0
    /// Bytes of VP8, without those sent again.
    public var bytesSent = 0
    /// Packets sent again because the other side asked for them.
    public var retransmittedPacketsSent = 0
    /// The same in bytes.
    public var retransmittedBytesSent = 0
    /// Packets of parity, from which lost ones can be made anew; `packetsSent` has not got them.
    public var fecPacketsSent = 0
    /// The same in bytes.
    public var fecBytesSent = 0
    /// Packets sent again though nobody asked, in room that the pictures left; `packetsSent` has
    /// not got them.
    public var repeatedPacketsSent = 0
    /// Requests for lost packets.
    public var nackCount = 0
    /// Requests for a key frame.
    public var pliCount = 0
    /// libvpx's quantizers, 0...63, of all frames added up.
    public var qpSum = 0
    /// Seconds.
    public var totalEncodeTime = 0.0
    /// Of the last second.
    public var framesPerSecond = 0
    /// Of the last frame, in pixels; 0 before the first.
    public var frameWidth = 0
    /// Of the last frame, in pixels; 0 before the first.
    public var frameHeight = 0
    /// What the encoder is to keep to, in bit/s.
    public var targetBitrateBps = 0.0
    /// Since the call began, in bit/s.
    public var bitrateBps = 0.0
    /// Why it is not the source's size and rate: `none`, `bandwidth` or `cpu`.
    public var qualityLimitationReason = "none"
    /// Seconds with each of the reasons.
    public var qualityLimitationDurations: [String: Double] = [:]
    /// How often the size changed.
    public var qualityLimitationResolutionChanges = 0
    /// Whether none goes out at the moment: muted, not wanted, or fallen back to audio alone.
    public var isPaused = false

    package init() {}
  }

  /// What this side received and showed (`inbound-rtp`).
  public struct VideoInbound: Sendable, Equatable {
    /// Packets.
    public var packetsReceived = 0
    /// Bytes of VP8.
    public var bytesReceived = 0
    /// Packets that were sent again.
    public var retransmittedPacketsReceived = 0
    /// Packets that did not come, before any repair, counted when their frame is shown or passed
    /// by: `recoveredByFec`, `recoveredByRetransmission` and `residualLost` together. Of a frame
    /// none of which came one, as nobody knows how many it had.
    public var packetsLost = 0
    /// Lost packets that parity brought back.
    public var recoveredByFec = 0
    /// Lost packets that were sent again and came in time.
    public var recoveredByRetransmission = 0
    /// Lost packets that nothing brought in time.
    public var residualLost: Int {
      max(0, packetsLost - recoveredByFec - recoveredByRetransmission)
    }
    /// Packets of no use: twice, too late.
    public var packetsDiscarded = 0
    /// Packets of parity; `packetsReceived` has not got them.
    public var fecPacketsReceived = 0
    /// The same in bytes.
    public var fecBytesReceived = 0
    /// Of these packets, those that nothing was missing for any more.
    public var fecPacketsDiscarded = 0
    /// Frames that were whole only by parity.
    public var framesRecovered = 0
    /// Whole frames.
    public var framesReceived = 0
    /// Frames that were decoded.
    public var framesDecoded = 0
    /// Of those, key frames.
    public var keyFramesDecoded = 0
    /// Frames that were never decoded.
    public var framesDropped = 0
    /// Frames that the decoder refused.
    public var decodeFailures = 0
    /// Requests for lost packets.
    public var nackCount = 0
    /// Requests for a key frame.
    public var pliCount = 0
    /// Intervals between two pictures of at least max(3 × mean, mean + 150 ms) of the last 30
    /// (W3C).
    public var freezeCount = 0
    /// Seconds.
    public var totalFreezesDuration = 0.0
    /// Seconds in which pictures were expected and shown.
    public var activeTime = 0.0
    /// Seconds.
    public var totalDecodeTime = 0.0
    /// Seconds from the first packet of a frame to its picture, of all frames.
    public var totalProcessingDelay = 0.0
    /// Seconds that whole frames waited to be shown with their sound, of all frames.
    public var totalHold = 0.0
    /// Of the last second.
    public var framesPerSecond = 0
    /// Of the last picture, in pixels; 0 before the first.
    public var frameWidth = 0
    /// Of the last picture, in pixels; 0 before the first.
    public var frameHeight = 0
    /// Since the call began, in bit/s.
    public var bitrateBps = 0.0
    /// How far pictures were from their sound, in milliseconds; positive: behind it.
    public var lipOffsetMs: Milliseconds?

    /// Share of the packets sent to us that did not come, before any repair, 0...1.
    public var lostFraction: Double { share(packetsLost) }

    /// Share of the packets sent to us that nothing brought in time, 0...1.
    public var residualLostFraction: Double { share(residualLost) }

    private func share(_ count: Int) -> Double {
      let own = max(0, packetsReceived - retransmittedPacketsReceived - packetsDiscarded)
      return count == 0 ? 0 : min(1, Double(count) / Double(own + packetsLost))
    }

    package init() {}
  }

  /// What congestion control knows of the way out.
  public struct Congestion: Sendable, Equatable {
    /// What the path is believed to carry, in bit/s on the line: at most one and a half times
    /// what it has been seen to carry.
    public var estimateBps: Double
    /// What the other side acknowledges, in bit/s on the line.
    public var acknowledgedBps: Double
    /// At which packets leave, in bit/s on the line.
    public var pacingRateBps: Double = 0
    /// What the endpoint's other calls leave this one of the uplink, in bit/s on the line; `nil`
    /// while it is the only one.
    public var uplinkShareBps: Double?
    /// Bytes of padding since the call began, which carries nothing: it shows what the path
    /// carries, and how long packets may be. No other number of bytes has got them.
    public var paddingBytesSent = 0
    /// What the own packets wait on the path, in milliseconds.
    public var queueDelayMs: Double
    /// What the estimator does.
    public var state: String
    /// Why the estimate changed last.
    public var reason: String
    /// Median of the estimates of the call, in bit/s.
    public var estimateP50Bps: Double?
    /// How long packets waited on the path: the distribution of all packets of the call.
    public var queueDelays: Milliseconds?

    package init(
      estimateBps: Double, acknowledgedBps: Double, queueDelayMs: Double, state: String,
      reason: String
    ) {
      self.estimateBps = estimateBps
      self.acknowledgedBps = acknowledgedBps
      self.queueDelayMs = queueDelayMs
      self.state = state
      self.reason = reason
    }
  }
}
