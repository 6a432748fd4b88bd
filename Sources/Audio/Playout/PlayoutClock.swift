/// The receiver's own clock: 10 ms a pull, and slowly led by the time at which pulls happen.
///
/// A thread that wakes late, or pulls twice every 20 ms, moves no playout; a device whose clock
/// drifts does, at the pace at which it drifts.
struct PlayoutClock: Sendable {
  /// When the samples about to be given begin to sound, in nanoseconds.
  private(set) var time: Int64 = 0
  private var runs = false

  /// Counts one pull that happens at `now` (nanoseconds).
  mutating func tick(now: Int64) {
    guard runs else {
      runs = true
      time = now
      return
    }
    time &+= AudioFormat.stepNanoseconds
    let error = now &- time
    if abs(error) > Self.maxError {
      time = now
    } else {
      time &+= error / Self.gain
    }
  }

  /// A quarter of a minute until an offset is gone: slow against wake-ups, fast against drift.
  private static let gain: Int64 = 256
  /// Beyond half a second the puller has not been late but away.
  private static let maxError: Int64 = 500_000_000
}
