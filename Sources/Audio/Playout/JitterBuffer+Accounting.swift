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

  private var totals: QualityMonitor.Totals {
    var totals = QualityMonitor.Totals()
    totals.samples = statistics.totalSamplesReceived
    totals.concealed = statistics.concealedSamples
    totals.concealmentEvents = statistics.concealmentEvents
    totals.concealedByDelay = statistics.delayedPacketOutageSamples
    totals.lowRate = statistics.samplesFromLowRateCopies
    totals.stretched = statistics.stretchedSamples
    totals.framesExpected = ledger.framesExpected
    totals.framesLost = ledger.framesLost
    totals.packetsReceived = statistics.packetsReceived
    return totals
  }
}
