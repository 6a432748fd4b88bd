/// Follows the quality of one received stream through its call: in windows of two seconds (or up to
/// three, where one would end in a gap between packets), the
/// worst five seconds, the times when it was frozen, and the moment when it becomes bad, and why.
///
/// Fed with the totals of `PlayoutStatistics` at each pull; allocates nothing.
package struct QualityMonitor: Sendable {
  /// Totals that a window is the difference of.
  struct Totals: Sendable {
    var samples: UInt64 = 0
    var concealed: UInt64 = 0
    var concealmentEvents: UInt64 = 0
    /// Of the concealed, those whose packet came after all.
    var concealedByDelay: UInt64 = 0
    var lowRate: UInt64 = 0
    var stretched: UInt64 = 0
    var framesExpected: UInt64 = 0
    var framesLost: UInt64 = 0
    /// Lost and not repaired, or too late.
    var framesMissing: UInt64 = 0
    var packetsReceived: UInt64 = 0
    /// Payload of the frames' own packets, and samples of these; copies are left out.
    var primaryBytes: UInt64 = 0
    var primarySamples: UInt64 = 0
    /// Of these samples, the ones coded beyond 8 kHz.
    var upperBandSamples: UInt64 = 0
  }

  /// The estimate for the last window, 1...4.6; `nil` before the first is over.
  package private(set) var lastScore: Double?
  /// The least of all windows.
  package private(set) var leastScore: Double?
  /// The estimate for the worst five seconds, and where they began, in seconds of sound.
  package private(set) var worstFiveSeconds: (score: Double, begin: Double)?
  /// Seconds made up in windows of which 4 % and more were (after Agora's `totalFrozenTime`), and
  /// seconds of all windows.
  package private(set) var frozenSeconds = 0.0
  package private(set) var activeSeconds = 0.0
  /// How often the quality became bad.
  package private(set) var changesToBad = 0
  package private(set) var isBad = false
  /// Share of the last window's frames that nothing brought in time, 0...1; `nil` before the first
  /// window with any.
  package private(set) var lastMissingFraction: Double?

  private var scoreSum = 0.0
  private var scoreCounts = InlineArray<80, UInt32>(repeating: 0)
  private var windows: UInt32 = 0
  private var windowStart = Totals()
  private var halves = InlineArray<11, Totals>(repeating: Totals())
  private var halfCount = 0
  private var change: QualityChange?
  /// Packets received so far, and the sound given out when the last of them came.
  private var newest = (packets: UInt64(0), samples: UInt64(0))
  /// Samples given out since a packet came.
  private var silence: UInt64 = 0

  package init() {}

  /// Mean over all windows; `nil` before the first is over.
  package var meanScore: Double? { windows == 0 ? nil : scoreSum / Double(windows) }

  /// What one window in ten does not reach; `nil` before the first is over.
  package var tenthPercentile: Double? {
    guard windows > 0 else { return nil }
    var rest = Int(windows) / 10
    for bucket in scoreCounts.indices {
      rest -= Int(scoreCounts[bucket])
      if rest < 0 { return 1 + (Double(bucket) + 0.5) / 20 }
    }
    return nil
  }

  /// Share of the active time that was frozen, 0...1.
  package var frozenRate: Double { activeSeconds == 0 ? 0 : frozenSeconds / activeSeconds }

  /// Whether nothing has come for a second and more.
  package var isSilent: Bool { silence >= 2 * Self.halfSecond }

  /// The change that was noticed last, once.
  package mutating func pollChange() -> QualityChange? { change.take() }

  mutating func record(_ totals: Totals, _ surroundings: QualitySurroundings) {
    let half = Int(totals.samples / Self.halfSecond)
    if half > halfCount { closeHalf(totals, half, surroundings) }
    if totals.packetsReceived != newest.packets {
      newest = (totals.packetsReceived, totals.samples)
    }
    silence = totals.samples &- newest.samples
    guard totals.samples &- windowStart.samples >= 4 * Self.halfSecond else { return }
    // Whether a packet is late, or all of them stay away, shows within the second.
    guard silence < Self.tenthOfSecond || isSilent else { return }
    closeWindow(totals, surroundings)
    windowStart = totals
  }

  private mutating func closeHalf(
    _ totals: Totals, _ half: Int, _ surroundings: QualitySurroundings
  ) {
    halfCount = half
    halves[half % halves.count] = totals
    // Eleven marks, half a second apart; at the first five seconds there is none for the start.
    guard half >= 10 else { return }
    let first = half == 10 ? Totals() : halves[(half + 1) % halves.count]
    let score = Self.score(
      from: first, to: totals, surroundings.coded(as: totals, since: first))
    if worstFiveSeconds.map({ score < $0.score }) ?? true {
      worstFiveSeconds = (score, Double(first.samples) / 48_000)
    }
  }

  private mutating func closeWindow(_ totals: Totals, _ surroundings: QualitySurroundings) {
    let seconds = Double(totals.samples &- windowStart.samples) / 48_000
    let surroundings = surroundings.coded(as: totals, since: windowStart)
    let score = Self.score(from: windowStart, to: totals, surroundings)
    lastScore = score
    leastScore = min(leastScore ?? score, score)
    scoreSum += score
    windows &+= 1
    scoreCounts[min(max(Int((score - 1) * 20), 0), scoreCounts.count - 1)] &+= 1
    activeSeconds += seconds
    let concealed = totals.concealed &- windowStart.concealed
    if concealed * 25 >= totals.samples &- windowStart.samples {
      frozenSeconds += Double(concealed) / 48_000
    }
    lastMissingFraction = totals.missingFraction(since: windowStart) ?? lastMissingFraction
    noteChange(score, totals, surroundings)
  }

  private mutating func noteChange(
    _ score: Double, _ totals: Totals, _ surroundings: QualitySurroundings
  ) {
    let isLate = surroundings.mouthToEarMilliseconds > Self.longDelay
    if !isBad, score < Self.bad || isLate {
      isBad = true
      changesToBad += 1
      let cause = cause(to: totals, surroundings)
      change = QualityChange(
        isBad: true, score: score, cause: cause, from: windowStart, to: totals, surroundings)
      if isSilent { change?.silentSeconds = Double(silence) / 48_000 }
    } else if isBad, score >= Self.good, !isLate {
      isBad = false
      change = QualityChange(
        isBad: false, score: score, cause: nil, from: windowStart, to: totals, surroundings)
    }
  }

  private static func score(
    from first: Totals, to last: Totals, _ surroundings: QualitySurroundings
  ) -> Double {
    let samples = Double(max(1, last.samples &- first.samples))
    let concealed = Double(last.concealed &- first.concealed)
    let events = Double(last.concealmentEvents &- first.concealmentEvents)
    return MOSEstimate(
      bitsPerSecond: surroundings.bitsPerSecond, concealedFraction: concealed / samples,
      meanConcealedRun: concealed / max(1, events) / 960,
      lowRateFraction: Double(last.lowRate &- first.lowRate) / samples,
      upperBandFraction: surroundings.upperBandFraction
    ).score
  }

  private func cause(
    to last: Totals, _ surroundings: QualitySurroundings
  ) -> QualityChange.Cause {
    if isSilent { return surroundings.isPeerHeard ? .farEnd : .loss }
    // What waits in a queue is late, then lost: neither is where it begins.
    if surroundings.isQueueGrown { return .bandwidth }
    if surroundings.mouthToEarMilliseconds > Self.longDelay {
      if surroundings.isBandwidthShort { return .bandwidth }
      return surroundings.jitterMilliseconds > Self.longJitter ? .jitter : .delay
    }
    let first = windowStart
    let concealed = last.concealed &- first.concealed
    let late = last.concealedByDelay &- min(first.concealedByDelay, last.concealedByDelay)
    if concealed * 100 < last.samples &- first.samples {
      return surroundings.bitsPerSecond < 16_000 ? .bandwidth : .farEnd
    }
    if late * 2 > concealed { return .jitter }
    return surroundings.isBandwidthShort ? .bandwidth : .loss
  }

  private static let halfSecond: UInt64 = 24_000
  private static let tenthOfSecond: UInt64 = 4_800
  private static let bad = 3.0
  private static let good = 3.5
  /// ITU-T G.114: never more.
  private static let longDelay = 400.0
  /// Where a playout that waits out the jitter makes a delay long by itself.
  private static let longJitter = 20.0
}

