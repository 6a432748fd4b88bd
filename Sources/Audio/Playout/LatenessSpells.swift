/// Notices that a time of lateness is over: nothing has been so late for three times as long
/// as it took at most.
///
/// Kept for 64 levels of 8 ms. A path whose queue shivers is trusted again after 1.5 s of calm; one
/// that freezes every five seconds is not.
struct LatenessSpells: Sendable {
  private var last = InlineArray<64, Int64>(repeating: .min)
  /// When the event that `last` belongs to began.
  private var began = InlineArray<64, Int64>(repeating: .min)
  /// The longest time from one event to the next, forgotten by a tenth at each; 0 while there was
  /// one at most.
  private var gap = InlineArray<64, Int64>(repeating: 0)

  /// - Parameters:
  ///   - lateness: in nanoseconds.
  ///   - time: in nanoseconds.
  mutating func record(lateness: Int64, time: Int64) {
    let levels = Int(min(max(lateness, 0) / Self.level, Int64(last.count)))
    for index in 0..<levels {
      let before = last[index]
      last[index] = max(before, time)
      guard before != .min, time &- before <= Self.sameEvent else {
        began[index] = time
        if before != .min { gap[index] = max(time &- before, gap[index] / 10 * 9) }
        continue
      }
      // What never ends is no event that may come again, but how the path is.
      if time &- began[index] > Self.calm { gap[index] = max(gap[index], Self.sameEvent) }
    }
  }

  /// The least lateness, in nanoseconds, above which everything is past; `nil` when nothing is.
  /// What it names is forgotten.
  mutating func takeExpired(time: Int64) -> Int64? {
    for index in last.indices where last[index] != .min && gap[index] > 0 {
      guard time &- last[index] > max(Self.calm, Self.patience * gap[index]) else { continue }
      for above in index..<last.count {
        last[above] = .min
        gap[above] = 0
      }
      return Int64(index) * Self.level
    }
    return nil
  }

  private static let level: Int64 = 8_000_000
  private static let sameEvent: Int64 = 60_000_000
  private static let calm: Int64 = 1_500_000_000
  private static let patience: Int64 = 3
}
