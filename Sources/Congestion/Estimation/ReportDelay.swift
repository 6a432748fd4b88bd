import Primitives

/// How long a packet's report takes beside the base round trip and our own queue: the jitter of
/// both ways, and the time until the next report. As `extra_acked` of BBR: whoever has less than
/// that under way stops before each report.
package struct ReportDelay: Sendable, BitwiseCopyable {
  package struct Constants: Sendable, BitwiseCopyable {
    /// Weight of one report, 0 to 1. Tuned.
    package var weight = 0.03
    /// Value before the first report, µs: that of `ReportTiming.firstInterval`.
    package var first = 25_000.0
    /// A report counts for no more than this, µs. Tuned.
    package var most = 150_000.0

    package init() {}
  }

  private let constants: Constants
  /// Smoothed, µs.
  private(set) var value: Double
  /// The standing delay at the last report, what is no queue included, µs.
  var standing = 0.0
  /// When the newest packet of the last report was sent, µs.
  private var lastSent: Int64?

  init(_ constants: Constants = Constants()) {
    self.constants = constants
    value = constants.first
  }

  /// A report has come: until now the newest packet of the last one was the newest known.
  ///
  /// - Parameters:
  ///   - sent: When the newest packet of this one was sent, µs.
  ///   - roundTrip: The base round-trip time, µs.
  mutating func handleReport(sent: Int64?, roundTrip: Double, now: Instant) {
    if let lastSent {
      let age = Double(Int64(clamping: now.nanoseconds / 1_000) &- lastSent)
      let delay = min(max(0, age - roundTrip - standing), constants.most)
      value += (delay - value) * constants.weight
    }
    lastSent = sent
  }
}
