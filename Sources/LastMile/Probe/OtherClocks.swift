import Primitives
import Wire

/// The other end's times, unwrapped: of sending, and of arrival.
struct OtherClocks: Sendable {
  var sending = WrappingClock(nanosecondsPerTick: 1000)
  var arrival = WrappingClock(nanosecondsPerTick: Int64(ProbeReportFrame.nanosecondsPerTick))
}

/// Unwraps 32-bit times of the other end.
struct WrappingClock: Sendable {
  private let nanosecondsPerTick: Int64
  private var last: Int64?

  init(nanosecondsPerTick: Int64) { self.nanosecondsPerTick = nanosecondsPerTick }

  /// Nanoseconds of the other end's clock; never more than half the range from the last.
  mutating func unwrap(_ ticks: UInt32) -> Int64 {
    var unwrapped = Int64(ticks)
    if let last {
      let step = Int32(bitPattern: ticks &- UInt32(truncatingIfNeeded: last))
      unwrapped = last &+ Int64(step)
    }
    last = unwrapped
    return unwrapped &* nanosecondsPerTick
  }
}
