/// What `JitterBuffer` counts. `PlayoutStatistics` itself is a record.
enum PlayoutCounting {
  /// A packet came, of use or not.
  ///
  /// - Parameter arrival: in nanoseconds.
  static func arrived(
    _ origin: PacketOrigin, at arrival: Int64, in statistics: inout PlayoutStatistics
  ) {
    statistics.lastPacketReceivedNanoseconds = max(
      statistics.lastPacketReceivedNanoseconds, UInt64(arrival))
    switch origin {
    case .primary: statistics.packetsReceived += 1
    case .copy: statistics.copiesReceived += 1
    case .retransmission: statistics.retransmittedPacketsReceived += 1
    }
  }

  /// A version of a frame came that is there, or was played, already.
  static func unneeded(_ origin: PacketOrigin, in statistics: inout PlayoutStatistics) {
    if case .copy = origin {
      statistics.copiesDiscarded += 1
    } else {
      statistics.packetsDuplicated += 1
    }
  }

  /// A packet came too late to be heard.
  static func late(_ origin: PacketOrigin, in statistics: inout PlayoutStatistics) {
    statistics.packetsDiscarded += 1
    statistics.packetsDiscardedLate += 1
    if origin == .primary { statistics.framesLate += 1 }
  }

  /// How long a packet waited that was decoded; all in nanoseconds.
  struct Wait {
    /// From its arrival to its sounding.
    var whole: Int64
    /// From when the fastest packet would have brought it to its sounding.
    var onPath: Int64
    /// The same by the fastest packet of the last two minutes.
    var aboveBase: Int64
    /// The delay aimed at, and the least that the path would allow.
    var target: Int64
    var least: Int64
  }

  /// So many samples of a packet were decoded.
  static func emitted(_ samples: Int, _ wait: Wait, in statistics: inout PlayoutStatistics) {
    statistics.delays.record(nanoseconds: wait.whole)
    statistics.playoutDelays.record(nanoseconds: wait.onPath)
    statistics.delaysAboveBase.record(nanoseconds: wait.aboveBase)
    statistics.jitterBufferDelay += Double(wait.whole) * Double(samples)
    statistics.jitterBufferTargetDelay += Double(wait.target) * Double(samples)
    statistics.jitterBufferMinimumDelay += Double(wait.least) * Double(samples)
    statistics.jitterBufferEmittedCount += UInt64(samples)
  }

  /// The first 5 ms of `output` are heard.
  static func heard(
    _ output: borrowing MutableSpan<Int16>, channels: Int, in statistics: inout PlayoutStatistics
  ) {
    let count = AudioFormat.pullSampleCount
    statistics.totalSamplesReceived += UInt64(count)
    var (sum, loudest) = (Int64(0), Int64(0))
    for index in 0..<(count * channels) {
      let sample = Int64(output[index])
      sum &+= sample &* sample
      loudest = max(loudest, abs(sample))
    }
    if loudest >= Int64(AudioFormat.audible) { statistics.audibleSamples += UInt64(count) }
    let square = Double(sum) / Double(count * channels) / (32_768 * 32_768)
    statistics.audioLevel = square.squareRoot()
    statistics.totalAudioEnergy += square * 0.005
  }
}

extension QualityMonitor.Totals {
  init(_ statistics: borrowing PlayoutStatistics) {
    self.init()
    samples = statistics.totalSamplesReceived
    concealed = statistics.concealedSamples
    concealmentEvents = statistics.concealmentEvents
    concealedByDelay = statistics.delayedPacketOutageSamples
    lowRate = statistics.samplesFromLowRateCopies
    stretched = statistics.stretchedSamples
    framesExpected = statistics.fates.expected
    framesLost = statistics.fates.lost
    framesMissing = statistics.fates.residualLost &+ statistics.framesLate
    packetsReceived = statistics.packetsReceived
    primaryBytes = statistics.primaryBytes
    primarySamples = statistics.primarySamples
    upperBandSamples = statistics.upperBandSamples
  }
}
