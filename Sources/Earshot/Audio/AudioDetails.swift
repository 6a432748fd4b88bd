/// What webrtc-stats knows of a call's audio beyond `CallStatistics`, with its names; times are
/// seconds, as there. Samples are counted a channel.
///
/// Of its names for audio these are missing, as nothing measures them: `headerBytesReceived`,
/// `estimatedPlayoutTimestamp` (no common clock), `packetsReceivedWithCe` (no ECN),
/// `totalPacketSendDelay`, `totalPlayoutDelay` and echo (no sound devices).
public struct AudioDetails: Sendable, Equatable {
  /// `inbound-rtp`.
  public struct Inbound: Sendable, Equatable {
    /// Milliseconds since 1970 UTC; `nil` before the first packet.
    public var lastPacketReceivedTimestamp: Double?
    /// Packets that came twice, or again.
    public var packetsDuplicated: UInt64 = 0
    /// Copies that rode in later packets, needed or not.
    public var fecPacketsReceived: UInt64 = 0
    /// Their bytes.
    public var fecBytesReceived: UInt64 = 0
    /// Of them, those that were not needed or came too late.
    public var fecPacketsDiscarded: UInt64 = 0
    /// Frames that came again because they were asked for.
    public var retransmittedPacketsReceived: UInt64 = 0
    /// Their bytes.
    public var retransmittedBytesReceived: UInt64 = 0
    /// Sum over all samples of the time from arrival to playout.
    public var jitterBufferDelay = 0.0
    /// The same of the delay aimed at.
    public var jitterBufferTargetDelay = 0.0
    /// The same of the least that the path would allow.
    public var jitterBufferMinimumDelay = 0.0
    /// Samples that these sums are over.
    public var jitterBufferEmittedCount: UInt64 = 0
    /// The sum of the time from arrival to readiness: `jitterBufferDelay` and decoding.
    public var totalProcessingDelay = 0.0
    /// Sum of squared levels times seconds.
    public var totalAudioEnergy = 0.0
    /// Seconds of sound given out.
    public var totalSamplesDuration = 0.0
    /// Those of them that were no silence: with a peak of −54 dBFS or more in 5 ms. Noise that is
    /// made up while nothing comes is below it.
    public var audibleDuration = 0.0
    /// Samples made up for packets that came after all, but too late.
    public var delayedPacketOutageSamples: UInt64 = 0
    /// Sum over packets of how much later they came than the fastest of late.
    public var relativePacketArrivalDelay = 0.0
    /// Times that the other side began a new time line.
    public var jitterBufferFlushes: UInt64 = 0
    /// Concealments of 150 ms and more.
    public var interruptionCount: UInt64 = 0
    /// Their length in all.
    public var totalInterruptionDuration = 0.0

    package init() {}
  }

  /// `outbound-rtp` and `media-source`.
  public struct Outbound: Sendable, Equatable {
    /// UDP payload above the codec.
    public var headerBytesSent = 0
    /// Bytes of frames sent again, with their headers.
    public var retransmittedBytesSent: UInt64 = 0
    /// Bits a second that the encoder and its copies aim at.
    public var targetBitrate = 0
    /// Frames that the other side asked for.
    public var nackCount: UInt64 = 0
    /// Whether anything is to be sent: not while muted.
    public var active = true
    /// Of the last frame from the source, 0...1.
    public var audioLevel = 0.0
    /// Sum of squared levels times seconds.
    public var totalAudioEnergy = 0.0
    /// Seconds of sound from the source.
    public var totalSamplesDuration = 0.0

    package init() {}
  }

  /// `remote-inbound-rtp`: what the other side's reports say of the audio sent to it.
  public struct Remote: Sendable, Equatable {
    /// Frames that its reports tell of; the rest it has said nothing of.
    public var packetsExpected = 0
    /// Of these, frames whose own packet did not come, before any repair.
    public var packetsLost = 0
    /// Between its last two reports, 0...1.
    public var fractionLost = 0.0
    /// Interarrival jitter.
    public var jitter = 0.0
    /// Of the lost, frames that nothing brought in time.
    public var residualLost = 0
    /// The playout delay that it aims at.
    public var jitterBufferTarget = 0.0

    package init() {}
  }

  /// Delays of the sound that was given out lately.
  public struct RecentDelay: Sendable, Equatable {
    /// How long that is, in milliseconds: the 2 s since the numbers before, or 1 to 3 s where they
    /// are asked for in between.
    public var durationMs: Int
    /// Time that frames waited to be played, in milliseconds.
    public var jitterBufferDelayMs: CallStatistics.Milliseconds
    /// From the other side's microphone to this side's ear, estimated, in milliseconds: as
    /// `CallStatistics.Inbound.mouthToEarMs`, with the queue that stands on the path; `nil` while
    /// no round trip is known.
    public var mouthToEarMs: CallStatistics.Milliseconds?

    package init(durationMs: Int, jitterBufferDelayMs: CallStatistics.Milliseconds) {
      self.durationMs = durationMs
      self.jitterBufferDelayMs = jitterBufferDelayMs
    }
  }

  /// Received.
  public var inbound = Inbound()
  /// Sent.
  public var outbound = Outbound()
  /// As the other side received it; `nil` before its first report.
  public var remote: Remote?
  /// Of the last 2 s; `nil` where nothing was given out in them, and in what tells of a whole call.
  public var recentDelay: RecentDelay?
  /// How good what was received sounded, through time.
  public var quality = AudioQuality()
  /// The same in Agora's words.
  public var agora = RemoteAudioStats()

  package init() {}
}
