internal import CLinux
package import Primitives

/// The only place where time comes from: everybody else is told.
package enum SystemClock {
  /// Now, on the monotonic clock that also counts while the host sleeps (`CLOCK_BOOTTIME`).
  package static var now: Instant { Instant(nanoseconds: earshot_boottime_ns()) }

  /// Nanoseconds since 1970 UTC; may be stepped at any moment. For logs, never for intervals.
  package static var wallNanoseconds: UInt64 { earshot_realtime_ns() }

  /// Milliseconds since 1970 UTC at a moment of the monotonic clock, which is at `now`.
  package static func wallMilliseconds(of moment: Instant, now: Instant) -> Double {
    let wall = wallNanoseconds
    return Double((wall - min(wall, now.nanoseconds(since: moment))) / 1000) / 1000
  }
}

/// Puts the kernel's receive stamps, which are wall time, on the monotonic clock.
///
/// Both clocks are read together once for each batch, so a step of the wall clock can only touch
/// the datagrams that were waiting at that moment, and those only within `ageLimit`.
///
/// Station 12 of the house tour; next is `Demultiplexer`.
struct ArrivalClock {
  let now: Instant
  private let wall: UInt64

  /// An age beyond this is a stepped clock, not a datagram that waited: it counts as none.
  private static let ageLimit: UInt64 = 1_000_000_000

  init(now: Instant = SystemClock.now, wall: UInt64 = SystemClock.wallNanoseconds) {
    self.now = now
    self.wall = wall
  }

  /// When a datagram stamped `stamp` (nanoseconds since 1970; 0 for unknown) came in.
  func instant(ofStamp stamp: UInt64) -> Instant {
    guard stamp != 0, stamp < wall, wall &- stamp < Self.ageLimit else { return now }
    let age = min(wall &- stamp, now.nanoseconds)
    return Instant(nanoseconds: now.nanoseconds &- age)
  }
}
