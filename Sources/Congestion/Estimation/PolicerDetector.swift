import Primitives

/// Whether what is lost without a queue is a policer's doing or the line's: for a moment less is
/// sent than arrived. A policer then has nothing to drop; the line loses as before.
///
/// What a policer passes is a ceiling, which is raised by steps until something is lost again.
package struct PolicerDetector: Sendable, BitwiseCopyable {
  package struct Constants: Sendable, BitwiseCopyable {
    /// Above this inherent loss a trial is worth it, although it is not sudden: share of packets.
    /// Tuned.
    package var leastLoss = 0.08
    /// Longest trial, beside a cycle. Tuned.
    package var duration = Duration.milliseconds(1_200)
    /// A trial begins to count after this many cycles: what was sent before it is settled then.
    package var settlingCycles = 1.2
    /// A trial is over when so many losses would have come by the loss before. Tuned: of 8 expected
    /// at most 3 come in one of 25 cases.
    package var expectedLosses = 8.0
    /// A trial is in vain with so many losses beyond what a policer would have left. Tuned.
    package var excessLosses = 3.0
    /// From a trial to the next where the loss is not sudden; doubles with each in vain. Tuned.
    package var pause = Duration.seconds(15)
    /// Longest such pause. Tuned.
    package var mostPause = Duration.seconds(120)
    /// From a trial in vain to the next because of sudden losses. Tuned.
    package var suddenPause = Duration.seconds(1)
    /// Losses are sudden for this long before what still arrives is told: the span of `recent`.
    package var watch = Duration.milliseconds(150)
    /// A policer passes what it passed before, × delivery rate over seconds. What falls below is a
    /// fade. Tuned.
    package var keptShare = 0.85
    /// For so long what arrived before is not tried a second time. Tuned.
    package var retryPause = Duration.seconds(10)
    /// First trial after the start where the loss is not sudden. Tuned.
    package var settling = Duration.seconds(3)
    /// Rate of a trial, × delivery rate, below 1: what the policer passes, less a little. Tuned.
    package var rateShare = 0.9
    /// The same where the burst that a policer lets through may count as delivered. Tuned.
    package var firstRateShare = 0.6
    /// Least rate of a trial, bit/s: audio has a ceiling of its own. Tuned.
    package var leastRate = 150_000.0
    /// It is a policer if less than this × the loss before is lost. Tuned.
    package var lossShare = 0.4
    /// Below this × the loss before, a lower rate is tried at once, twice at most. Tuned.
    package var repeatShare = 0.75
    /// While no ceiling is known a lower rate is tried so often at most. Tuned.
    package var mostRepeats = 5
    /// The lower rate is of no less delivered than this × the rate before. Tuned.
    package var leastRepeat = 0.3
    /// The same where what arrives is known. Tuned.
    package var leastRepeatKnown = 0.6
    /// Above this × what arrived over seconds, delivered may be a burst. Tuned.
    package var burstShare = 1.3
    /// After such a trial in vain no more is tried than this × its rate. Tuned.
    package var failedRoom = 2.5
    /// The ceiling, × what the policer passed. Tuned.
    package var ceilingShare = 0.97
    /// From a verdict to the first step; doubles each time the same rate is found. Tuned.
    package var hold = Duration.milliseconds(500)
    /// Longest such time. Tuned.
    package var mostHold = Duration.seconds(16)
    /// Two rates are the same up to this, share. Tuned.
    package var sameRate = 0.2
    /// First step of the ceiling, × ceiling. Tuned.
    package var step = 0.03
    /// The same after a trial at the start. Tuned.
    package var firstStep = 0.1
    /// Growth of the steps. Tuned.
    package var stepGrowth = 1.1
    /// Shortest time of a step, and two cycles. Tuned.
    package var stepTime = Duration.milliseconds(250)
    /// A ceiling is in use, and may be raised, from this × ceiling delivered on. Tuned.
    package var usedShare = 0.9
    /// Above this × what it passed there is no policer. Tuned.
    package var clearShare = 1.25

    package init() {}
  }

  /// What follows from a report.
  enum Step: Equatable {
    case none
    /// No more than this is sent, in bit/s.
    case trial(Double)
    /// A policer passes this, in bit/s; the share of packets is lost all the same.
    case found(Double, loss: Double)
    /// It was the line: the estimate from before, in bit/s.
    case failed(Double)
  }

  /// What is sent and what arrives, in bit/s.
  struct Rates {
    var estimate: Double
    /// Without any correction for losses.
    var delivered: Double
    /// The same over seconds.
    var usual: Double
  }

  private struct Trial: Sendable, BitwiseCopyable {
    var rate: Double
    /// What arrived before it, in bit/s.
    var delivered: Double
    var began: Instant
    var lossBefore: Double
    var estimateBefore: Double
    var count = SuddenLoss.Count()
    var repeats = 0
    /// What arrived for seconds before the losses, in bit/s.
    var usual = 0.0
  }

  private let constants: Constants
  private var sudden: SuddenLoss
  private var trial: Trial?
  /// Since when losses are sudden, and what arrived for seconds before, in bit/s.
  private var onset: (since: Instant, usual: Double)?
  /// From when on what arrived before losses may be tried once more.
  private var nextRetry = Instant.zero
  /// When trials may next be: because the loss is high, or because it is sudden.
  private var next: (high: Instant?, sudden: Instant) = (nil, .zero)
  private var pause: Duration
  /// What the policer lets through at most, in bit/s.
  private(set) var ceiling = Double.infinity
  /// What it was found to pass, in bit/s; 0 if never.
  private var passed = 0.0
  private var hold: Duration
  private var step = 0.0
  private var nextStep = Instant.zero

  init(_ constants: Constants = Constants(), sudden: SuddenLoss.Constants = .init()) {
    self.constants = constants
    self.sudden = SuddenLoss(sudden)
    pause = constants.pause
    hold = constants.hold
  }

  /// What is usually lost, share of packets; 0 before it is known.
  var usualLoss: Double { sudden.usualShare }

  /// While a trial runs: what is sent, bit/s.
  var trialRate: Double? { trial?.rate }

  /// Takes the losses of one report.
  ///
  /// - Parameters:
  ///   - rates: Of the moment.
  ///   - isQueued: Whether packets wait.
  ///   - cycle: In microseconds.
  mutating func handleReport(
    _ losses: LossAccount, rates: Rates, isQueued: Bool, cycle: Double, now: Instant
  ) -> Step {
    let delivered = rates.delivered
    sudden.append(losses, isSettled: ceiling.isFinite, cycle: cycle, now: now)
    if trial != nil { return judge(losses, delivered: delivered, cycle: cycle, now: now) }
    if isQueued { sudden.absorbRecent() }
    let due = next.high ?? now + constants.settling
    next.high = due
    raise(delivered: delivered, cycle: cycle, now: now)
    watchOnset(rates, now: now)
    guard !isQueued, losses.lostInReport > 0, delivered > 0 else { return .none }
    if let onset, now >= next.sudden, mayBePolicer(rates, since: onset.since, now: now) {
      // Above what arrived for seconds, a burst that a policer lets through may be delivered.
      let isKnown = ceiling.isFinite || rates.delivered <= rates.usual * constants.burstShare
      let share = isKnown ? constants.rateShare : constants.firstRateShare
      return begin(sudden.cautiousShare, rates, share: share, now: now)
    }
    guard losses.inherent > constants.leastLoss, now >= due else { return .none }
    let step = begin(losses.inherent, rates, share: constants.rateShare, now: now)
    // What arrives is known well.
    trial?.repeats = 1
    return step
  }

  private mutating func watchOnset(_ rates: Rates, now: Instant) {
    guard sudden.isSudden(isSettled: ceiling.isFinite) else { return onset = nil }
    onset = onset ?? (now, rates.usual)
  }

  /// A policer that drops something still passes all that it passed before. In a fade less arrives.
  private func mayBePolicer(_ rates: Rates, since: Instant, now: Instant) -> Bool {
    if ceiling.isFinite || !sudden.isKnown { return true }
    return now - since >= constants.watch && rates.delivered >= rates.usual * constants.keptShare
  }

  /// The losses of the last moments had another cause: watching begins again.
  ///
  /// - Returns: The estimate from before a trial that they began, in bit/s.
  mutating func restart() -> Double? {
    sudden.restart()
    next = (nil, .zero)
    defer { trial = nil }
    return trial.map { before($0) }
  }

  // MARK: Trials

  private mutating func begin(
    _ loss: Double, _ rates: Rates, share: Double, now: Instant
  ) -> Step {
    let rate = min(max(rates.delivered * share, constants.leastRate), rates.estimate)
    trial = Trial(
      rate: rate, delivered: rates.delivered, began: now, lossBefore: loss,
      estimateBefore: rates.estimate, usual: onset?.usual ?? 0)
    return .trial(rate)
  }

  private mutating func judge(
    _ losses: LossAccount, delivered: Double, cycle: Double, now: Instant
  ) -> Step {
    guard var trial else { return .none }
    let time = now - trial.began
    let settling = Duration.microseconds(Int64(cycle * constants.settlingCycles))
    if time > settling {
      trial.count.all += losses.settledInReport
      trial.count.lost += losses.lostInReport
    }
    self.trial = trial
    let usual = trial.lossBefore * constants.lossShare
    let excess = (trial.count.lost - usual * trial.count.all) / losses.run
    let isVain = excess >= constants.excessLosses
    let expected = trial.lossBefore * trial.count.all / losses.run
    let isClear = expected >= constants.expectedLosses && trial.count.share < usual
    guard isVain || isClear || time > constants.duration + settling else {
      return .trial(trial.rate)
    }
    if !isVain, trial.count.all > 0, trial.count.share < usual {
      return find(trial, run: losses.run, delivered: delivered, now: now)
    }
    let isLess = trial.count.share < trial.lossBefore * constants.repeatShare
    if isLess && trial.repeats < 2 || mayBeBurst(trial) {
      return repeatLower(trial, delivered: delivered, now: now)
    }
    return fail(trial, now: now)
  }

  /// It was begun where a burst may count as delivered.
  private func isDeep(_ trial: Trial) -> Bool { trial.rate < trial.delivered * 0.75 }

  /// A burst may have passed for delivered, and its losses for few: the loss of the trial
  /// itself is then what the next one is judged by. The line's own does not fall.
  private func mayBeBurst(_ trial: Trial) -> Bool {
    if trial.repeats == 0 { return true }
    return (isDeep(trial) || ceiling.isFinite) && trial.repeats < constants.mostRepeats
      && trial.count.share < trial.lossBefore * constants.repeatShare
  }

  private mutating func find(
    _ trial: Trial, run: Double, delivered: Double, now: Instant
  ) -> Step {
    if wasMoreBefore(trial), now >= nextRetry { return retry(trial, now: now) }
    let isSame = abs(trial.delivered - passed) <= constants.sameRate * passed
    hold = isSame ? min(hold * 2, constants.mostHold) : constants.hold
    passed = trial.delivered
    // What is lost all the same may be too much still.
    if trial.count.lost >= 2 * run { passed = min(passed, delivered) }
    let isDeep = isDeep(trial)
    ceiling = isDeep ? trial.rate : passed * constants.ceilingShare
    step = isDeep ? constants.firstStep : constants.step
    nextStep = isDeep ? now : now + hold
    sudden.settle(trial.count)
    self.trial = nil
    pause = constants.pause
    next.high = now + pause
    return .found(passed, loss: trial.count.share)
  }

  /// For seconds more had arrived than during the losses.
  private func wasMoreBefore(_ trial: Trial) -> Bool {
    !ceiling.isFinite && trial.delivered < trial.usual * constants.keptShare
  }

  /// It may have been a fade that is over: what arrived before it is sent again. If a policer drops
  /// it, the next trial tells.
  private mutating func retry(_ trial: Trial, now: Instant) -> Step {
    self.trial = nil
    sudden.settle(trial.count)
    nextRetry = now + constants.retryPause
    return .failed(min(trial.estimateBefore, trial.usual))
  }

  /// Less was lost, but not little: more than the policer passes had arrived.
  private mutating func repeatLower(_ trial: Trial, delivered: Double, now: Instant) -> Step {
    var lower = trial
    let share = isDeep(trial) ? constants.firstRateShare : constants.rateShare
    let least = trial.rate * (isDeep(trial) ? constants.leastRepeat : constants.leastRepeatKnown)
    lower.delivered = min(trial.rate, max(delivered, least))
    lower.rate = min(max(lower.delivered * share, constants.leastRate), trial.rate)
    if isDeep(trial) || ceiling.isFinite || trial.repeats == 0 {
      lower.lossBefore = trial.count.share
    }
    lower.began = now
    lower.count = SuddenLoss.Count()
    lower.repeats += 1
    self.trial = lower
    return .trial(lower.rate)
  }

  private mutating func fail(_ trial: Trial, now: Instant) -> Step {
    self.trial = nil
    ceiling = .infinity
    passed = 0
    sudden.settle(trial.count)
    next = (now + pause, now + constants.suddenPause)
    pause = min(pause * 2, constants.mostPause)
    return .failed(before(trial))
  }

  /// At the start what was tried may be far above what the path carries.
  private func before(_ trial: Trial) -> Double {
    let most = isDeep(trial) ? trial.rate * constants.failedRoom : .infinity
    return min(trial.estimateBefore, most)
  }

  // MARK: The ceiling

  private mutating func raise(delivered: Double, cycle: Double, now: Instant) {
    guard ceiling.isFinite, now >= nextStep, !sudden.isLosing,
      delivered >= ceiling * constants.usedShare * (1 - sudden.usualShare)
    else { return }
    guard ceiling < passed * constants.clearShare else {
      ceiling = .infinity
      return
    }
    ceiling *= 1 + step
    step *= constants.stepGrowth
    nextStep = now + max(constants.stepTime, .microseconds(Int64(cycle * 2)))
  }
}
