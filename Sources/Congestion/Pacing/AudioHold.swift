package import Primitives

/// Whether audio would be heard: while the other side reports that nothing comes, though more was
/// sent, it is held, but for a packet now and then that looks for the end of the outage
/// (docs/decisions/0022).
///
/// Only a report says so. Where nothing at all comes back it may be the way back that is dead, and
/// audio goes on.
package struct AudioHold: Sendable, BitwiseCopyable {
  package enum Verdict: Sendable, BitwiseCopyable {
    case send, wait
    /// It would come too late.
    case drop
  }

  private var isOut = false
  private var began = Instant.zero
  /// Until then, if no report says so again.
  private var heldUntil = Instant.zero
  private var lastSent = Instant.zero

  package init() {}

  // MARK: Inputs

  /// A FEEDBACK has come.
  ///
  /// - Parameters:
  ///   - hasNews: It told of an arrival.
  ///   - overdue: For how long, by it, something has been missing: nanoseconds.
  ///   - roundTrip: Without a queue, in nanoseconds.
  package mutating func handleReport(
    hasNews: Bool, overdue: UInt64, roundTrip: UInt64, now: Instant
  ) {
    if hasNews {
      isOut = false
    } else if overdue >= max(Self.leastOverdue, 2 * min(roundTrip, Self.mostRoundTrip)) {
      if !isHeld(now: now) { began = now }
      isOut = true
      heldUntil = now + Self.memory
    }
  }

  /// Audio has left.
  package mutating func noteSent(now: Instant) { lastSent = now }

  // MARK: Outputs

  /// The path carries nothing at the moment.
  package func isHeld(now: Instant) -> Bool { isOut && now < heldUntil }

  /// It does not, and audio goes now and then to see its end.
  package func isProbing(now: Instant) -> Bool {
    isHeld(now: now) && now - lastSent < Self.slowPause + Self.slowPause
  }

  /// What to do with the oldest frame that waits.
  ///
  /// - Parameter queued: Since when.
  package func verdict(queued: Instant, now: Instant) -> Verdict {
    guard isHeld(now: now) else { return .send }
    if now - queued > Self.mostAge { return .drop }
    let pause = now - began < Self.quickTime ? Self.quickPause : Self.slowPause
    return now - lastSent < pause ? .wait : .send
  }

  /// What comes later than that is not played any more (`JitterBuffer.longestBacklog`). What comes
  /// earlier is, and a hold would only make it later: by the way back, and a report.
  private static let leastOverdue: UInt64 = 350_000_000
  /// Where the path is that long, nothing is learnt from waiting for more than this.
  private static let mostRoundTrip: UInt64 = 1_000_000_000
  /// Two reports that say the same may be lost.
  private static let memory = Duration.milliseconds(700)
  /// Between two packets, in the first moments and later.
  private static let quickPause = Duration.milliseconds(100)
  private static let slowPause = Duration.milliseconds(200)
  private static let quickTime = Duration.milliseconds(500)
  /// What is older is not waited for.
  private static let mostAge = Duration.milliseconds(160)
}
