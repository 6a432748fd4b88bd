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
    didSet { arrivals.estimator.range = delayRange }
  }
  /// What others know, for the estimates in `quality`.
  package var surroundings = QualitySurroundings()

  enum Phase: Equatable { case idle, buffering(until: Int64), playing }

  var phase = Phase.idle
  var decoder: OpusDecoder
  var packets = PacketBuffer()
  var queue: SampleQueue
  var clock = PlayoutClock()
  var arrivals = ArrivalAnalysis()
  var fader = Fader()
  var background: ComfortNoise
  var noise = NoiseFloor()
  var balance = DelayBalance()
  var concealment = ConcealmentProgress()
  /// Media time, in samples, of what is to be decoded next.
  var nextTimestamp: Int64 = 0
  var lastPacketSampleCount = FrameLength.milliseconds20.sampleCount

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
    phase == .playing && concealment.sampleCount == 0
      ? queue.count / AudioFormat.pullSampleCount : 0
  }

  /// What the other side's sender must know.
  package var report: ReceptionReport { arrivals.report(frame: lastPacketSampleCount) }

  /// The least delay to hold while the path loses packets that only a retransmission brings, in
  /// nanoseconds beyond the fastest packet (0...200 ms): what noticing a loss and a round trip
  /// take. 0 when copies repair what is lost: their distance is seen by itself.
  package mutating func hold(atLeast delay: Int64) {
    let delay = min(max(delay, 0), Self.longestRepair)
    if delay != arrivals.estimator.repairDelay { recording?.hold(delay) }
    arrivals.estimator.repairDelay = delay
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
    PlayoutCounting.arrived(origin, at: arrival, in: &statistics)
    let placement = arrivals.place(mediaTime, arrival: arrival)
    switch placement {
    case .setAside:
      statistics.packetsDiscarded += 1
    case .restart(let timestamp), .place(let timestamp):
      if placement == .restart(timestamp) { restart(at: timestamp) }
      let isAfterPause = isMarked || isLeftOutAhead
      if origin == .primary { statistics.primaryBytes += UInt64(payload.count) }
      let isFirst = arrivals.record(
        ArrivalAnalysis.Arrival(
          packet: packet, timestamp: timestamp, time: arrival, origin: origin, isMarked: isMarked),
        behind: phase == .playing ? packets.last?.end ?? nextTimestamp : nil, &statistics)
      store(payload, packet, timestamp, arrival, (origin, isAfterPause, isFirst))
      statistics.fates = arrivals.ledger.fates
    }
  }

  private mutating func restart(at timestamp: Int64) {
    if phase != .idle { statistics.restarts += 1 }
    while packets.count > 0 { discardFirst() }
    arrivals.restart(range: delayRange)
    nextTimestamp = timestamp
    phase = .idle
  }

  private mutating func store(
    _ payload: Span<UInt8>, _ packet: OpusPacket, _ timestamp: Int64, _ arrival: Int64,
    _ version: (origin: PacketOrigin, isMarked: Bool, isFirst: Bool)
  ) {
    if phase == .playing, timestamp < nextTimestamp {
      guard version.isFirst else {
        PlayoutCounting.unneeded(version.origin, in: &statistics)
        return
      }
      if case .copy = version.origin { statistics.copiesDiscarded += 1 }
      // Unless silence has taken over and only such packets come: then it is media time that moved
      // back, and playout follows.
      guard arrivals.countLate(), fader.isSilent, packets.count == 0 else {
        PlayoutCounting.late(version.origin, in: &statistics)
        return
      }
      nextTimestamp = timestamp
    }
    let insertion = packets.insert(
      payload, packet, timestamp: timestamp, arrival: arrival, origin: version.origin,
      isMarked: version.isMarked)
    if insertion == .duplicate {
      PlayoutCounting.unneeded(version.origin, in: &statistics)
      return
    }
    if insertion == .storedInPlaceOfOldest { statistics.packetsDiscarded += 1 }
    arrivals.noteRepair(timestamp, version.origin)
    arrivals.countInTime()
    if phase == .idle {
      phase = .buffering(
        until: arrival &+ max(Self.startDelay, arrivals.estimator.range.lowerBound))
    }
    if case .buffering = phase, let first = packets.first { nextTimestamp = first.timestamp }
  }

  /// No arithmetic on times below can overflow within these 36 years.
  static func clamped(_ instant: Instant) -> Int64 {
    Int64(min(instant.nanoseconds, 1 << 60))
  }

  private static let longestRepair: Int64 = 200_000_000
}
