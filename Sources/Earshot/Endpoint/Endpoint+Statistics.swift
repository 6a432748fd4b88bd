internal import Audio
internal import Calling
internal import Congestion
internal import Connectivity
internal import Peer
internal import Primitives
internal import Reactor
internal import Wire

/// The numbers of calls: every 2 s, when asked, and at the end.
extension Endpoint {
  func statistics(of id: CallID) -> CallStatistics? {
    let callID = resolve(id)
    guard let record = calls[callID], let read = readNumbers(of: callID, record) else {
      return nil
    }
    var numbers = read.whole
    if let sound = read.sound { record.told.numbers.delays.fill(&numbers, sound) }
    record.grader.adopt(&numbers)
    return numbers
  }

  func publishStatistics(now: Instant) {
    let due = statisticsSchedule.popDue(at: now)
    let usage = due.isEmpty ? nil : usageMeter.sample(now: now)
    for callID in due {
      sampleNetwork(callID)
      guard let record = calls[callID], record.audio != nil,
        let read = readNumbers(of: callID, record)
      else { continue }
      var numbers = read.whole
      // Whoever only listens has sent nothing to note it with.
      if let heard = driver.readMachine({ $0.lastHeard(of: callID) }) {
        record.audio?.rings.peerHeard.set(heard.nanoseconds)
      }
      let active = calls.values.count { $0.audio != nil }
      numbers.usage = usage.map { CallStatistics.Usage($0, calls: active) }
      record.takeInterval(&numbers, read.sound)
      record.grader.turn(&numbers, record.surroundings(numbers))
      if let grades = record.exchangeGrades(&numbers) {
        driver.withMachine { machine, now in machine.say(grades, on: callID, now: now) }
      }
      publish(.statistics(CallID(callID), numbers))
      guard let capture, let path = numbers.path else { continue }
      capture.capture(
        CapturedReport(
          local: path.local, remote: path.remote, statistics: numbers,
          wallNanoseconds: SystemClock.wallNanoseconds))
    }
    updateStatisticsTimer()
  }

  func updateStatisticsTimer() {
    guard let statisticsTimer else { return }
    loop.setDeadline(statisticsTimer, statisticsSchedule.next)
  }

  /// Of the whole call.
  func statistics(of callID: Wire.CallID, _ record: CallRecord) -> CallStatistics? {
    readNumbers(of: callID, record)?.whole
  }

  private func readNumbers(
    of callID: Wire.CallID, _ record: CallRecord
  ) -> (whole: CallStatistics, sound: AudioNumbers?)? {
    guard let link = driver.readMachine({ $0.statistics(of: callID) }) else { return nil }
    let now = SystemClock.now
    var numbers = CallStatistics(atMs: Int(now.nanoseconds(since: record.began) / 1_000_000))
    numbers.timestamp = Double(SystemClock.wallNanoseconds / 1000) / 1000
    numbers.fill(with: link, now: now)
    if let kind = link.pathKind, let remote = link.remote {
      numbers.path = CallStatistics.Path(
        kind: PathKind(kind),
        local: localAddress(toward: remote, local: link.local, isFresh: true), remote: remote,
        changes: link.pathChanges)
    }
    let sound = record.audio?.statistics
    if let audio = record.audio, let sound {
      numbers.complete(with: sound, bitrate: audio.bitrate, now: now)
    }
    numbers.fillVideo(with: link, record, now: now)
    numbers.fillFates(with: link, sound)
    numbers.grade()
    return (numbers, sound)
  }
}

