package import Primitives

/// The receiving end of one audio stream: packets in as they arrive, 10 ms of sound out whenever
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
  /// How long the first packet is held, in nanoseconds.
  package static let startDelay: Int64 = 40_000_000

  package let channels: Int
  package internal(set) var statistics = PlayoutStatistics()
  /// What the other side's sender must know.
  package internal(set) var report = ReceptionReport()

  enum Phase: Equatable { case idle, buffering(until: Int64), playing }

  var phase = Phase.idle
  var decoder: OpusDecoder
  var packets = PacketBuffer()
  var queue: SampleQueue
  var clock = PlayoutClock()
  var estimator = DelayEstimator(startDelay: JitterBuffer.startDelay)
  var timeline = MediaTimeline()
  var jitter = InterarrivalJitter()
  var fader = Fader()
  var noise = NoiseFloor()
  var policy = StretchPolicy()
  /// Media time, in samples, of what is to be decoded next.
  var nextTimestamp: Int64 = 0
  /// Samples made up since something was decoded.
  var concealed = 0
  var lastPacketSampleCount = FrameLength.milliseconds20.sampleCount
  var pullsSinceSplice = 0
  var lateInARow = 0

  /// - Parameter channels: 1 or 2, of the sound given out; packets may have either.
  package init(channels: Int) throws(OpusError) {
    decoder = try OpusDecoder(channels: channels)
    queue = SampleQueue(channels: channels)
    self.channels = channels
  }

  /// Whether nothing waits to be played.
  package var isEmpty: Bool { packets.count == 0 && queue.count == 0 }

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
    guard let packet = OpusPacket(payload) else {
      statistics.packetsMalformed += 1
      statistics.packetsDiscarded += 1
      return
    }
    statistics.packetsReceived += 1
    switch timeline.place(mediaTime, arrival: arrival) {
    case .setAside:
      statistics.packetsDiscarded += 1
    case .restart(let timestamp):
      restart(at: timestamp)
      store(payload, packet, timestamp, arrival, origin)
    case .place(let timestamp):
      store(payload, packet, timestamp, arrival, origin)
    }
  }

  private mutating func restart(at timestamp: Int64) {
    if phase != .idle { statistics.restarts += 1 }
    statistics.packetsDiscarded += UInt64(packets.count)
    packets.removeAll()
    estimator = DelayEstimator(startDelay: Self.startDelay)
    jitter = InterarrivalJitter()
    nextTimestamp = timestamp
    phase = .idle
  }

  private mutating func store(
    _ payload: Span<UInt8>, _ packet: OpusPacket, _ timestamp: Int64, _ arrival: Int64,
    _ origin: PacketOrigin
  ) {
    if phase == .playing, timestamp < nextTimestamp, !rewindsAfterSilence(to: timestamp) { return }
    let end = packets.last?.end ?? nextTimestamp
    if phase == .playing, timestamp > end, packet.carriesForwardErrorCorrection {
      let distance = AudioFormat.nanoseconds(samples: Int64(packet.sampleCount))
      estimator.expectCopies(distance: distance, arrival: arrival)
    }
    let insertion = packets.insert(
      payload, packet, timestamp: timestamp, arrival: arrival, origin: origin)
    if insertion == .duplicate {
      statistics.packetsDuplicated += 1
      return
    }
    if insertion == .storedInPlaceOfOldest { statistics.packetsDiscarded += 1 }
    lateInARow = 0
    guard origin == .primary else { return }
    let transit = arrival &- AudioFormat.nanoseconds(samples: timestamp)
    estimator.record(transit: transit, arrival: arrival)
    jitter.record(transit: transit)
    statistics.jitterNanoseconds = jitter.nanoseconds
    statistics.targetDelayNanoseconds = estimator.targetDelay
    if phase == .idle { phase = .buffering(until: arrival &+ Self.startDelay) }
    if case .buffering = phase, let first = packets.first { nextTimestamp = first.timestamp }
  }

  /// A packet from before what has been played is late, unless silence has taken over and only such
  /// packets come: then it is media time that moved back, and playout follows.
  private mutating func rewindsAfterSilence(to timestamp: Int64) -> Bool {
    lateInARow += 1
    if fader.isSilent, packets.count == 0, lateInARow >= Self.latePacketsToRewind {
      nextTimestamp = timestamp
      return true
    }
    statistics.packetsDiscarded += 1
    statistics.packetsDiscardedLate += 1
    return false
  }

  /// No arithmetic on times below can overflow within these 36 years.
  static func clamped(_ instant: Instant) -> Int64 {
    Int64(min(instant.nanoseconds, 1 << 60))
  }

  private static let latePacketsToRewind = 3
}
