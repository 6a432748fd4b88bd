/// How good the received audio was through the call, and where it was worst.
///
/// Scores are listening quality on the scale of PESQ-WB, 1...4.6, estimated over windows of two
/// seconds (`CallStatistics.Inbound.mosBasis`).
public struct AudioQuality: Sendable, Equatable {
  /// Why audio is bad, as far as its receiver can tell.
  public enum Reason: String, Sendable, Equatable, CaseIterable {
    /// Frames do not arrive, and nothing repairs them in time; or nothing at all arrives, and
    /// whether it is the path or the other host cannot be told.
    case loss
    /// They arrive, but too late; or so irregularly that they are heard more than 400 ms after they
    /// were spoken.
    case jitter
    /// They arrive regularly, but are heard more than 400 ms after they were spoken (ITU-T G.114).
    case delay
    /// The path carries too little: a queue grows, or the sender saves what headers cost.
    case bandwidth
    /// The other side is there, but sends no sound, or bad sound.
    case farEnd
  }

  /// A stretch of a call.
  public struct Spell: Sendable, Equatable {
    /// The estimate for it.
    public var mos: Double
    /// Where it began, in milliseconds of sound heard.
    public var beginMs: Int

    package init(mos: Double, beginMs: Int) {
      self.mos = mos
      self.beginMs = beginMs
    }
  }

  /// The last two seconds; `nil` before the first two are over, as the next three.
  public var lastMos: Double?
  /// Mean over all windows.
  public var meanMos: Double?
  /// What one window in ten does not reach.
  public var tenthPercentileMos: Double?
  /// The worst window.
  public var leastMos: Double?
  /// The worst five seconds; `nil` in a call that was shorter.
  public var worstFiveSeconds: Spell?
  /// Sound made up in windows of which 4 % and more were: speech that was really missing.
  public var frozenMs = 0
  /// Share of `activeMs`, 0...1.
  public var frozenRate = 0.0
  /// Time in windows.
  public var activeMs = 0
  /// Concealments of 150 ms and more (`interruptionCount`).
  public var interruptionCount = 0
  /// Their length in all.
  public var totalInterruptionMs = 0
  /// How often it became bad: below 3.0, or later than 400 ms.
  public var timesBad = 0
  /// Why it is bad now; `nil` while it is not.
  public var reason: Reason?

  package init() {}
}

/// Audio has become bad, or good again (`EndpointEvent.audioQualityChanged`), with the numbers of
/// the two seconds that decided.
public struct AudioQualityChange: Sendable, Equatable {
  /// Whether it is bad now.
  public var isBad: Bool
  /// Why; `nil` when it is good again.
  public var reason: AudioQuality.Reason?
  /// The estimate, 1...4.6.
  public var mos: Double
  /// Share of frames that were lost before anything repaired them, 0...1.
  public var lostFraction: Double
  /// Share of frames that nothing brought in time, 0...1.
  public var residualLostFraction: Double
  /// How long nothing at all had come; `nil` where packets came.
  public var silentMs: Int?
  /// Share of the sound that was made up, 0...1.
  public var concealedFraction: Double
  /// Interarrival jitter, RFC 3550 §6.4.1.
  public var jitterMs: Double
  /// Delay from mouth to ear, estimated; `nil` while it is not known.
  public var mouthToEarMs: Double?
  /// What the other side spends on the frames themselves.
  public var bitrateBps: Int

  package init(isBad: Bool, reason: AudioQuality.Reason?, mos: Double) {
    self.isBad = isBad
    self.reason = reason
    self.mos = mos
    lostFraction = 0
    residualLostFraction = 0
    concealedFraction = 0
    jitterMs = 0
    bitrateBps = 0
  }
}

/// Received audio in the vocabulary of Agora's RemoteAudioStats, with its meanings and units.
public struct RemoteAudioStats: Sendable, Equatable {
  /// 0 unknown, 1 excellent, 2 good, 3 poor, 4 bad, 5 very bad, 6 down.
  public var quality = 0
  /// One way, ms.
  public var networkTransportDelay = 0.0
  /// Mean wait in the jitter buffer, ms.
  public var jitterBufferDelay = 0.0
  /// Frames of the last two seconds that nothing brought in time, after FEC and retransmission, per
  /// cent.
  public var audioLossRate = 0.0
  /// 1 or 2.
  public var numChannels = 1
  /// Samples a second.
  public var receivedSampleRate = 48_000
  /// The mean since the first packet, copies included, kbit/s.
  public var receivedBitrate = 0
  /// Sound missing in windows of 2 s that miss 4 % and more of it, ms. (Agora counts the whole of
  /// such a window: frozen time here is never more than what was made up.)
  public var totalFrozenTime = 0
  /// Share of the active time, per cent.
  public var frozenRate = 0.0
  /// A hundred times the mean estimate, 100...500.
  public var mosValue = 0
  /// Time in such windows, ms.
  public var totalActiveTime = 0
  /// Why it is bad now; `nil` while it is not.
  public var qualityChangedReason: AudioQuality.Reason?
  /// From mouth to ear, ms: the sum of `delay`.
  public var e2eDelay = 0.0
  /// Where that time goes.
  public var delay = Delay()

  /// Parts of the way from mouth to ear, ms.
  public struct Delay: Sendable, Equatable {
    /// The frame, and what the encoder looks ahead.
    public var packetisation = 0.0
    /// One way: half the least round trip, as clocks are not synchronised.
    public var network = 0.0
    /// Behind the fastest packet: what jitter and repair need.
    public var jitterBuffer = 0.0

    package init() {}
  }

  package init() {}
}
