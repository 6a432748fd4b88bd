/// A received stream in the vocabulary of Agora's RemoteAudioStats, in its units, with the delay
/// split by cause.
package struct RemoteAudioStatistics: Equatable, Sendable {
  /// 0 unknown, 1 excellent, 2 good, 3 poor, 4 bad, 5 very bad, 6 down.
  package let quality: Int
  /// One way, in milliseconds.
  package let networkTransportDelay: Double
  package let jitterBufferDelay: Double
  /// Frames of the last two seconds that nothing brought in time, in per cent: after copies and
  /// retransmission. 0 before they are over.
  package let audioLossRate: Double
  package let numChannels: Int
  package let receivedSampleRate = AudioFormat.sampleRateHz
  /// In kbit/s.
  package let receivedBitrate: Int
  /// In milliseconds.
  package let totalFrozenTime: Int
  /// In per cent of the active time.
  package let frozenRate: Double
  /// A hundred times the estimate: 100...500.
  package let mosValue: Int
  /// In milliseconds.
  package let totalActiveTime: Int
  /// Why it is bad now; `nil` while it is not.
  package let qualityChangedReason: QualityChange.Cause?
  /// From mouth to ear, in milliseconds: the sum of the parts.
  package let e2eDelay: DelaySplit

  /// - Parameters:
  ///   - cause: of the last change to bad, as the owner of the call has polled it.
  ///   - receivedBitrate: in bits a second, copies included.
  package init(
    _ statistics: PlayoutStatistics, _ monitor: QualityMonitor, delay: DelaySplit, channels: Int,
    receivedBitrate: Int, cause: QualityChange.Cause?
  ) {
    e2eDelay = delay
    networkTransportDelay = delay.network
    jitterBufferDelay = statistics.meanDelayMilliseconds ?? 0
    audioLossRate = (monitor.lastMissingFraction ?? 0) * 100
    numChannels = channels
    self.receivedBitrate = (receivedBitrate + 500) / 1000
    totalFrozenTime = Int(monitor.frozenSeconds * 1000)
    frozenRate = monitor.frozenRate * 100
    totalActiveTime = Int(monitor.activeSeconds * 1000)
    mosValue = Int(((monitor.meanScore ?? 0) * 100).rounded())
    qualityChangedReason = monitor.isBad ? cause : nil
    let isDown = monitor.isSilent && statistics.packetsReceived > 0
    quality = isDown ? 6 : Self.grade(monitor.lastScore)
  }

  /// Agora's bands: above 400 excellent, then each 50 one worse.
  static func grade(_ score: Double?) -> Int {
    guard let score else { return 0 }
    switch score {
    case 4...: return 1
    case 3.5..<4: return 2
    case 3..<3.5: return 3
    case 2.5..<3: return 4
    default: return 5
    }
  }
}

/// Where the time from mouth to ear goes, in milliseconds.
package struct DelaySplit: Equatable, Sendable {
  /// The frame itself, and what the encoder looks ahead.
  package var packetisation = 0.0
  package var sendQueue = 0.0
  /// One way; half the round trip where clocks are not synchronised.
  package var network = 0.0
  package var jitterBuffer = 0.0
  package var playout = 0.0

  package init() {}

  package var total: Double { packetisation + sendQueue + network + jitterBuffer + playout }
}
