/// How much has been made up since something was decoded, and how much of that was heard.
struct ConcealmentProgress: Sendable {
  /// Samples made up since something was decoded.
  private(set) var sampleCount = 0
  /// How many of these are in the statistics: a pull later, when they are played.
  private var counted = 0
  /// Mean square of the 10 ms before them.
  var levelBefore: Float = 0
  /// Samples that are not in the statistics before there are more, or something is decoded: it may
  /// show that nothing was sent.
  var patience = 0
  /// Of the samples, the first so many are what goes before or after a pause.
  private var excused = 0
  /// Whether this concealment is among the events.
  private var isEvent = false
  private var isPaused = false

  /// Whether what is made up next counts.
  var isCounting: Bool { sampleCount >= excused + patience }

  /// Something is missing.
  mutating func begin(_ statistics: inout PlayoutStatistics) {
    if isCounting { countEvent(&statistics) }
  }

  /// Takes back samples that were made up and not played.
  mutating func takeBack(_ spare: Int) { sampleCount -= spare }

  mutating func add(_ count: Int, _ statistics: inout PlayoutStatistics) {
    isPaused = false
    let before = max(0, sampleCount - excused)
    sampleCount = min(sampleCount + count, 1 << 40)
    let after = max(0, sampleCount - excused)
    if before < Self.interruption, after >= Self.interruption {
      statistics.interruptionCount += 1
      statistics.totalInterruptionSamples += UInt64(before)
    }
    if after >= Self.interruption {
      statistics.totalInterruptionSamples += UInt64(count)
    }
  }

  /// Counts what was made up when it is played: what comes late may take the place of the rest.
  mutating func countPlayed(unplayed: Int, _ statistics: inout PlayoutStatistics) {
    guard sampleCount - unplayed > excused + patience else { return }
    count(sampleCount - unplayed, &statistics)
  }

  /// What was made up is played to its end.
  mutating func end(_ statistics: inout PlayoutStatistics) {
    count(sampleCount, &statistics)
    sampleCount = 0
    counted = 0
    excused = 0
    (isEvent, isPaused) = (false, false)
  }

  /// Nothing is sent now. So nothing was in the place of what is not counted; and what is made up
  /// after the pause, until something is decoded, is the delay.
  mutating func pause() {
    if !isPaused { excused = max(sampleCount, counted) + Self.longestDelay }
    isPaused = true
  }

  /// The sound that goes on after a pause waits.
  mutating func endPause() { if excused == 0 { pause() } }

  private mutating func count(_ played: Int, _ statistics: inout PlayoutStatistics) {
    let new = played - max(counted, excused)
    guard new > 0 else { return }
    if !isEvent { countEvent(&statistics) }
    statistics.concealedSamples += UInt64(new)
    counted = played
  }

  private mutating func countEvent(_ statistics: inout PlayoutStatistics) {
    statistics.concealmentEvents += 1
    isEvent = true
  }

  /// 150 ms.
  private static let interruption = 7200
  /// 400 ms.
  private static let longestDelay = 19_200
}
