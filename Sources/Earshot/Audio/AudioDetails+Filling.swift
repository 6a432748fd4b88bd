internal import Audio
internal import Primitives
internal import Reactor

extension AudioDetails {
  /// - Parameters:
  ///   - now: by the clock that the arrivals have; `nil` for those of another time.
  ///   - headerBytesSent: of all audio packets.
  init(_ numbers: AudioNumbers, now: Instant?, headerBytesSent: Int) {
    inbound = Inbound(numbers, now: now)
    outbound.headerBytesSent = headerBytesSent
    outbound.retransmittedBytesSent = numbers.sent.retransmittedBytesSent
    outbound.targetBitrate = numbers.targetBitrate
    outbound.nackCount = numbers.sent.framesRequested
    outbound.active = !numbers.isMuted
    outbound.audioLevel = numbers.account.source.level
    outbound.totalAudioEnergy = numbers.account.source.energy
    outbound.totalSamplesDuration = numbers.account.source.seconds
    if numbers.account.remote.reportsReceived > 0 { remote = Remote(numbers.account.remote) }
    quality = AudioQuality(numbers.quality, numbers.playout, cause: numbers.account.cause)
  }
}

extension AudioDetails.Inbound {
  init(_ numbers: AudioNumbers, now: Instant?) {
    let playout = numbers.playout
    if let now, playout.lastPacketReceivedNanoseconds > 0 {
      let last = Instant(nanoseconds: playout.lastPacketReceivedNanoseconds)
      lastPacketReceivedTimestamp = SystemClock.wallMilliseconds(of: last, now: now)
    }
    packetsDuplicated = playout.packetsDuplicated
    fecPacketsReceived = playout.copiesReceived
    fecBytesReceived = numbers.account.bytes.copies
    fecPacketsDiscarded = playout.copiesDiscarded
    retransmittedPacketsReceived = playout.retransmittedPacketsReceived
    retransmittedBytesReceived = numbers.account.bytes.retransmitted
    jitterBufferDelay = playout.jitterBufferDelay / 1e9
    jitterBufferTargetDelay = playout.jitterBufferTargetDelay / 1e9
    jitterBufferMinimumDelay = playout.jitterBufferMinimumDelay / 1e9
    jitterBufferEmittedCount = playout.jitterBufferEmittedCount
    totalProcessingDelay = (playout.jitterBufferDelay + numbers.account.pullNanoseconds) / 1e9
    totalAudioEnergy = playout.totalAudioEnergy
    totalSamplesDuration = playout.totalSamplesDuration
    audibleDuration = Double(playout.audibleSamples) / 48_000
    delayedPacketOutageSamples = playout.delayedPacketOutageSamples
    relativePacketArrivalDelay = playout.relativePacketArrivalDelay / 1e9
    jitterBufferFlushes = playout.restarts
    interruptionCount = playout.interruptionCount
    totalInterruptionDuration = Double(playout.totalInterruptionSamples) / 48_000
  }
}

extension AudioDetails.Remote {
  init(_ remote: RemoteReception) {
    packetsExpected = Int(clamping: remote.framesExpected)
    packetsLost = Int(clamping: remote.framesLost)
    fractionLost = remote.lossFraction
    jitter = Double(remote.jitterMilliseconds) / 1000
    residualLost = Int(clamping: remote.framesUnrepaired)
    jitterBufferTarget = Double(remote.targetDelayMilliseconds) / 1000
  }
}

extension AudioQuality {
  init(_ monitor: QualityMonitor, _ playout: PlayoutStatistics, cause: QualityChange.Cause?) {
    lastMos = monitor.lastScore.map(Self.rounded)
    meanMos = monitor.meanScore.map(Self.rounded)
    tenthPercentileMos = monitor.tenthPercentile.map(Self.rounded)
    leastMos = monitor.leastScore.map(Self.rounded)
    worstFiveSeconds = monitor.worstFiveSeconds.map {
      Spell(mos: Self.rounded($0.score), beginMs: Int($0.begin * 1000))
    }
    frozenMs = Int(monitor.frozenSeconds * 1000)
    frozenRate = monitor.frozenRate
    activeMs = Int(monitor.activeSeconds * 1000)
    interruptionCount = Int(clamping: playout.interruptionCount)
    totalInterruptionMs = Int(clamping: playout.totalInterruptionSamples / 48)
    timesBad = monitor.changesToBad
    reason = monitor.isBad ? cause.map(Reason.init) : nil
  }

  /// To the hundredth: more than that no estimate knows.
  static func rounded(_ score: Double) -> Double { (score * 100).rounded() / 100 }
}

extension AudioQuality.Reason {
  init(_ cause: QualityChange.Cause) {
    switch cause {
    case .loss: self = .loss
    case .jitter: self = .jitter
    case .delay: self = .delay
    case .bandwidth: self = .bandwidth
    case .farEnd: self = .farEnd
    }
  }
}

extension AudioQualityChange {
  init(_ change: QualityChange, jitterMs: Double) {
    self.init(
      isBad: change.isBad, reason: change.cause.map(AudioQuality.Reason.init),
      mos: AudioQuality.rounded(change.score))
    lostFraction = change.lostFraction
    residualLostFraction = change.residualLostFraction
    silentMs = change.silentSeconds.map { Int($0 * 1000) }
    concealedFraction = change.concealedFraction
    self.jitterMs = jitterMs
    mouthToEarMs = change.mouthToEarMilliseconds > 0 ? change.mouthToEarMilliseconds : nil
    bitrateBps = change.bitsPerSecond
  }
}

extension RemoteAudioStats {
  /// - Parameters:
  ///   - received: complete.
  ///   - network: one way, in milliseconds; `nil` while it is not known.
  init(_ numbers: AudioNumbers, _ received: CallStatistics.Inbound, network: Double?) {
    var split = DelaySplit()
    split.packetisation = numbers.packetisationMilliseconds
    split.network = network ?? 0
    split.jitterBuffer = numbers.playout.playoutDelays.quantile(0.5) ?? 0
    let remote = RemoteAudioStatistics(
      numbers.playout, numbers.quality, delay: split, channels: numbers.channels,
      receivedBitrate: Int(received.bitrateBps), cause: numbers.account.cause)
    quality = remote.quality
    networkTransportDelay = remote.networkTransportDelay
    jitterBufferDelay = remote.jitterBufferDelay
    audioLossRate = remote.audioLossRate
    numChannels = remote.numChannels
    receivedSampleRate = remote.receivedSampleRate
    receivedBitrate = remote.receivedBitrate
    totalFrozenTime = remote.totalFrozenTime
    frozenRate = remote.frozenRate
    mosValue = remote.mosValue
    totalActiveTime = remote.totalActiveTime
    qualityChangedReason = remote.qualityChangedReason.map(AudioQuality.Reason.init)
    // Without the way itself the sum is none.
    e2eDelay = network == nil ? 0 : remote.e2eDelay.total
    delay.packetisation = split.packetisation
    delay.network = split.network
    delay.jitterBuffer = split.jitterBuffer
  }
}
