import Primitives

/// Whether what is lost without a queue is a policer's doing or the line's: for a moment no more is
/// sent than arrived. A policer then has nothing to drop; the line loses as before.
struct LossTrial: Sendable, BitwiseCopyable {
  /// While it runs.
  private(set) var rate: Double?
  private var began = Instant.zero
  private var next: Instant?
  private var before = 0.0
  private var estimateBefore = 0.0
  private var lost = 0.0
  private var all = 0.0
  /// What the policer lets through, in bit/s, until then.
  private(set) var ceiling = Double.infinity
  private var ceilingEnd = Instant.zero

  /// Above this share of losses it is worth a trial.
  static let leastLoss = 0.08
  private static let duration = Duration.milliseconds(1_500)
  private static let pause = Duration.seconds(15)
  /// After the start.
  private static let settling = Duration.seconds(3)
  private static let hold = Duration.seconds(20)

  /// Takes the losses of one report.
  ///
  /// - Parameters:
  ///   - delivered: What arrives, without any correction, in bit/s.
  ///   - cycle: In microseconds.
  /// - Returns: What may be sent at most; `nil` where the trial has nothing to say.
  mutating func update(
    _ losses: LossAccount, estimate: Double, delivered: Double, cycle: Double, now: Instant
  ) -> Double? {
    if let rate {
      if now - began > .microseconds(Int64(cycle)) {
        lost += losses.lostInReport
        all += losses.settledInReport
      }
      guard now - began > Self.duration + .microseconds(Int64(cycle)) else { return rate }
      self.rate = nil
      next = now + Self.pause
      if all > 0, lost / all < 0.4 * before {
        ceiling = rate
        ceilingEnd = now + Self.hold
        return ceiling
      }
      return estimateBefore
    }
    if now < ceilingEnd { return min(estimate, ceiling) }
    if ceiling.isFinite {
      ceiling = .infinity
      next = now
    }
    let due = next ?? now + Self.settling
    next = due
    guard losses.inherent > Self.leastLoss, losses.lostInReport > 0, now >= due, delivered > 0
    else { return nil }
    rate = min(delivered * 0.9, estimate)
    began = now
    before = losses.inherent
    estimateBefore = estimate
    lost = 0
    all = 0
    return rate
  }
}
