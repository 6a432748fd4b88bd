/// How much has been made up since something was decoded, and how much of that was heard.
struct ConcealmentProgress: Sendable {
  /// Samples made up since something was decoded.
  private(set) var sampleCount = 0
  /// How many of these are in the statistics: a pull later, when they are played.
  private var counted = 0
  /// Mean square of the 10 ms before them.
  var levelBefore: Float = 0

  /// Takes back samples that were made up and not played.
  mutating func takeBack(_ spare: Int) { sampleCount -= spare }

  mutating func add(_ count: Int, _ statistics: inout PlayoutStatistics) {
    if sampleCount < Self.interruption, sampleCount + count >= Self.interruption {
      statistics.interruptionCount += 1
      statistics.totalInterruptionSamples += UInt64(sampleCount)
    }
    sampleCount = min(sampleCount + count, 1 << 40)
    if sampleCount >= Self.interruption {
      statistics.totalInterruptionSamples += UInt64(count)
    }
  }

  /// Counts what was made up when it is played: what comes late may take the place of the rest.
  mutating func countPlayed(unplayed: Int, _ statistics: inout PlayoutStatistics) {
    let played = max(counted, sampleCount - unplayed)
    statistics.concealedSamples += UInt64(played - counted)
    counted = played
  }

  /// What was made up is played to its end.
  mutating func end(_ statistics: inout PlayoutStatistics) {
    statistics.concealedSamples += UInt64(max(0, sampleCount - counted))
    sampleCount = 0
    counted = 0
  }

  /// 150 ms.
  private static let interruption = 7200
}
