/// A call in numbers since its beginning. Names and units follow W3C webrtc-stats where it has
/// them; a value that was not measured is `nil`.
public struct CallStatistics: Sendable, Equatable {
  /// A distribution in milliseconds.
  public struct Milliseconds: Sendable, Equatable {
    /// Least; `nil` where it means nothing.
    public var min: Double?
    /// Median.
    public var p50: Double
    /// 95th percentile.
    public var p95: Double

    package init(min: Double? = nil, p50: Double, p95: Double) {
      self.min = min
      self.p50 = p50
      self.p95 = p95
    }
  }

  /// What this side sent (`outbound-rtp`).
  public struct Outbound: Sendable, Equatable {
    /// Media packets.
    public var packetsSent = 0
    /// Bytes of codec payload, copies of earlier frames included.
    public var bytesSent = 0
    /// Of these, copies of earlier frames that were sent in case those get lost.
    public var copyBytesSent = 0
    /// Frames sent again because the other side asked for them (`retransmittedPacketsSent`).
    public var retransmittedPacketsSent = 0
    /// Frames and what goes with them that an outage made too late to be sent.
    public var packetsHeldBack = 0
    /// UDP payload bytes of those packets.
    public var wireBytesSent = 0
    /// Codec payload, bits a second: the mean since the first packet.
    public var bitrateBps: Double = 0
    /// Share of own packets that the other side's last reports leave out, 0...1
    /// (`remote-inbound-rtp`).
    public var fractionLost: Double?
    /// The same over the whole call, of what was reported: audio frames before any repair; packets
    /// of any kind where no audio was reported.
    public var lostFraction: Double?
    /// Own packets of any kind that the other side's reports leave out (`remote-inbound-rtp`).
    public var packetsLost: Int?

    package init() {}
  }

  /// What this side received and played (`inbound-rtp`).
  public struct Inbound: Sendable, Equatable {
    /// Audio packets that arrived, in time or late; duplicates not counted.
    public var packetsReceived = 0
    /// Audio packets that did not arrive, before any repair (RFC 3550 §6.4.1): `recoveredByFec`,
    /// `recoveredByRetransmission` and `residualLost` together. One that comes late after all is
    /// not lost any more. Counted by media time, without what the sender says that it did not send
    /// (`Outbound.packetsHeldBack`).
    public var packetsLost = 0
    /// Packets and copies that came too late to be played, or could not be; none of them is lost.
    public var packetsDiscarded = 0
    /// Bytes of codec payload.
    public var bytesReceived = 0
    /// Codec payload, bits a second: the mean since the first packet.
    public var bitrateBps: Double = 0
    /// Lost packets whose audio a copy in a later packet, a parity or in-band FEC brought in time.
    public var recoveredByFec = 0
    /// Frames that this side asked for again (`nackCount`).
    public var nackCount = 0
    /// Lost packets that were sent again and came in time.
    public var recoveredByRetransmission = 0
    /// Lost packets that nothing brought in time: what is heard of the loss.
    public var residualLost = 0
    /// Samples played, concealed ones included (`totalSamplesReceived`).
    public var totalSamplesReceived: UInt64 = 0
    /// Samples made up (`concealedSamples`).
    public var concealedSamples: UInt64 = 0
    /// Of those, silent ones.
    public var silentConcealedSamples: UInt64 = 0
    /// Times that concealment began.
    public var concealmentEvents: UInt64 = 0
    /// Samples added to slow down.
    public var insertedSamplesForDeceleration: UInt64 = 0
    /// Samples taken out to speed up.
    public var removedSamplesForAcceleration: UInt64 = 0
    /// Interarrival jitter, RFC 3550 §6.4.1, in milliseconds.
    public var jitterMs: Double = 0
    /// Time frames waited to be played.
    public var jitterBufferDelayMs: Milliseconds?
    /// Delay from the other side's microphone to this side's ear, estimated: half the round trip,
    /// one frame, the encoder's look-ahead and the jitter buffer.
    public var mouthToEarMs: Milliseconds?
    /// Level of the last 5 ms given out, 0...1 (`audioLevel`).
    public var audioLevel: Double = 0
    /// Listening quality, 1...4.6, estimated.
    public var mos: Double?
    /// What the estimate rests on.
    public var mosBasis: String?

    package init() {}

    /// Share of what was played that was made up, 0...1.
    public var concealedFraction: Double {
      totalSamplesReceived == 0 ? 0 : Double(concealedSamples) / Double(totalSamplesReceived)
    }

    /// Share of the packets sent to us that did not arrive, before any repair, 0...1.
    public var lostFraction: Double { share(packetsLost) }

    /// Share of the packets sent to us that nothing brought in time, 0...1.
    public var residualLostFraction: Double { share(residualLost) }

    private func share(_ count: Int) -> Double {
      let all = packetsReceived + packetsLost
      return all == 0 ? 0 : Double(count) / Double(all)
    }
  }

  /// The path in use (`candidate-pair`).
  public struct Path: Sendable, Equatable {
    /// How the two reach each other.
    public var kind: PathKind
    /// The own address that packets to `remote` come from, before any address translator.
    public var local: SocketAddress
    /// The other side's address.
    public var remote: SocketAddress
    /// How often media moved to another path.
    public var changes: Int

    package init(kind: PathKind, local: SocketAddress, remote: SocketAddress, changes: Int) {
      self.kind = kind
      self.local = local
      self.remote = remote
      self.changes = changes
    }
  }

  /// When these numbers were read, in milliseconds since the call's zero point.
  public var atMs: Int
  /// The same in milliseconds since 1970 UTC (W3C `timestamp`); `nil` for a call heard again.
  public var timestamp: Double?
  /// Sent audio.
  public var sent = Outbound()
  /// Received audio.
  public var received = Inbound()
  /// Sent video; `nil` where there is none.
  public var videoSent: VideoOutbound?
  /// Received video; `nil` where there is none.
  public var videoReceived: VideoInbound?
  /// The way out as congestion control knows it; `nil` before there was a session.
  public var congestion: Congestion?
  /// Every change between video and audio alone so far, the first thousand of them.
  public var fallbacks: [FallbackChange] = []
  /// The rest of what is known of audio; `nil` before audio began.
  public var audio: AudioDetails?
  /// Rates since the numbers before; `nil` in the first, and where they were asked for in between.
  public var interval: Interval?
  /// What the program and its host are busy with; told with the numbers of each interval.
  public var usage: Usage?
  /// The path; `nil` before one is proven.
  public var path: Path?
  /// Round-trip time.
  public var rttMs: Milliseconds?
  /// Round-trip time now, smoothed, in milliseconds.
  public var currentRttMs: Double?
  /// Sum of all measured round trips in milliseconds (`totalRoundTripTime`), and how many there
  /// were (`roundTripTimeMeasurements`).
  public var totalRttMs = 0.0
  /// See `totalRttMs`.
  public var rttMeasurements = 0
  /// UDP payload bytes above the codec, for each audio packet.
  public var overheadBytesPerAudioPacket: Double?
  /// What both sides think of the line, and which pictures they send.
  var views = Views()
  /// What the grades go by.
  package var fates = Fates()

  package init(atMs: Int) { self.atMs = atMs }
}
