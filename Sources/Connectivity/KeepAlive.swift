package import Primitives

/// When to send PING because nothing else was sent (docs/protocol/frames.md §6).
package struct KeepAlive: Hashable, Sendable {
  /// A peer in a call: after 1 s without a packet of its own.
  package static let call = Duration.seconds(1)

  private let period: Duration
  /// When PING is due if nothing is sent before.
  package private(set) var nextDeadline: Instant

  package init(every period: Duration = KeepAlive.call, now: Instant) {
    self.period = period
    nextDeadline = now + period
  }

  /// Any packet was sent.
  package mutating func noteSent(now: Instant) { nextDeadline = now + period }

  /// Whether PING is to be sent now; says so once a period.
  package mutating func poll(now: Instant) -> Bool {
    guard nextDeadline <= now else { return false }
    nextDeadline = now + period
    return true
  }
}
