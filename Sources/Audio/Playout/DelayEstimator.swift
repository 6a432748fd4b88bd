/// How long a packet must be held so that nearly all of those after it arrive in time.
///
/// Works on *transit*: arrival minus media time, whose origin is arbitrary but common to all
/// packets of a stream. The delay is counted from the least transit of late (`TransitFloor`); it is
/// the least that would have been enough for the frames of the last twenty seconds
/// (`LatenessHistory`), without those whose spell is over (`LatenessSpells`).
///
/// Compare libwebrtc's NetEQ: worst of 500 ms, buckets of 20 ms, a memory of half a minute, and
/// redundancy that counts as reordering.
struct DelayEstimator: Sendable {
  /// How long a packet that took the least transit is held, in nanoseconds.
  private(set) var targetDelay: Int64 = 0
  /// Least delay to hold, in nanoseconds: what a retransmission takes, while one is wanted.
  var repairDelay: Int64 = 0

  /// What the delay is kept within, in nanoseconds.
  var range: ClosedRange<Int64> = 0...1_000_000_000

  private var floor = TransitFloor()
  private var history = LatenessHistory()
  private var recent = LatenessHistory()
  /// The least lateness of the last 16 to 32 packets, in steps.
  private var least = InlineArray<2, Int>(repeating: 255)
  private var leastCount = 0
  private var spells = LatenessSpells()
  private var stalls = StallRhythm()

  /// The least transit remembered, in nanoseconds: what the path does when it is at its best.
  var leastTransit: Int64 { floor.value }
  /// Transit at which a packet should be played, in nanoseconds.
  var targetTransit: Int64 { floor.value &+ targetDelay }
  /// Whether some of the delay is for stalls, and may be had when it costs nothing.
  var isInsuring: Bool { stalls.isInsuring }
  /// Lateness that one in twenty frames exceeds, in nanoseconds.
  var usualLateness: Int64 { Int64(history.quantile(0.95)) * Self.step }

  /// Takes the first version of a frame.
  ///
  /// - Parameters:
  ///   - transit: arrival minus media time, in nanoseconds.
  ///   - arrival: in nanoseconds.
  ///   - delayInside: how much later than its arrival it could be used, in nanoseconds.
  ///   - isPrimary: whether the path alone decided when it came.
  ///   - frame: length of a frame in nanoseconds.
  mutating func record(
    transit: Int64, arrival: Int64, delayInside: Int64, isPrimary: Bool, frame: Int64
  ) {
    if isPrimary { floor.record(transit: transit, arrival: arrival) }
    let lateness = transit &- floor.value &+ delayInside
    let level = Int(min(max(lateness, 0) / Self.step, 255))
    let frame = max(frame, AudioFormat.stepNanoseconds / 4)
    let usual = Int64(recent.quantile(0.9)) * Self.step
    let isHeldUp = stalls.record(lateness: lateness, usual: usual, arrival: arrival)
    if !isHeldUp {
      history.record(level, limit: Int(Self.memory / frame))
      spells.record(lateness: lateness, time: arrival)
    }
    if isPrimary, !isHeldUp {
      recent.record(level, limit: Self.recentFrames)
      noteLeast(level)
    }
    if let calm = spells.takeExpired(time: arrival) {
      history.forget(above: Int(calm / Self.step))
      recent.forget(above: Int(calm / Self.step))
    }
    let sufficient = max(
      history.sufficientDelay(frameSteps: Int(frame / Self.step)), extrapolated)
    let wanted = max(Int64(sufficient) * Self.step, repairDelay, stalls.delay(at: arrival))
    targetDelay = min(max(wanted, range.lowerBound), range.upperBound)
  }

  /// What the packets of the last four seconds let expect, in steps: where delays are exponential,
  /// one in two hundred and fifty exceeds 4.6 times what three in ten exceed. Rare freezes leave it
  /// alone, and so does a path that became longer: its packets are late, but evenly.
  private var extrapolated: Int {
    guard recent.count >= Self.fewest else { return 0 }
    let spread = max(0, recent.quantile(0.7) - min(least[0], least[1]))
    return spread * 23 / 5
  }

  private mutating func noteLeast(_ level: Int) {
    leastCount += 1
    if leastCount > Self.leastFrames {
      least[1] = least[0]
      least[0] = level
      leastCount = 1
    }
    least[0] = min(least[0], level)
  }

  private static let leastFrames = 16
  private static let recentFrames = 200
  private static let fewest = 8
  /// Twenty seconds.
  private static let memory: Int64 = 20_000_000_000
  private static let step: Int64 = 2_000_000
}
