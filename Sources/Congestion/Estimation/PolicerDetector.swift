import Primitives

/// Whether what is lost without a queue is a policer's doing or the line's: for a moment no more is
/// sent than arrived. A policer then has nothing to drop; the line loses as before.
package struct PolicerDetector: Sendable, BitwiseCopyable {
  package struct Constants: Sendable, BitwiseCopyable {
    /// Above this inherent loss a trial is worth it, share of packets. Tuned.
    package var leastLoss = 0.08
    /// Length of a trial, beside a cycle. Tuned.
    package var duration = Duration.milliseconds(1_500)
    /// From a trial to the next. Tuned.
    package var pause = Duration.seconds(15)
    /// First trial after the start. Tuned.
    package var settling = Duration.seconds(3)
    /// How long a verdict holds. Tuned.
    package var hold = Duration.seconds(20)
    /// Rate of a trial, × delivery rate, below 1: what the policer passes, less a little. Tuned.
    package var rateShare = 0.9
    /// It is a policer if less than this × the loss before is lost. Tuned.
    package var lossShare = 0.4
    /// Where what is sent has gaps: no trial begins while less than this × estimate is sent. Tuned:
    /// less than 1 / 1.6, which what arrives is of what may be tried (`growth.room`).
    package var shownShare = 0.55

    package init() {}
  }

  let constants: Constants
  /// While a trial runs: what is sent, bit/s.
  private(set) var trialRate: Double?
  private var began = Instant.zero
  private var next: Instant?
  private var lossBefore = 0.0
  private var estimateBefore = 0.0
  private var lost = 0.0
  private var all = 0.0
  /// What the policer lets through, in bit/s, until then.
  private(set) var ceiling = Double.infinity
  private var ceilingEnd = Instant.zero

  init(_ constants: Constants = Constants()) { self.constants = constants }

  /// Takes the losses of one report.
  ///
  /// - Parameters:
  ///   - delivered: What arrives, without any correction, in bit/s.
  ///   - cycle: In microseconds.
  /// - Returns: What may be sent at most; `nil` where the detector has nothing to say.
  mutating func handleReport(
    _ losses: LossAccount, estimate: Double, delivered: Double, cycle: Double, now: Instant
  ) -> Double? {
    if let trialRate { return judge(losses, rate: trialRate, cycle: cycle, now: now) }
    if now < ceilingEnd { return min(estimate, ceiling) }
    if ceiling.isFinite {
      ceiling = .infinity
      next = now
    }
    let due = next ?? now + constants.settling
    next = due
    guard losses.inherent > constants.leastLoss, losses.lostInReport > 0, now >= due,
      delivered > 0
    else { return nil }
    let rate = min(delivered * constants.rateShare, estimate)
    trialRate = rate
    began = now
    lossBefore = losses.inherent
    estimateBefore = estimate
    lost = 0
    all = 0
    return rate
  }

  private mutating func judge(
    _ losses: LossAccount, rate: Double, cycle: Double, now: Instant
  ) -> Double {
    let cycle = Duration.microseconds(Int64(cycle))
    if now - began > cycle {
      lost += losses.lostInReport
      all += losses.settledInReport
    }
    guard now - began > constants.duration + cycle else { return rate }
    trialRate = nil
    next = now + constants.pause
    guard all > 0, lost / all < constants.lossShare * lossBefore else { return estimateBefore }
    ceiling = rate
    ceilingEnd = now + constants.hold
    return ceiling
  }
}
