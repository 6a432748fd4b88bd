package import Primitives

/// Grades one direction of a path every 2 s: unknown until two spans were measured, down after 4 s
/// without anything.
package struct NetworkGrader: Sendable {
  package static let interval: UInt64 = 2_000_000_000
  package static let downAfter: UInt64 = 4_000_000_000

  /// What was measured in one span.
  package struct Measurement: Sendable, BitwiseCopyable {
    package var loss: Double
    /// In ms.
    package var roundTrip: Double
    package var jitter: Double
    package var headroom: Double?

    package init(loss: Double, roundTrip: Double, jitter: Double, headroom: Double? = nil) {
      self.loss = loss
      self.roundTrip = roundTrip
      self.jitter = jitter
      self.headroom = headroom
    }
  }

  package private(set) var grade = NetworkGrade.unknown
  private var spanCount = 0
  private var lastHeard: Instant
  private var due: Instant

  package init(now: Instant) {
    lastHeard = now
    due = Instant(nanoseconds: now.nanoseconds &+ Self.interval)
  }

  /// When the next grade is due.
  package var nextDeadline: Instant { due }

  /// Something came from the other side: a report for the way there, a packet for the way back.
  package mutating func noteHeard(now: Instant) { lastHeard = max(lastHeard, now) }

  /// Grades the span that is over; `nil` before it is. `measurement` is `nil` when there was
  /// nothing to measure.
  package mutating func handleTimeout(
    _ measurement: Measurement?, now: Instant
  ) -> NetworkGrade? {
    guard now >= due else { return nil }
    due = Instant(nanoseconds: now.nanoseconds &+ Self.interval)
    if now.nanoseconds(since: lastHeard) >= Self.downAfter {
      grade = .down
      spanCount = 0
    } else if let measurement {
      spanCount += 1
      if spanCount >= 2 {
        grade = NetworkGrade(
          loss: measurement.loss, roundTrip: measurement.roundTrip, jitter: measurement.jitter,
          headroom: measurement.headroom)
      }
    }
    return grade
  }
}
