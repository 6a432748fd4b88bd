import Primitives

/// When a receiver says that nothing more of a stream comes (docs/protocol/frames.md §2): its last
/// report again, whose delay tells for how long.
///
/// Only of a stream that was dense: what a pause in speech leaves out is no silence.
struct StreamSilence: Sendable, BitwiseCopyable {
  /// Between two arrivals, smoothed, in nanoseconds.
  private var gap = Self.longestGap * 4
  private var isDenseUntil = Instant.zero
  private var lastArrival: Instant?
  private var repeatCount = 0
  private(set) var nextDeadline: Instant?

  mutating func noteArrival(now: Instant) {
    if let lastArrival {
      let elapsed = min(now.nanoseconds(since: lastArrival), Self.longestGap * 4)
      gap = gap - gap / 8 + elapsed / 8
    }
    lastArrival = now
    if gap <= Self.longestGap { isDenseUntil = now + Self.memory }
    repeatCount = 0
    nextDeadline = now < isDenseUntil ? now + .nanoseconds(Int64(Self.patience)) : nil
  }

  func isDue(now: Instant) -> Bool { nextDeadline.map { $0 <= now } ?? false }

  /// It was said.
  mutating func noteRepeat(now: Instant) {
    repeatCount += 1
    let pause = repeatCount < Self.quickRepeats ? Self.pause : 2 * Self.pause
    nextDeadline =
      repeatCount < Self.mostRepeats ? now + .nanoseconds(Int64(pause)) : nil
  }

  /// Of a stream: an audio packet each 60 ms.
  private static let longestGap: UInt64 = 65_000_000
  /// A line that has been all but dead, and lets a packet through now and then.
  private static let memory = Duration.seconds(3)
  /// Since the last arrival.
  private static let patience: UInt64 = 100_000_000
  private static let pause: UInt64 = 100_000_000
  /// For one second each 100 ms, and for another four each 200 ms.
  private static let quickRepeats = 10
  private static let mostRepeats = 30
}
