import Primitives

/// Sends less for a moment, so that the base delay is seen again (as ProbeRTT of BBR does): a queue
/// that never empties would be taken for the path once the base delay is forgotten.
package struct MinRTTProbe: Sendable, BitwiseCopyable {
  package struct Constants: Sendable, BitwiseCopyable {
    /// Time without a packet at the base delay after which a probe is due, µs. Tuned; below the
    /// 30 s after which the base delay is forgotten.
    package var longestUnseen: Int64 = 12_000_000
    /// Rate during a probe, × capacity, below 1. Tuned.
    package var rateShare = 0.7
    /// A probe ends when the newest packets wait less than this, µs. The filter's tolerance.
    package var endDelay = 1_000.0
    /// Longest probe, µs. Tuned.
    package var longest = 1_000_000.0
    /// From the begin of a probe to the next one at the soonest. Tuned.
    package var pause = Duration.seconds(4)

    package init() {}
  }

  let constants: Constants
  private var end = Instant.zero
  private var next = Instant.zero

  init(_ constants: Constants = Constants()) { self.constants = constants }

  /// Whether less is to be sent now.
  ///
  /// - Parameters:
  ///   - unseen: Since a packet last came at the base delay, µs; `nil` before the first.
  ///   - cycle: Of feedback, µs.
  mutating func isProbing(
    unseen: Int64?, queue: QueueingDelay, cycle: Double, now: Instant
  ) -> Bool {
    if now < end { return queue.fresh > constants.endDelay }
    guard let unseen, now >= next, unseen > constants.longestUnseen else { return false }
    let needed = queue.standing / (1 - constants.rateShare) + cycle
    end = now + .microseconds(Int64(min(needed, constants.longest)))
    next = now + constants.pause
    return true
  }
}
