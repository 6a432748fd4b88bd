import Primitives

/// When an interval between two shown pictures is a freeze by W3C webrtc-stats (`freezeCount`): at
/// least max(3 x mean, mean + 150 ms) of the last 30 intervals, this one included.
///
/// As in libwebrtc there is none before five intervals.
struct RenderedIntervals: Sendable {
  /// In nanoseconds.
  private var intervals = InlineArray<30, Int64>(repeating: 0)
  private var next = 0
  private var count = 0
  private var sum: Int64 = 0

  /// Whether `interval`, which follows those noted, is a freeze.
  func isFreeze(_ interval: Duration) -> Bool {
    let isFull = count == intervals.count
    let all = sum &- (isFull ? intervals[next] : 0) &+ interval.nanoseconds
    let known = min(count + 1, intervals.count)
    guard known >= Self.leastCount else { return false }
    let mean = all / Int64(known)
    return interval.nanoseconds >= max(3 * mean, mean + Self.leastIncrease)
  }

  mutating func append(_ interval: Duration) {
    sum &+= interval.nanoseconds &- intervals[next]
    intervals[next] = interval.nanoseconds
    next = (next + 1) % intervals.count
    count = min(count + 1, intervals.count)
  }

  private static let leastCount = 5
  /// 150 ms.
  private static let leastIncrease: Int64 = 150_000_000
}
