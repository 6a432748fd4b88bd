import Primitives

/// Packets that arrived or not, report by report.
struct LossAccount: Sendable, BitwiseCopyable {
  /// Since the last report.
  private var arrived = 0.0
  private var lost = 0.0
  /// Of the packets of about the last second.
  private(set) var recent = 0.0
  /// What is lost with no queue in sight: the line's own.
  private(set) var inherent = 0.0
  /// Packets that the last report gave out as lost.
  private(set) var lostInReport = 0.0
  /// Packets whose fate it settled.
  private(set) var settledInReport = 0.0
  private var weight = 0.0
  /// Losses one after another; of a long run, which is an outage, only the first count.
  private var run = 0

  mutating func addArrived() {
    arrived += 1
    run = 0
  }

  mutating func addLost() {
    run += 1
    if run <= Self.countedRun { lost += 1 }
  }

  mutating func addLate() {
    lost = max(0, lost - 1)
    arrived += 1
  }

  /// - Parameter isQueued: Whether packets wait: then a loss may be the queue's.
  mutating func finishReport(isQueued: Bool) {
    let all = arrived + lost
    lostInReport = lost
    settledInReport = all
    guard all > 0 else { return }
    recent += (lost / all - recent) * min(1, all / 200)
    if !isQueued {
      weight = min(weight + all, 500)
      inherent += (lost / all - inherent) * min(1, all / weight)
    }
    arrived = 0
    lost = 0
  }

  private static let countedRun = 3
}

/// ECN marks, as DCTCP weighs them (RFC 8257 §3.3).
struct MarkAccount: Sendable, BitwiseCopyable {
  private var marked = 0.0
  private var all = 0.0
  /// Of the packets of the last round trips.
  private(set) var share = 0.0
  /// Of those in the last report.
  private(set) var latest = 0.0
  /// In the last report.
  private(set) var isMarked = false
  private(set) var lastMark: Instant?

  mutating func add(isMarked: Bool) {
    all += 1
    if isMarked { marked += 1 }
  }

  /// - Parameter weight: What part of a round trip the report covers.
  mutating func finishReport(weight: Double, now: Instant) {
    guard all > 0 else { return }
    isMarked = marked > 0
    if isMarked { lastMark = now }
    latest = marked / all
    share += (latest - share) * min(1, weight)
    marked = 0
    all = 0
  }

  /// The path marks: a mark is then told before a queue is.
  func isInUse(now: Instant) -> Bool {
    guard let lastMark else { return false }
    return now - lastMark < .seconds(10)
  }
}
