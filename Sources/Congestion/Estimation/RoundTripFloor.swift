import Primitives

/// The base round-trip time, in microseconds: the minimum of the last one to two seconds without
/// our own queue. A queue on the way back, which we cannot help, is part of it.
package struct RoundTripFloor: Sendable, BitwiseCopyable {
  package struct Constants: Sendable, BitwiseCopyable {
    /// The minimum is of one to two of these, ns.
    package var span: Int64 = 1_000_000_000
    /// Least value, µs. Tuned.
    package var least = 500.0
    /// Value before the first sample, µs. Tuned.
    package var unknown = 100_000.0

    package init() {}
  }

  /// A minute: whatever a peer reports, times made of it stay numbers.
  static let most = 60_000_000.0
  private let constants: Constants
  private var present = Double.infinity
  private var before = Double.infinity
  private var switched = Instant.zero

  init(_ constants: Constants = Constants()) { self.constants = constants }

  var value: Double {
    let least = min(present, before)
    return least.isFinite ? min(max(least, constants.least), Self.most) : constants.unknown
  }

  /// - Parameter sample: A round trip less its queueing delay, µs.
  mutating func add(_ sample: Double, now: Instant) {
    if now.nanoseconds(since: switched) >= UInt64(constants.span) {
      before = present
      present = .infinity
      switched = now
    }
    present = min(present, sample)
  }
}
