internal import Congestion
internal import Peer
internal import Primitives
internal import Reactor
internal import Video
internal import Wire

/// What the line was believed to carry through time; a sample every 100 ms.
struct NetworkHistory {
  private(set) var estimates = SampleReservoir()
  private var last: Instant?
  private var most: Double?

  /// Whether another sample is due.
  func isDue(now: Instant) -> Bool { last.map { now - $0 >= .milliseconds(100) } ?? true }

  /// - Parameter estimate: in bit/s.
  mutating func add(estimate: Double, now: Instant) {
    last = now
    most = max(most ?? 0, estimate)
    estimates.add(estimate)
  }

  /// The highest since this was last asked: what the line has carried, whatever a moment took off.
  mutating func takeMost() -> Double? { most.take() }
}

extension Endpoint {
  /// Looks at the line now and then; called with the audio, fifty times a second.
  func sampleNetwork(_ callID: Wire.CallID) {
    let now = SystemClock.now
    guard let record = calls[callID], record.network.isDue(now: now),
      let line = driver.readMachine({ $0.statistics(of: callID)?.congestion })
    else { return }
    record.network.add(estimate: line.believedRate, now: now)
    tellMediaStart(callID, record, now: now)
  }
}

extension Endpoint {
  private func tellMediaStart(_ callID: Wire.CallID, _ record: CallRecord, now: Instant) {
    guard !record.told.mediaStart, let clock = record.audio?.rings.sentClock,
      clock.lastNote != nil
    else { return }
    record.told.mediaStart = true
    let age = UInt64(clamping: clock.nanoseconds(at: now))
    publish(
      .callProgress(
        CallID(callID), .mediaStarted(wallNanoseconds: SystemClock.wallNanoseconds &- age)))
  }
}

extension CallStatistics {
  mutating func fillVideo(with link: LinkStatistics, _ record: CallRecord, now: Instant) {
    fillCongestion(with: link, record.network)
    fallbacks = record.fallbacks
    guard let video = record.video else { return }
    fillVideo(
      with: link, record, video.rings, sends: video.isSending, receives: video.isReceiving,
      now: now)
    // For the next time: a thread that has nothing to show does not look at the clock by itself.
    if video.isReceiving { video.signalArrival() }
  }

  mutating func fillVideo(
    with link: LinkStatistics, _ record: CallRecord, _ rings: VideoRings, sends: Bool,
    receives: Bool, now: Instant
  ) {
    if sends { fillVideoSent(with: link, rings, since: record.began, now: now) }
    guard receives else { return }
    fillVideoReceived(with: link, rings, since: record.began, now: now)
    videoStreamReceived = record.news.stream
  }

  /// - Parameter began: What rates are counted from.
  mutating func fillVideoSent(
    with link: LinkStatistics, _ rings: VideoRings, since began: Instant, now: Instant
  ) {
    let seconds = max(0.001, Double(now.nanoseconds(since: began)) / 1e9)
    var sent = VideoOutbound()
    sent.fill(with: rings.sent.withLock { $0 }, seconds: seconds)
    if let numbers = link.video?.sent { sent.fill(with: numbers, seconds: seconds) }
    sent.isPaused = link.video?.isPublishing == false
    videoStreamSent = link.video?.isSmallSent == true ? .low : .high
    videoSent = sent
  }

  /// - Parameter began: What rates are counted from.
  mutating func fillVideoReceived(
    with link: LinkStatistics, _ rings: VideoRings, since began: Instant, now: Instant
  ) {
    let seconds = max(0.001, Double(now.nanoseconds(since: began)) / 1e9)
    var received = VideoInbound()
    received.fill(with: rings.received.withLock { $0 })
    if let numbers = link.video?.received {
      received.fill(with: numbers, seconds: seconds)
      lastVideoPacketReceivedTimestamp = numbers.lastPacketReceived.map {
        SystemClock.wallMilliseconds(of: $0, now: now)
      }
    }
    videoReceived = received
  }

  /// What the threads have counted since, once they have ended.
  mutating func completeVideo(_ record: CallRecord) {
    guard let video = record.video else { return }
    videoReceived?.fill(with: video.rings.received.withLock { $0 })
  }