extension CallStatistics {
  mutating func fill(with link: LinkStatistics, now: Instant) {
    let media = link.media
    sent.packetsSent = Int(clamping: media.packetsSent)
    sent.packetsHeldBack = Int(clamping: media.packetsHeldBack)
    sent.bytesSent = Int(clamping: media.payloadBytesSent)
    sent.wireBytesSent = Int(clamping: media.wireBytesSent)
    sent.fractionLost = link.quality.lossFraction
    sent.packetsLost = sent.fractionLost == nil ? nil : Int(clamping: link.quality.packetsLost)
    sent.bitrateBps = Self.rate(media.payloadBytesSent, since: media.firstSent, now: now)
    received.bytesReceived = Int(clamping: media.payloadBytesReceived)
    received.packetsReceived = Int(clamping: media.packetsReceived)
    received.bitrateBps = Self.rate(
      media.payloadBytesReceived, since: media.firstReceived, now: now)
    if media.packetsSent > 0 {
      overheadBytesPerAudioPacket =
        Double(media.wireBytesSent - media.payloadBytesSent) / Double(media.packetsSent)
    }
    if let trip = link.roundTrip {
      rttMs = Milliseconds(
        min: Double(trip.minimum) / 1e6, p50: Double(trip.p50) / 1e6, p95: Double(trip.p95) / 1e6)
      currentRttMs = Double(trip.smoothed) / 1e6
      totalRttMs = Double(trip.sum) / 1e6
      rttMeasurements = Int(clamping: trip.count)
    }
  }

  private static func rate(_ bytes: UInt64, since first: Instant?, now: Instant) -> Double {
    guard let first, now.nanoseconds(since: first) > 200_000_000 else { return 0 }
    return Double(bytes) * 8e9 / Double(now.nanoseconds(since: first))
  }

  /// - Parameters:
  ///   - bitrate: what the other side is taken to spend while nothing has come.
  ///   - now: by the clock that the arrivals have; `nil` for those of another time.
  mutating func complete(with numbers: AudioNumbers, bitrate: Int, now: Instant?) {
    let playout = numbers.playout
    sent.copyBytesSent = Int(clamping: numbers.sent.copyBytesSent)
    sent.retransmittedPacketsSent = Int(clamping: numbers.sent.framesRetransmitted)
    received.nackCount = Int(clamping: numbers.requested)
    received.fill(with: playout.fates)
    received.packetsDiscarded = Int(clamping: playout.packetsDiscarded)
    received.totalSamplesReceived = playout.totalSamplesReceived
    received.concealedSamples = playout.concealedSamples
    received.silentConcealedSamples = playout.silentConcealedSamples
    received.concealmentEvents = playout.concealmentEvents
    received.insertedSamplesForDeceleration = playout.insertedSamplesForDeceleration
    received.removedSamplesForAcceleration = playout.removedSamplesForAcceleration
    received.jitterMs = Double(playout.jitterNanoseconds) / 1e6
    received.audioLevel = playout.audioLevel
    let headers = max(0, sent.wireBytesSent - sent.bytesSent)
    audio = AudioDetails(numbers, now: now, headerBytesSent: headers)
    fillDelay(numbers)
    audio?.agora = RemoteAudioStats(
      numbers, received, network: rttMs.map { ($0.min ?? $0.p50) / 2 })
    guard playout.jitterBufferEmittedCount > 0 else { return }
    let estimate = playout.mosEstimate(
      bitsPerSecond: playout.primaryBitsPerSecond ?? bitrate)
    received.mos = AudioQuality.rounded(estimate.score)
    received.mosBasis = MOSEstimate.basis
  }

  private mutating func fillDelay(_ numbers: AudioNumbers) {
    let playout = numbers.playout
    guard playout.jitterBufferEmittedCount > 0, let p50 = playout.delays.quantile(0.5),
      let p95 = playout.delays.quantile(0.95), let total50 = playout.playoutDelays.quantile(0.5),
      let total95 = playout.playoutDelays.quantile(0.95)
    else { return }
    received.jitterBufferDelayMs = Milliseconds(p50: p50, p95: p95)
    if let rtt = rttMs {
      // One way is half the round trip, as nobody has synchronised clocks: of the fastest packets,
      // from whose arrival the playout delay counts.
      let fixed = numbers.packetisationMilliseconds + (rtt.min ?? rtt.p50) / 2
      received.mouthToEarMs = Milliseconds(p50: fixed + total50, p95: fixed + total95)
    }
  }
}

extension CallStatistics.Inbound {
  mutating func fill(with fates: PacketFates) {
    packetsReceived = Int(clamping: fates.received)
    packetsLost = Int(clamping: fates.lost)
    recoveredByFec = Int(clamping: fates.recoveredByFec)
    recoveredByRetransmission = Int(clamping: fates.recoveredByRetransmission)
    residualLost = Int(clamping: fates.residualLost)
  }
}
