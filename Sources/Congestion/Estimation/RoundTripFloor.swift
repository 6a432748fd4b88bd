import Primitives

/// The round trip without our own queue, in microseconds: the least of the last one to two seconds,
/// so that a queue on the way back, which we cannot help, is part of it.
struct RoundTripFloor: Sendable, BitwiseCopyable {
  private static let span: UInt64 = 1_000_000_000
  /// A minute: whatever a peer reports, times made of it stay numbers.
  static let most = 60_000_000.0
  private var present = Double.infinity
  private var before = Double.infinity
  private var switched = Instant.zero

  var value: Double {
    let least = min(present, before)
    return least.isFinite ? min(max(least, 500), Self.most) : 100_000
  }

  mutating func add(_ sample: Double, now: Instant) {
    if now.nanoseconds(since: switched) >= Self.span {
      before = present
      present = .infinity
      switched = now
    }
    present = min(present, sample)
  }
}
