/// What `JitterBuffer` counts of what it gives out.
extension JitterBuffer {
  /// - Parameters:
  ///   - entry: what was decoded.
  ///   - offset: from now to when it sounds, less its arrival, in nanoseconds.
  ///   - count: samples decoded.
  mutating func record(_ entry: PacketBuffer.Entry, wait offset: Int64, count: Int) {
    // Of pulls in pairs the second sounds after the first: not before the latest of even pulls.
    let wait = max(0, clock.time &+ clock.mostEarliness &+ offset)
    let target = estimator.targetDelay &+ clock.mostEarliness
    statistics.delays.record(nanoseconds: wait)
    let transit = entry.arrival &- AudioFormat.nanoseconds(samples: entry.timestamp)
    statistics.playoutDelays.record(nanoseconds: wait &+ transit &- estimator.leastTransit)
    statistics.jitterBufferDelay += Double(wait) * Double(count)
    statistics.jitterBufferTargetDelay += Double(target) * Double(count)
    statistics.jitterBufferMinimumDelay += Double(estimator.usualLateness) * Double(count)
    statistics.jitterBufferEmittedCount += UInt64(count)
    if entry.origin.rank == 0 { statistics.samplesFromLowRateCopies += UInt64(count) }
  }

  mutating func account(for output: borrowing MutableSpan<Int16>) {
    let count = AudioFormat.pullSampleCount
    statistics.totalSamplesReceived += UInt64(count)
    var sum: Int64 = 0
    for index in 0..<(count * channels) {
      let sample = Int64(output[index])
      sum &+= sample &* sample
    }
    let square = Double(sum) / Double(count * channels) / (32_768 * 32_768)
    statistics.audioLevel = square.squareRoot()
    statistics.totalAudioEnergy += square * 0.005
    surroundings.bitsPerSecond = statistics.primaryBitsPerSecond ?? surroundings.bitsPerSecond
    surroundings.upperBandFraction = statistics.upperBandFraction
    quality.record(totals, surroundings)
  }

  /// The sender has left out so many frames before the next one that comes: they are not lost.
  package mutating func noteUnsent(_ count: UInt64) {
    recording?.noteUnsent(count)
    ledger.noteUnsent(count)
  }

  /// A version of a frame is there in time that is not its own packet.
  mutating func noteRepair(_ timestamp: Int64, _ origin: PacketOrigin) {
    let step = timestamp / Int64(AudioFormat.stepSampleCount)
    switch origin {
    case .primary: break
    case .copy: ledger.noteRepair(step: step, .forwardErrorCorrection)
    case .retransmission: ledger.noteRepair(step: step, .retransmission)
    }
  }

  /// In-band FEC (RFC 6716 §2.1.7) has brought the frame at `timestamp`.
  mutating func noteInBandRepair(_ timestamp: Int64) {
    ledger.noteRepair(
      step: timestamp / Int64(AudioFormat.stepSampleCount), .forwardErrorCorrection)
    statistics.fates = ledger.fates
  }

  /// The oldest packet that waits goes unheard.
  mutating func discardFirst() {
    guard let first = packets.first else { return }
    packets.removeFirst()
    statistics.packetsDiscarded += 1
    if first.origin == .primary {
      statistics.framesLate += 1
    } else {
      ledger.forgetRepair(step: first.timestamp / Int64(AudioFormat.stepSampleCount))
      statistics.fates = ledger.fates
    }
  }

  private var totals: QualityMonitor.Totals {
    var totals = QualityMonitor.Totals()
    totals.samples = statistics.totalSamplesReceived
    totals.concealed = statistics.concealedSamples
    totals.concealmentEvents = statistics.concealmentEvents
    totals.concealedByDelay = statistics.delayedPacketOutageSamples
    totals.lowRate = statistics.samplesFromLowRateCopies
    totals.stretched = statistics.stretchedSamples
    totals.framesExpected = statistics.fates.expected
    totals.framesLost = statistics.fates.lost
    totals.framesMissing = statistics.fates.residualLost &+ statistics.framesLate
    totals.packetsReceived = statistics.packetsReceived
    return totals
  }
}
