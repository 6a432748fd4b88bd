/// What the arrivals of one stream say: where each packet stands in media time, which frames are
/// lost, and how long packets must be held.
struct ArrivalAnalysis: Sendable {
  var estimator = DelayEstimator()
  var ledger = FrameLedger()
  /// When the last pull happened that needed a packet, in nanoseconds.
  var lastPull: Int64 = 0
  /// How much earlier than needed a primary comes that is as late as nineteen of twenty, in
  /// nanoseconds.
  var slack: Int64 = 0
  private var timeline = MediaTimeline()
  private var jitter = InterarrivalJitter()
  /// Packets in a row that came after their turn.
  private var lateInARow = 0

  /// One packet that came: times in nanoseconds, media time in samples.
  struct Arrival {
    var packet: OpusPacket
    var timestamp: Int64
    var time: Int64
    var origin: PacketOrigin
    /// Whether what lies before it was never sent.
    var isMarked: Bool
  }

  /// Where a packet stands in media time.
  ///
  /// - Parameters:
  ///   - mediaTime: in steps of 10 ms, wrapping.
  ///   - arrival: in nanoseconds.
  mutating func place(_ mediaTime: UInt16, arrival: Int64) -> MediaTimeline.Placement {
    timeline.place(mediaTime, arrival: arrival)
  }

  /// The sender begins a new time line; the counts go on.
  mutating func restart(range: ClosedRange<Int64>) {
    estimator = DelayEstimator()
    estimator.range = range
    ledger.restart()
    jitter = InterarrivalJitter()
  }

  /// A packet has come after its turn.
  ///
  /// - Returns: whether only such packets come now.
  mutating func countLate() -> Bool {
    lateInARow += 1
    return lateInARow >= Self.latePacketsToRewind
  }

  mutating func countInTime() { lateInARow = 0 }

  /// What a packet's coming says about the path, whether it is of use or not.
  ///
  /// - Parameter end: media time up to which frames are there, while they are played; a copy in
  ///   band of a frame behind it was needed.
  /// - Returns: whether it is the first version of its frame.
  mutating func record(
    _ arrival: Arrival, behind end: Int64?, _ statistics: inout PlayoutStatistics
  ) -> Bool {
    let packet = arrival.packet
    let step = Int64(AudioFormat.stepSampleCount)
    let isPrimary = arrival.origin == .primary
    let isFirst = ledger.recordArrival(
      step: arrival.timestamp / step, frameSteps: max(1, Int64(packet.sampleCount) / step),
      isPrimary: isPrimary, isMarked: arrival.isMarked, arrival: arrival.time)
    let transit = arrival.time &- AudioFormat.nanoseconds(samples: arrival.timestamp)
    if isPrimary {
      statistics.primarySamples += UInt64(packet.sampleCount)
      if packet.hasUpperBand { statistics.upperBandSamples += UInt64(packet.sampleCount) }
      jitter.record(transit: transit)
      statistics.jitterNanoseconds = jitter.nanoseconds
    }
    guard isFirst, arrival.origin != .retransmission else { return isFirst }
    let frame = AudioFormat.nanoseconds(samples: Int64(packet.sampleCount))
    // What a pull has passed by was not there yet, whatever its stamp says.
    let inside = min(max(0, lastPull &- arrival.time), Self.mostDelayInside)
    estimator.record(
      transit: transit, arrival: arrival.time, delayInside: inside, isPrimary: isPrimary,
      frame: frame)
    // A frame that was lost comes, as it were, with the packet that carries its copy in band.
    if let end, arrival.timestamp > end, packet.carriesForwardErrorCorrection {
      estimator.record(
        transit: transit &+ frame, arrival: arrival.time, delayInside: 0, isPrimary: false,
        frame: frame)
    }
    statistics.targetDelayNanoseconds = estimator.targetDelay
    if isPrimary {
      statistics.relativePacketArrivalDelay += Double(max(0, transit &- estimator.leastTransit))
    }
    return isFirst
  }

  /// What the other side's sender must know.
  ///
  /// - Parameter frame: the length of a frame seen last, in samples.
  func report(frame: Int) -> ReceptionReport {
    var report = ReceptionReport()
    report.framesExpected = ledger.framesExpected
    report.framesLost = ledger.framesLost
    report.lossBursts = ledger.lossBursts
    report.longestBurst = UInt16(clamping: ledger.longestBurst)
    report.framesUnrepaired = ledger.framesUnrepaired
    report.slackMilliseconds = Int16(clamping: slack / 1_000_000)
    report.targetDelayMilliseconds = UInt16(clamping: estimator.targetDelay / 1_000_000)
    report.jitterMilliseconds = UInt16(clamping: jitter.nanoseconds / 1_000_000)
    report.frameMilliseconds = UInt16(clamping: frame / 48)
    return report
  }

  private static let latePacketsToRewind = 3
  /// 50 ms: what holds a packet up for longer inside this host is a stall, not a habit.
  private static let mostDelayInside: Int64 = 50_000_000
}
