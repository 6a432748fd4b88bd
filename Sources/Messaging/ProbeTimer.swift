import Primitives

/// When silence means that something must be sent again (RFC 9002 §6.2, docs/protocol/frames.md
/// §3). Without samples 300 ms; doubled for every time it fires, to at most 1 s. What is urgent
/// goes again sooner, and at the same pace as long as it lives.
struct ProbeTimer: Equatable, Sendable, BitwiseCopyable {
  /// Nanoseconds, as the owner's RTT estimator has it.
  var timeout = MessageRules.initialProbeTimeout
  /// How often it has fired since the last acknowledgement.
  private(set) var backOff = 0
  /// When a packet with MSG was last sent, or the timer last fired.
  private var start = Instant.zero
  /// The next packet is to be followed by another one with the same.
  private var owesCopy = false

  /// When it fires next, if it runs.
  ///
  /// - Parameter isUrgent: Something under way is urgent.
  func deadline(isUrgent: Bool) -> Instant {
    let (sum, overflow) = start.nanoseconds.addingReportingOverflow(wait(isUrgent: isUrgent))
    return Instant(nanoseconds: overflow ? .max : sum)
  }

  private func wait(isUrgent: Bool) -> UInt64 {
    guard isUrgent else {
      return max(timeout, min(doubled(backOff), MessageRules.longestProbeTimeout))
    }
    return backOff == 0
      ? min(timeout, MessageRules.firstUrgentRepeat)
      : min(doubled(backOff - 1), MessageRules.urgentRepeat)
  }

  /// The timeout, doubled `times`.
  private func doubled(_ times: Int) -> UInt64 {
    times < 16 ? timeout << UInt64(times) : .max
  }

  mutating func restart(now: Instant) { start = now }

  /// - Returns: Whether nothing but what is urgent is due.
  mutating func fire(isUrgent: Bool, now: Instant) -> Bool {
    start = now
    // One lost packet must not cost another wait (RFC 9002 §6.2.4).
    owesCopy = isUrgent && backOff > 0
    backOff &+= 1
    return isUrgent && backOff % MessageRules.urgentRepeatsForAll != 0
  }

  /// Whether what was just sent goes once more; says so once.
  mutating func takeCopy() -> Bool {
    defer { owesCopy = false }
    return owesCopy
  }

  mutating func acknowledged() {
    backOff = 0
    owesCopy = false
  }
}
