/// RTT as RFC 9002 §5 estimates it, in nanoseconds.
///
/// Samples come from FEEDBACK, which says how long the receiver sat on the packet; that time is
/// already taken out of a sample (docs/protocol/frames.md §2).
package struct RoundTripEstimator: Equatable, Sendable, BitwiseCopyable {
  /// The longest that a peer waits before it reports a MSG (docs/protocol/frames.md §2), and some
  /// room for its timer: RFC 9002's max_ack_delay.
  package static let reportDelay: UInt64 = 25_000_000
  /// kGranularity (RFC 9002 §6.1.2).
  package static let granularity: UInt64 = 1_000_000
  /// Before there is a sample (docs/protocol/frames.md §3).
  package static let initialProbeTimeout: UInt64 = 300_000_000

  package private(set) var minimum: UInt64 = .max
  package private(set) var latest: UInt64 = 0
  package private(set) var smoothed: UInt64 = 0
  package private(set) var variation: UInt64 = 0
  package private(set) var sampleCount: UInt64 = 0

  package init() {}

  package var hasSample: Bool { sampleCount > 0 }

  /// Takes one sample. More than a minute is a broken clock and counts as a minute.
  package mutating func add(_ sample: UInt64) {
    let sample = min(sample, 60_000_000_000)
    latest = sample
    minimum = min(minimum, sample)
    sampleCount += 1
    guard sampleCount > 1 else {
      smoothed = sample
      variation = sample / 2
      return
    }
    let distance = smoothed > sample ? smoothed - sample : sample - smoothed
    variation = (3 * variation + distance) / 4
    smoothed = (7 * smoothed + sample) / 8
  }

  /// How long to wait for a report before something is sent again (RFC 9002 §6.2.1), without
  /// back-off.
  package var probeTimeout: UInt64 {
    guard hasSample else { return Self.initialProbeTimeout }
    return smoothed + max(4 * variation, Self.granularity) + Self.reportDelay
  }

  /// How old a packet is at least when a later one's report makes it count as lost (RFC 9002
  /// §6.1.2).
  package var lossDelay: UInt64 {
    guard hasSample else { return Self.initialProbeTimeout }
    let roundTrip = max(smoothed, latest)
    return max(roundTrip + roundTrip / 8, Self.granularity)
  }
}