  mutating func fillCongestion(with link: LinkStatistics, _ history: NetworkHistory) {
    guard let numbers = link.congestion else { return }
    var congestion = Congestion(
      estimateBps: numbers.believedRate, acknowledgedBps: numbers.acknowledgedRate,
      queueDelayMs: numbers.queueDelay / 1000, state: "\(numbers.state)",
      reason: "\(numbers.reason)")
    congestion.estimateP50Bps = history.estimates.percentile(0.5)
    congestion.pacingRateBps = numbers.pacingRate
    congestion.paddingBytesSent = link.video?.paddingByteCount ?? 0
    if numbers.share.isFinite { congestion.uplinkShareBps = numbers.share }
    if let p50 = numbers.queueDelayP50, let p95 = numbers.queueDelayP95 {
      congestion.queueDelays = Milliseconds(p50: p50 / 1000, p95: p95 / 1000)
    }
    self.congestion = congestion
  }
}

extension CallStatistics.VideoOutbound {
  mutating func fill(with numbers: VideoSendNumbers, seconds: Double) {
    framesCaptured = numbers.framesCaptured
    framesEncoded = numbers.framesEncoded
    keyFramesEncoded = numbers.keyFramesEncoded
    totalEncodeTime = numbers.totalEncodeTime / .seconds(1)
    framesPerSecond = numbers.framesPerSecond
    frameWidth = numbers.size?.width ?? 0
    frameHeight = numbers.size?.height ?? 0
    targetBitrateBps = Double(numbers.targetBitsPerSecond)
    qualityLimitationReason =
      numbers.isLimitedByProcessor ? "cpu" : numbers.isLimitedByBandwidth ? "bandwidth" : "none"
    qualityLimitationDurations = [
      "none": numbers.unlimited / .seconds(1), "cpu": numbers.limitedByProcessor / .seconds(1),
      "bandwidth": numbers.limitedByBandwidth / .seconds(1),
    ]
    qualityLimitationResolutionChanges = numbers.resolutionChanges
  }

  mutating func fill(with numbers: VideoSendStatistics, seconds: Double) {
    framesSent = numbers.framesSent
    framesDiscarded = numbers.framesDiscarded
    hugeFramesSent = numbers.hugeFramesSent
    packetsSent = numbers.packetsSent
    bytesSent = numbers.bytesSent
    retransmittedPacketsSent = numbers.retransmittedPacketsSent
    retransmittedBytesSent = numbers.retransmittedBytesSent
    fecPacketsSent = numbers.fecPacketsSent
    fecBytesSent = numbers.fecBytesSent
    repeatedPacketsSent = numbers.repeatedPacketsSent
    nackCount = numbers.nackCount
    pliCount = numbers.pliCount
    qpSum = numbers.qpSum
    bitrateBps = Double(numbers.bytesSent) * 8 / seconds
  }
}

extension CallStatistics.VideoInbound {
  mutating func fill(with numbers: VideoReceiveNumbers) {
    framesDecoded = numbers.framesDecoded
    keyFramesDecoded = numbers.keyFramesDecoded
    decodeFailures = numbers.decodeFailures
    freezeCount = numbers.freezeCount
    totalFreezesDuration = numbers.totalFreezes / .seconds(1)
    activeTime = numbers.activeTime / .seconds(1)
    totalDecodeTime = numbers.totalDecodeTime / .seconds(1)
    totalProcessingDelay = numbers.totalProcessingDelay / .seconds(1)
    totalHold = numbers.totalHold / .seconds(1)
    framesPerSecond = numbers.framesPerSecond
    frameWidth = numbers.size?.width ?? 0
    frameHeight = numbers.size?.height ?? 0
    lipOffsetMs = numbers.lipOffset
  }

  mutating func fill(with numbers: VideoReceiveStatistics, seconds: Double) {
    packetsReceived = numbers.packetsReceived
    bytesReceived = numbers.bytesReceived
    retransmittedPacketsReceived = numbers.retransmittedPacketsReceived
    packetsLost = numbers.packetsLost
    recoveredByFec = numbers.packetsRecoveredByFec
    recoveredByRetransmission = numbers.packetsRecoveredByRetransmission
    packetsDiscarded = numbers.packetsDiscarded
    fecPacketsReceived = numbers.fecPacketsReceived
    fecBytesReceived = numbers.fecBytesReceived
    fecPacketsDiscarded = numbers.fecPacketsDiscarded
    framesRecovered = numbers.framesRecovered
    framesReceived = numbers.framesReceived
    framesDropped = numbers.framesDropped
    nackCount = numbers.nackCount
    pliCount = numbers.pliCount
    bitrateBps = Double(numbers.bytesReceived) * 8 / seconds
  }
}
