package import Primitives

/// The receiving end of one audio stream: packets in as they arrive, 5 ms of sound out whenever
/// asked (stations 18 to 20 of the house tour; next: the application's sink).
///
///     idle ──first packet──▶ buffering ──start delay over──▶ playing
///                               ▲                              │
///                               └────────── restart ───────────┘
///
/// Plays each packet at a fixed transit, arrival minus media time, that `DelayEstimator` sets; what
/// is missing then is restored, made up or, when the loss lasts, silent. While nothing comes media
/// time stands still: what arrives late after all is played, and the delay it brought is given back
/// by splices. No input traps, and nothing here allocates after `init`.
package struct JitterBuffer: ~Copyable {
  /// How long the first packet is held at least, in nanoseconds; the next pull plays it. Enough for
  /// a path that keeps time; on another one the first late packet teaches more.
  package static let startDelay: Int64 = 5_000_000

  package let channels: Int
  private let place = InPlace()
  package internal(set) var statistics = PlayoutStatistics()

  /// The same through time, and why it was bad.
  package var quality = QualityMonitor()
  /// Takes down everything that comes in; `nil` unless asked for.
  package var recording: ArrivalRecording?
  /// The least and the greatest delay to aim at, in nanoseconds beyond the fastest packet.
  package var delayRange: ClosedRange<Int64> = 0...1_000_000_000 {
    didSet { estimator.range = delayRange }
  }
  /// What others know, for the estimates in `quality`.
  package var surroundings = QualitySurroundings()

  enum Phase: Equatable { case idle, buffering(until: Int64), playing }

  var phase = Phase.idle
  var decoder: OpusDecoder
  var packets = PacketBuffer()
  var queue: SampleQueue
  var clock = PlayoutClock()
  var estimator = DelayEstimator()
  var ledger = FrameLedger()
  var timeline = MediaTimeline()
  var jitter = InterarrivalJitter()
  var fader = Fader()
  var background: ComfortNoise
  var noise = NoiseFloor()
  var policy = StretchPolicy()
  /// How long the pause that was decoded last has lasted, and the one that is heard, in samples.
  var passiveRun = 0
  var passiveBefore = 0
  /// Delay that could be given back, in samples, and for how many packets there has been some.
  var surplus = 0
  var hasteSince = 0
  /// For how long there has been less delay than wanted, in samples.
  var shortage = 0
  /// When the last pull happened that needed a packet, in nanoseconds.
  var lastPull: Int64 = 0
  /// How much earlier than needed a primary comes that is as late as nineteen of twenty.
  var slack: Int64 = 0
  /// Media time, in samples, of what is to be decoded next.
  var nextTimestamp: Int64 = 0
  /// Samples made up since something was decoded.
  var concealed = 0
  /// How many of these are in the statistics: a pull later, when they are played.
  var counted = 0
  /// Mean square of the 10 ms before them.
  var levelBefore: Float = 0
  var lastPacketSampleCount = FrameLength.milliseconds20.sampleCount
  var pullsSinceSplice = 0
  var lateInARow = 0

  /// - Parameter channels: 1 or 2, of the sound given out; packets may have either.
  package init(channels: Int) throws(OpusError) {
    decoder = try OpusDecoder(channels: channels)
    queue = SampleQueue(channels: channels)
    background = ComfortNoise(channels: channels)
    self.channels = channels
  }

  /// Whether nothing waits to be played: less than one pull, of which a splice may leave a rest.
  package var isEmpty: Bool { packets.count == 0 && queue.count < AudioFormat.pullSampleCount }

  /// How many pulls need no packet that may still come: their sound is decoded already.
  var certainPullCount: Int {
    phase == .playing && concealed == 0 ? queue.count / AudioFormat.pullSampleCount : 0
  }

  /// Frames whose fate is known, and of them those whose own packet did not come.
  var framesExpected: UInt64 { ledger.framesExpected }
  var framesLost: UInt64 { ledger.framesLost }

  /// What the other side's sender must know.
  package var report: ReceptionReport {
    var report = ReceptionReport()
    report.framesExpected = ledger.framesExpected
    report.framesLost = ledger.framesLost
    report.lossBursts = ledger.lossBursts
    report.longestBurst = UInt16(clamping: ledger.longestBurst)
    report.framesUnrepaired = ledger.framesUnrepaired
    report.slackMilliseconds = Int16(clamping: slack / 1_000_000)
    report.targetDelayMilliseconds = UInt16(clamping: estimator.targetDelay / 1_000_000)
    report.jitterMilliseconds = UInt16(clamping: jitter.nanoseconds / 1_000_000)
    report.frameMilliseconds = UInt16(clamping: lastPacketSampleCount / 48)
    return report
  }

  /// The least delay to hold while the path loses packets that only a retransmission brings, in
  /// nanoseconds beyond the fastest packet (0...200 ms): what noticing a loss and a round trip
  /// take. 0 when copies repair what is lost: their distance is seen by itself.
  package mutating func hold(atLeast delay: Int64) {
    let delay = min(max(delay, 0), Self.longestRepair)
    if delay != estimator.repairDelay { recording?.hold(delay) }
    estimator.repairDelay = delay
  }

  /// Takes one packet. The payload is copied.
  ///
  /// - Parameters:
  ///   - mediaTime: of its first sample, in steps of 10 ms, wrapping.
  ///   - arrival: when the kernel received it.
  ///   - origin: every copy and retransmission is handed in as well, whether needed or not: the
  ///     distance of copies tells how long a packet must be held to be repaired.
  ///   - isMarked: whether the sender says that a pause ends with it: what is missing before it
  ///     was never sent.
  package mutating func insert(
    _ payload: Span<UInt8>, mediaTime: UInt16, arrival: Instant,
    origin: PacketOrigin = .primary, isMarked: Bool = false
  ) {
    let arrival = Self.clamped(arrival)
    recording?.insert(
      payload, mediaTime: mediaTime, arrival: arrival, origin: origin, isMarked: isMarked)
    guard let packet = OpusPacket(payload) else {
      statistics.packetsMalformed += 1
      statistics.packetsDiscarded += 1
      return
    }
    count(origin, arrival)
    let placement = timeline.place(mediaTime, arrival: arrival)
    switch placement {
    case .setAside:
      statistics.packetsDiscarded += 1
    case .restart(let timestamp), .place(let timestamp):
      if placement == .restart(timestamp) { restart(at: timestamp) }
      if origin == .primary { statistics.primaryBytes += UInt64(payload.count) }
      let isFirst = measure(packet, timestamp, arrival, origin, isMarked)
      store(payload, packet, timestamp, arrival, (origin, isMarked, isFirst))
      statistics.fates = ledger.fates
    }
  }

  private mutating func count(_ origin: PacketOrigin, _ arrival: Int64) {
    statistics.lastPacketReceivedNanoseconds = max(
      statistics.lastPacketReceivedNanoseconds, UInt64(arrival))
    switch origin {
    case .primary: statistics.packetsReceived += 1
    case .copy: statistics.copiesReceived += 1
    case .retransmission: statistics.retransmittedPacketsReceived += 1
    }
  }

  /// A version of a frame that is there, or was played, already.
  private mutating func countUnneeded(_ origin: PacketOrigin) {
    if case .copy = origin {
      statistics.copiesDiscarded += 1
    } else {
      statistics.packetsDuplicated += 1
    }
  }

  private mutating func restart(at timestamp: Int64) {
    if phase != .idle { statistics.restarts += 1 }
    while packets.count > 0 { discardFirst() }
    estimator = DelayEstimator()
    estimator.range = delayRange
    ledger.restart()
    jitter = InterarrivalJitter()
    nextTimestamp = timestamp
    phase = .idle
  }

  /// What its coming says about the path, whether it is of use or not.
  ///
  /// - Returns: whether it is the first version of its frame.
  private mutating func measure(
    _ packet: OpusPacket, _ timestamp: Int64, _ arrival: Int64, _ origin: PacketOrigin,
    _ isMarked: Bool
  ) -> Bool {
    let step = Int64(AudioFormat.stepSampleCount)
    let isPrimary = origin == .primary
    let isFirst = ledger.note(
      step: timestamp / step, frameSteps: max(1, Int64(packet.sampleCount) / step),
      isPrimary: isPrimary, isMarked: isMarked, arrival: arrival)
    let transit = arrival &- AudioFormat.nanoseconds(samples: timestamp)
    if isPrimary {
      statistics.primarySamples += UInt64(packet.sampleCount)
      if packet.hasUpperBand { statistics.upperBandSamples += UInt64(packet.sampleCount) }
      jitter.record(transit: transit)
      statistics.jitterNanoseconds = jitter.nanoseconds
    }
    guard isFirst, origin != .retransmission else { return isFirst }
    let frame = AudioFormat.nanoseconds(samples: Int64(packet.sampleCount))
    // What a pull has passed by was not there yet, whatever its stamp says.
    let inside = min(max(0, lastPull &- arrival), Self.mostDelayInside)
    estimator.record(
      transit: transit, arrival: arrival, delayInside: inside, isPrimary: isPrimary, frame: frame)
    noteCopyInside(packet, before: timestamp, transit, arrival, frame)
    statistics.targetDelayNanoseconds = estimator.targetDelay
    if isPrimary {
      statistics.relativePacketArrivalDelay += Double(max(0, transit &- estimator.leastTransit))
    }
    return isFirst
  }

  /// A frame that was lost comes, as it were, with the packet that carries its copy in band.
  private mutating func noteCopyInside(
    _ packet: OpusPacket, before timestamp: Int64, _ transit: Int64, _ arrival: Int64,
    _ frame: Int64
  ) {
    let end = packets.last?.end ?? nextTimestamp
    guard phase == .playing, timestamp > end, packet.carriesForwardErrorCorrection else { return }
    estimator.record(
      transit: transit &+ frame, arrival: arrival, delayInside: 0, isPrimary: false, frame: frame)
  }

  private mutating func store(
    _ payload: Span<UInt8>, _ packet: OpusPacket, _ timestamp: Int64, _ arrival: Int64,
    _ version: (origin: PacketOrigin, isMarked: Bool, isFirst: Bool)
  ) {
    if phase == .playing, timestamp < nextTimestamp {
      guard version.isFirst else {
        countUnneeded(version.origin)
        return
      }
      if case .copy = version.origin { statistics.copiesDiscarded += 1 }
      if !rewindsAfterSilence(to: timestamp, version.origin) { return }
    }
    let insertion = packets.insert(
      payload, packet, timestamp: timestamp, arrival: arrival, origin: version.origin,
      isMarked: version.isMarked)
    if insertion == .duplicate {
      countUnneeded(version.origin)
      return
    }
    if insertion == .storedInPlaceOfOldest { statistics.packetsDiscarded += 1 }
    noteRepair(timestamp, version.origin)
    lateInARow = 0
    if phase == .idle {
      phase = .buffering(until: arrival &+ max(Self.startDelay, estimator.range.lowerBound))
    }
    if case .buffering = phase, let first = packets.first { nextTimestamp = first.timestamp }
  }

  /// A packet from before what has been played is late, unless silence has taken over and only such
  /// packets come: then it is media time that moved back, and playout follows.
  private mutating func rewindsAfterSilence(
    to timestamp: Int64, _ origin: PacketOrigin
  ) -> Bool {
    lateInARow += 1
    if fader.isSilent, packets.count == 0, lateInARow >= Self.latePacketsToRewind {
      nextTimestamp = timestamp
      return true
    }
    statistics.packetsDiscarded += 1
    statistics.packetsDiscardedLate += 1
    if origin == .primary { statistics.framesLate += 1 }
    return false
  }

  /// No arithmetic on times below can overflow within these 36 years.
  static func clamped(_ instant: Instant) -> Int64 {
    Int64(min(instant.nanoseconds, 1 << 60))
  }

  private static let latePacketsToRewind = 3
  private static let longestRepair: Int64 = 200_000_000
  /// 50 ms: what holds a packet up for longer inside this host is a stall, not a habit.
  private static let mostDelayInside: Int64 = 50_000_000
}
