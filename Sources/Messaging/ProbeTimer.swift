import Primitives

/// When silence means that something must be sent again (RFC 9002 §6.2, docs/protocol/frames.md
/// §3). Without samples 300 ms; doubled for every time it fires, to at most 1 s.
struct ProbeTimer: Equatable, Sendable, BitwiseCopyable {
  /// Nanoseconds, as the owner's RTT estimator has it.
  var timeout = MessageRules.initialProbeTimeout
  /// How often it has fired since the last acknowledgement.
  private(set) var backOff = 0
  /// When a packet with MSG was last sent, or the timer last fired.
  private var start = Instant.zero

  /// When it fires next, if it runs.
  var deadline: Instant {
    let doubled = backOff < 16 ? timeout << UInt64(backOff) : .max
    let wait = max(timeout, min(doubled, MessageRules.longestProbeTimeout))
    let (sum, overflow) = start.nanoseconds.addingReportingOverflow(wait)
    return Instant(nanoseconds: overflow ? .max : sum)
  }

  mutating func restart(now: Instant) { start = now }

  mutating func fire(now: Instant) {
    start = now
    backOff = min(backOff + 1, 16)
  }

  mutating func acknowledged() { backOff = 0 }
}