extension QualityMonitor.Totals {
  /// Of the frames since `earlier`, those whose own packet did not come, 0...1; `nil` without any.
  func lostFraction(since earlier: Self) -> Double? {
    fraction(framesLost, earlier.framesLost, since: earlier)
  }

  /// Of the same, those that nothing brought in time, 0...1.
  func missingFraction(since earlier: Self) -> Double? {
    fraction(framesMissing, earlier.framesMissing, since: earlier)
  }

  /// What the sender has spent on the frames themselves since `earlier`, in bit/s; `nil` where none
  /// of their packets came.
  func bitsPerSecond(since earlier: Self) -> Int? {
    guard primarySamples > earlier.primarySamples, primaryBytes >= earlier.primaryBytes else {
      return nil
    }
    let seconds = Double(primarySamples - earlier.primarySamples) / 48_000
    return Int(Double(primaryBytes - earlier.primaryBytes) * 8 / seconds)
  }

  /// Share of these that are coded beyond 8 kHz, 0...1; `nil` likewise.
  func upperBandFraction(since earlier: Self) -> Double? {
    guard primarySamples > earlier.primarySamples else { return nil }
    let coded = upperBandSamples - min(earlier.upperBandSamples, upperBandSamples)
    return Double(coded) / Double(primarySamples - earlier.primarySamples)
  }

  /// A total may have gone down: what was given up may come after all.
  private func fraction(_ now: UInt64, _ before: UInt64, since earlier: Self) -> Double? {
    guard framesExpected > earlier.framesExpected else { return nil }
    let share = Double(now - min(before, now)) / Double(framesExpected - earlier.framesExpected)
    return min(1, share)
  }
}

/// What the receiver of a stream is told by others, for the estimate and for causes.
package struct QualitySurroundings: Equatable, Sendable {
  /// What the sender spends on the frames themselves, in bit/s; the jitter buffer fills in the mean
  /// of the call, which counts for a window only where none of its packets came.
  package var bitsPerSecond = 32_000
  /// Share of them that are coded beyond 8 kHz, 0...1; filled in likewise.
  package var upperBandFraction = 1.0
  /// 0 while it is not known.
  package var mouthToEarMilliseconds = 0.0
  /// Whether the sender says that the path carries less than it would send.
  package var isBandwidthShort = false
  /// Whether packets wait in a queue that has grown by and by (`QueueGrowthDetector`).
  package var isQueueGrown = false
  /// Between arrivals (RFC 3550 §6.4.1).
  package var jitterMilliseconds = 0.0
  /// Whether the other side was heard of after its last sound.
  package var isPeerHeard = false

  package init() {}

  /// The same with the rate and the band of what came from `first` to `last`.
  func coded(as last: QualityMonitor.Totals, since first: QualityMonitor.Totals) -> Self {
    var coded = self
    coded.bitsPerSecond = last.bitsPerSecond(since: first) ?? bitsPerSecond
    coded.upperBandFraction = last.upperBandFraction(since: first) ?? upperBandFraction
    return coded
  }
}
