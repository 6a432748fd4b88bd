import Primitives

/// The loss of the last moments, against the loss of the seconds before.
package struct SuddenLoss: Sendable, BitwiseCopyable {
  package struct Constants: Sendable, BitwiseCopyable {
    /// Shortest memory of the last moments. Tuned: a policer is found within a second.
    package var shortest = Duration.milliseconds(300)
    /// Memory of the last moments, cycles, where that is longer. Tuned.
    package var cycles = 3.0
    /// Memory of what was before, packets. Tuned: some seconds.
    package var memory = 1_000.0
    /// What was before is known from so many packets on. Tuned.
    package var fewest = 100.0
    /// Least rise, share of packets. Tuned.
    package var leastRise = 0.03
    /// The same while nothing is known of what was before. Tuned: a start that doubles its rate
    /// loses half of it.
    package var leastAtFirst = 0.35
    /// Losses that are borne: × usual loss, and share of packets besides. What is beyond is summed
    /// up until it is sudden (CUSUM). Tuned.
    package var borneShare = 1.75
    package var borne = 0.02
    /// The same while nothing is known of what was before, share of packets. Tuned.
    package var borneAtFirst = 0.25
    /// Sum of runs of losses from which on they are sudden. Tuned.
    package var mostSum = 7.0
    /// The same where a policer is known. Tuned.
    package var mostSumSettled = 3.5
    /// Least number of losses while nothing is known of what was before. Tuned.
    package var fewestAtFirst = 6.0
    /// Standard deviations that a loss by which others are judged is taken lower, and the usual
    /// loss higher. Tuned.
    package var caution = 1.5

    package init() {}
  }

  /// Packets settled, and those of them that were lost.
  package struct Count: Sendable, BitwiseCopyable {
    package var all = 0.0
    package var lost = 0.0

    package init() {}

    package var share: Double { all > 0 ? lost / all : 0 }

    fileprivate mutating func scale(_ share: Double) {
      all *= share
      lost *= share
    }
  }

  private let constants: Constants
  /// Of the last moments.
  private(set) var recent = Count()
  /// Of what was before.
  private var before = Count()
  private var last = Instant.zero
  /// Runs of losses beyond those that are borne.
  private var sum = 0.0
  /// Losses come in runs of this many, at least 1: a run counts once.
  private var run = 1.0

  init(_ constants: Constants = Constants()) { self.constants = constants }

  /// Takes the losses of one report.
  ///
  /// - Parameters:
  ///   - isSettled: Whether what is usual is known from a trial, and stays.
  ///   - cycle: In microseconds.
  mutating func append(_ losses: LossAccount, isSettled: Bool, cycle: Double, now: Instant) {
    let usual = Double(constants.shortest.nanoseconds) / 1e3
    let passed = Double(now.nanoseconds(since: last)) / 1e3
    let leaving = min(1, passed / max(usual, cycle * constants.cycles))
    last = now
    run = losses.run
    if isSettled { recent.scale(1 - leaving) } else { absorb(leaving) }
    recent.all += losses.settledInReport
    recent.lost += losses.lostInReport
    let borne =
      isKnown || isSettled
      ? greatestUsualShare * constants.borneShare + constants.borne : constants.borneAtFirst
    let change = (losses.lostInReport - borne * losses.settledInReport) / run
    sum = min(max(0, sum + change), constants.mostSum * 2)
  }

  /// More is lost than chance makes of what was lost before.
  ///
  /// - Parameter isSettled: As in `append`.
  func isSudden(isSettled: Bool) -> Bool {
    if isSettled { return sum >= constants.mostSumSettled }
    guard isKnown else {
      return recent.share >= constants.leastAtFirst && recent.lost / run >= constants.fewestAtFirst
    }
    return sum >= constants.mostSum && recent.share >= usualShare + constants.leastRise
  }

  /// Whether what was lost before is known.
  var isKnown: Bool { before.all >= constants.fewest }

  /// Losses of the last moments are more than one beyond the usual.
  var isLosing: Bool { excess >= 2 }

  /// What is usually lost, share of packets.
  var usualShare: Double { isKnown ? before.share : 0 }

  /// The same, as high as chance may have lowered it: few packets say little.
  private var greatestUsualShare: Double {
    guard isKnown else { return 0 }
    let deviation = (max(before.share, 1 / before.all) * run / before.all).squareRoot()
    return before.share + constants.caution * deviation
  }

  /// The loss of the last moments, as low as chance may have raised it.
  var cautiousShare: Double {
    let deviation = (recent.share * run / max(recent.all, 1)).squareRoot()
    return max(0, recent.share - constants.caution * deviation)
  }

  private var expected: Double { usualShare * recent.all / run }
  private var excess: Double { recent.lost / run - expected }

  /// Where packets wait a loss may be the queue's: it is as if it were usual.
  mutating func absorbRecent() {
    absorb(1)
    sum = 0
  }

  private mutating func absorb(_ share: Double) {
    before.all += recent.all * share
    before.lost += recent.lost * share
    if before.all > constants.memory { before.scale(constants.memory / before.all) }
    recent.scale(1 - share)
  }

  /// Nothing is known.
  mutating func restart() { settle(Count()) }

  /// From now on `count` is what is usual.
  mutating func settle(_ count: Count) {
    recent = Count()
    sum = 0
    before = count
    if before.all > 0 { before.scale(max(1, constants.fewest / before.all)) }
  }
}
