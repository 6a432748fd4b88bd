import Primitives

/// What becomes of the packets sent on one path, counted in one place: report by report for the
/// rate, and over the last seconds for whoever has to choose a repair.
package struct LossAccount: Sendable, BitwiseCopyable {
  package struct Constants: Sendable, BitwiseCopyable {
    /// Of losses one after another no more than these count: a longer run is an outage. Tuned.
    package var countedRun = 3
    /// Memory of the recent loss, packets: 1 s at 2 Mbit/s.
    package var recentMemory = 200.0
    /// Memory of the inherent loss, packets. Tuned.
    package var inherentMemory = 500.0
    /// Memory of `share` and `run`, packets: 4 s of a call with video.
    package var patternMemory = 500.0
    /// Of losses one after another no more than these count in it: the rest of a long run is an
    /// outage, which nothing repairs.
    package var longestRun = 8
    /// `share` is told from so many packets on. Tuned.
    package var fewest = 50.0

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
  private var presentRun = 0
  /// Of the last seconds: settled, lost, and runs of losses.
  private var pattern = (all: 0.0, lost: 0.0, runs: 0.0)
  /// The run of numbers lost last.
  private var lastRun: (first: UInt64, length: Int)?
  /// The numbers of the last run that did not count.
  private var uncounted: (first: UInt64, end: UInt64) = (0, 0)

  init(_ constants: Constants = Constants()) { self.constants = constants }

  /// Share lost in the last seconds, 0...1; 0 before there are some packets to tell from.
  package var share: Double {
    pattern.all >= constants.fewest ? pattern.lost / pattern.all : 0
  }

  /// Packets lost in a row on average, at least 1.
  package var run: Double { pattern.runs > 0 ? max(1, pattern.lost / pattern.runs) : 1 }

  mutating func addArrived() {
    arrived += 1
    presentRun = 0
    pattern.all += 1
    forget()
  }

  /// - Parameter number: Of the packet: fates need not come in the order of sending.
  mutating func addLost(_ number: UInt64) {
    presentRun += 1
    if presentRun <= constants.countedRun { lost += 1 }
    let follows = lastRun.map { number == $0.first &+ UInt64($0.length) } ?? false
    let length = follows ? (lastRun?.length ?? 0) + 1 : 1
    lastRun = (number &- UInt64(length - 1), length)
    pattern.all += 1
    if length <= constants.longestRun {
      pattern.lost += 1
      if !follows { pattern.runs += 1 }
    } else {
      let isLonger = follows && uncounted.end == number
      uncounted = (isLonger ? uncounted.first : number, number + 1)
    }
    forget()
  }

  /// What was given out as lost has come after all.
  mutating func addLate(_ number: UInt64) {
    lost = max(0, lost - 1)
    arrived += 1
    guard number < uncounted.first || number >= uncounted.end else { return }
    pattern.lost = max(0, pattern.lost - 1)
    if pattern.lost == 0 { pattern.runs = 0 }
  }

  private mutating func forget() {
    guard pattern.all > constants.patternMemory else { return }
    let rest = constants.patternMemory / pattern.all
    pattern = (pattern.all * rest, pattern.lost * rest, pattern.runs * rest)
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
