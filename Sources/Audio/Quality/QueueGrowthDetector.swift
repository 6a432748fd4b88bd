/// Tells a queue that grows from jitter, stalls and new paths, by the times of arrival alone.
///
/// A queue grows by a little with each packet, and stays. What jitter and stalls delay comes in one
/// leap and is caught up; another path is one leap that stays. So of each packet at most 40 ms
/// count as growth, and whatever is caught up counts in full.
package struct QueueGrowthDetector: Sendable, BitwiseCopyable {
  /// Whether packets have waited 80 ms and more, for four tenths of a second, in a queue that grew.
  package private(set) var isGrown = false

  private var newest: (mediaTime: UInt16, arrival: UInt64)?
  /// What has grown and is not caught up yet, in nanoseconds.
  private var growth: Int64 = 0
  /// The arrival from which on all of it was long.
  private var longSince: UInt64?

  package init() {}

  /// Takes the arrival of a frame, in nanoseconds; what was overtaken does not count.
  package mutating func recordFrame(mediaTime: UInt16, arrival: UInt64) {
    guard let last = newest else {
      newest = (mediaTime, arrival)
      return
    }
    guard arrival < last.arrival &+ Self.memory else {
      self = QueueGrowthDetector()
      newest = (mediaTime, arrival)
      return
    }
    let steps = mediaTime &- last.mediaTime
    guard steps > 0, steps < 0x8000, arrival >= last.arrival else { return }
    newest = (mediaTime, arrival)
    let elapsed = Int64(clamping: arrival - last.arrival)
    let later = elapsed &- Int64(steps) &* AudioFormat.stepNanoseconds
    growth = max(0, growth &+ min(later, Self.most) &- elapsed / Self.forgetting)
    guard growth >= Self.long else {
      longSince = nil
      isGrown = false
      return
    }
    let since = longSince ?? arrival
    longSince = since
    isGrown = arrival - since >= Self.patience
  }

  /// After so long a silence nothing is known of the queue any more.
  private static let memory: UInt64 = 5_000_000_000
  private static let most: Int64 = 40_000_000
  /// 5 ms a second: what clocks that run apart add is never taken for a queue.
  private static let forgetting: Int64 = 200
  private static let long: Int64 = 80_000_000
  private static let patience: UInt64 = 400_000_000
}
