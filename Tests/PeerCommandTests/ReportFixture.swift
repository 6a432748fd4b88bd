import Earshot
import PeerCommand

/// A call with a number for everything.
enum Sample {
  static let id = CallID(bytes: Array(0..<16))

  static func statistics(atMs: Int = 4000, packets: Int = 200) -> CallStatistics {
    var numbers = CallStatistics(atMs: atMs)
    numbers.sent.packetsSent = packets
    numbers.sent.bytesSent = packets * 80
    numbers.sent.wireBytesSent = packets * 108
    numbers.sent.bitrateBps = 32_000
    numbers.sent.fractionLost = 0.01
    numbers.sent.lostFraction = 0.012
    numbers.timestamp = 1_772_366_400_123.457
    numbers.received.packetsReceived = packets - 2
    numbers.received.packetsLost = 2
    numbers.received.recoveredByFec = 1
    numbers.received.residualLost = 1
    numbers.received.bytesReceived = packets * 80
    numbers.received.bitrateBps = 31_900
    numbers.received.totalSamplesReceived = UInt64(packets) * 960
    numbers.received.concealedSamples = 960
    numbers.received.jitterMs = 1.5
    numbers.received.audioLevel = 0.1
    numbers.received.jitterBufferDelayMs = CallStatistics.Milliseconds(p50: 40, p95: 61.5)
    numbers.received.mouthToEarMs = CallStatistics.Milliseconds(p50: 80, p95: 110)
    numbers.received.mos = 4.2
    numbers.received.mosBasis = "estimated <for> \"tests\" & such"
    numbers.rttMs = CallStatistics.Milliseconds(min: 19, p50: 20, p95: 25)
    numbers.currentRttMs = 20.5
    numbers.overheadBytesPerAudioPacket = 28
    numbers.qualityTx = 1
    numbers.qualityRx = 2
    numbers.path = CallStatistics.Path(
      kind: .direct, local: SocketAddress(v4: 192, 0, 2, 1, port: 5000),
      remote: SocketAddress(v4: 192, 0, 2, 2, port: 5001), changes: 1)
    return numbers
  }

  /// The same with all that is known of audio.
  static func detailed() -> CallStatistics {
    var numbers = statistics()
    numbers.totalRttMs = 4100
    numbers.rttMeasurements = 200
    var audio = AudioDetails()
    audio.inbound.lastPacketReceivedTimestamp = 1_772_366_400_123.5
    audio.inbound.jitterBufferDelay = 7680
    audio.inbound.jitterBufferTargetDelay = 5760
    audio.inbound.jitterBufferEmittedCount = 192_000
    audio.inbound.totalProcessingDelay = 7700
    audio.inbound.fecPacketsReceived = 12
    audio.inbound.interruptionCount = 2
    audio.outbound.targetBitrate = 56_000
    var recent = AudioDetails.RecentDelay(
      durationMs: 2000, jitterBufferDelayMs: CallStatistics.Milliseconds(p50: 70, p95: 90))
    recent.mouthToEarMs = CallStatistics.Milliseconds(p50: 310, p95: 340)
    audio.recentDelay = recent
    var remote = AudioDetails.Remote()
    remote.packetsExpected = 180
    remote.packetsLost = 3
    remote.residualLost = 1
    remote.fractionLost = 0.015
    remote.jitter = 0.004
    audio.remote = remote
    audio.quality.meanMos = 4.1
    audio.quality.worstFiveSeconds = AudioQuality.Spell(mos: 2.25, beginMs: 61_500)
    audio.quality.timesBad = 1
    audio.quality.interruptionCount = 2
    audio.quality.totalInterruptionMs = 420
    audio.quality.frozenMs = 6000
    audio.quality.frozenRate = 0.1
    audio.quality.reason = .loss
    audio.agora.mosValue = 410
    audio.agora.e2eDelay = 80
    audio.agora.delay.packetisation = 26.5
    audio.agora.qualityChangedReason = .loss
    numbers.audio = audio
    return numbers
  }

  static func change(isBad: Bool = true) -> AudioQualityChange {
    var change = AudioQualityChange(isBad: isBad, reason: isBad ? .loss : nil, mos: 2.31)
    change.lostFraction = 0.143
    change.residualLostFraction = 0.088
    change.concealedFraction = 0.09
    change.jitterMs = 3
    change.mouthToEarMs = 131
    change.bitrateBps = 30_100
    return change
  }

  static func report(_ outcome: CallReport.Outcome = .completed) -> CallReport {
    var report = CallReport(callID: id, outcome: outcome, reason: "It ended.", role: .caller)
    report.peerName = "bob"
    report.peer = .zero
    report.trust = .pinned
    report.durationMs = 4000
    report.timeline.deliveredMs = 10
    report.timeline.acceptedMs = 20
    report.timeline.pathReadyMs = 30
    report.timeline.firstFrameSentMs = 31
    report.timeline.firstFrameReceivedMs = 50
    report.timeline.connectedMs = 51
    report.statistics = statistics()
    return report
  }
}
