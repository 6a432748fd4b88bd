import Primitives

/// Packets that arrived or not, report by report.
package struct LossAccount: Sendable, BitwiseCopyable {
  package struct Constants: Sendable, BitwiseCopyable {
    /// Of losses one after another no more than these count: a longer run is an outage. Tuned.
    package var countedRun = 3
    /// Memory of the recent loss, packets: 1 s at 2 Mbit/s.
    package var recentMemory = 200.0
    /// Memory of the inherent loss, packets. Tuned.
    package var inherentMemory = 500.0

    package init() {}
  }

  private let constants: Constants
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

  init(_ constants: Constants = Constants()) { self.constants = constants }

  mutating func addArrived() {
    arrived += 1
    run = 0
  }

  mutating func addLost() {
    run += 1
    if run <= constants.countedRun { lost += 1 }
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
    recent += (lost / all - recent) * min(1, all / constants.recentMemory)
    if !isQueued {
      weight = min(weight + all, constants.inherentMemory)
      inherent += (lost / all - inherent) * min(1, all / weight)
    }
    arrived = 0
    lost = 0
  }
}
