package import Primitives

/// Checks of addresses that nothing but the peer's word speaks for (docs/protocol/calling.md §4).
///
/// A peer that is away for minutes says anew where it is when it comes back: each second without an
/// answer allows two more.
package struct UnprovenChecks: Sendable {
  package var count = 0
  private var renewedAt: Instant?

  package init() {}

  /// The peer has said where it is.
  package mutating func allowMore(now: Instant) {
    guard let last = renewedAt else {
      renewedAt = now
      return
    }
    let more = now.nanoseconds(since: last) / Self.period
    guard more > 0 else { return }
    renewedAt = now
    count = max(0, count - Int(clamping: more))
  }

  private static let period: UInt64 = 500_000_000
}
