/// A moment on this host's monotonic clock, which also counts while the host sleeps.
///
/// 8 bytes; nanoseconds from an arbitrary origin. Below the I/O edge time is always an argument:
/// only `Reactor` can read a clock, and the simulator makes its own.
public struct Instant: InstantProtocol, Hashable, Sendable, BitwiseCopyable {
  /// Nanoseconds since the clock's origin.
  public var nanoseconds: UInt64

  /// The moment `nanoseconds` after the clock's origin.
  public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

  /// The clock's origin.
  public static let zero = Instant(nanoseconds: 0)

  /// The moment `duration` later, clamped to the range of the clock.
  public func advanced(by duration: Duration) -> Instant {
    let delta = duration.nanoseconds
    if delta >= 0 {
      let (sum, overflow) = nanoseconds.addingReportingOverflow(UInt64(delta))
      return Instant(nanoseconds: overflow ? .max : sum)
    }
    let (difference, overflow) = nanoseconds.subtractingReportingOverflow(delta.magnitude)
    return Instant(nanoseconds: overflow ? 0 : difference)
  }

  /// How long it is from here to `other`; negative when `other` is earlier.
  public func duration(to other: Instant) -> Duration {
    .nanoseconds(Int64(bitPattern: other.nanoseconds &- nanoseconds))
  }

  /// Nanoseconds from `earlier` to here; 0 when `earlier` is later.
  package func nanoseconds(since earlier: Instant) -> UInt64 {
    nanoseconds > earlier.nanoseconds ? nanoseconds - earlier.nanoseconds : 0
  }

  /// Whether the one moment comes before the other.
  public static func < (left: Instant, right: Instant) -> Bool {
    left.nanoseconds < right.nanoseconds
  }

  /// The moment `right` after `left`.
  public static func + (left: Instant, right: Duration) -> Instant { left.advanced(by: right) }
  /// The moment `right` before `left`.
  public static func - (left: Instant, right: Duration) -> Instant {
    left.advanced(by: .zero - right)
  }
  /// The time from `right` to `left`.
  public static func - (left: Instant, right: Instant) -> Duration { right.duration(to: left) }
}

extension Duration {
  /// The whole duration in nanoseconds, clamped to 64 bits (292 years).
  package var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, carry) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
    return overflow || carry ? (seconds < 0 ? .min : .max) : sum
  }

  /// The whole duration in milliseconds, rounded towards zero.
  package var milliseconds: Int64 { nanoseconds / 1_000_000 }
}

/// The earliest of several deadlines; `nil` means never.
package func earliest(_ first: Instant?, _ second: Instant?) -> Instant? {
  guard let first else { return second }
  guard let second else { return first }
  return min(first, second)
}
