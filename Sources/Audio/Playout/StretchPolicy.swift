/// One wish to change the delay, and how much harm may be done for it.
struct StretchDecision: Equatable, Sendable {
  var direction: TimeStretch.Direction
  /// The least normalised correlation at which a splice is accepted; `nil` accepts any.
  var leastCorrelation: Float?
  /// The shortest and the farthest jump, in samples.
  var shortest: Int
  var longest: Int
}

/// What a wish to change the delay rests on; all in samples.
struct StretchSituation: Sendable {
  /// How much later than its target the newest packet is needed.
  var excess = 0
  /// What is gained on top when it is needed a pull earlier or later: every second pull may be one
  /// that comes late.
  var gainByOne = 0
  /// What waited in the queue beyond whole pulls when it was decoded: delay that buys nothing.
  var leftover = 0
  /// The delay aimed at.
  var target = 0
  /// How long a pause had lasted before; 0 in speech.
  var passiveRun = 0
  /// Whether what was decoded is a pause.
  var isPassive = false
  /// Pulls since the last splice or attempt.
  var pullsSinceLast = 0
  /// For how long there has been more delay than wanted.
  var haste = 0
  /// For how long there has been less.
  var shortage = 0
  /// Whether the delay need not change before a pause.
  var mayWait = false
  /// Whether the head of the queue follows something made up.
  var isMerge = false
}

/// When to change the delay: as seldom as may be, in pauses where possible.
///
/// A packet can be used from the first pull after its arrival, so that delay counts in whole pulls:
/// what is to be gained or lost is rounded so that the queue is empty when a packet is needed.
///
/// Cuts within a pause that lasts are not heard, nor does PESQ mind them; in speech each costs a
/// little, so that the price asked of a splice falls with what it gains.
struct StretchPolicy: Sendable {
  /// How much could be taken away without falling below the target, in samples.
  func surplus(_ situation: StretchSituation) -> Int {
    guard situation.excess >= -Self.tolerance(situation) else { return 0 }
    let reserve = max(Self.reserve, situation.target / 16)
    let step = AudioFormat.pullSampleCount
    var pulls = max(0, (situation.excess + max(0, situation.gainByOne) - reserve) / step)
    while pulls > 0, Self.excess(situation, afterPulls: -pulls) < reserve { pulls -= 1 }
    return situation.leftover + pulls * step
  }

  private static func excess(_ situation: StretchSituation, afterPulls pulls: Int) -> Int {
    situation.excess + pulls * AudioFormat.pullSampleCount
      + (pulls & 1 == 0 ? 0 : situation.gainByOne)
  }

  /// Whether there is less delay than wanted.
  func isShort(_ situation: StretchSituation) -> Bool {
    situation.excess < -Self.tolerance(situation)
  }

  /// How much of a pause of `count` samples to leave out.
  ///
  /// - Parameters:
  ///   - before: samples of the same pause that were heard already.
  ///   - mayWait: whether a longer pause may be waited for: only 100 ms that stay are a pause to
  ///     PESQ, and to the ear.
  func cut(pause count: Int, before: Int, surplus: Int, mayWait: Bool = false) -> Int {
    if mayWait {
      guard count + before >= Self.longPause else { return 0 }
      return cut(count, keeping: Self.realPause - before, surplus)
    }
    let whole = surplus >= Self.much ? Self.shortPause : Self.deepPause
    guard count + before >= whole else { return 0 }
    return cut(count, keeping: whole / 2 - before, surplus)
  }

  private func cut(_ count: Int, keeping kept: Int, _ surplus: Int) -> Int {
    let length = min(surplus, count - max(Self.join, kept))
    return length >= min(surplus, Self.worthwhile) ? length : 0
  }

  func decide(_ situation: StretchSituation) -> StretchDecision? {
    // In a pause it costs nothing to be exact.
    let tolerance = situation.isPassive ? Self.tolerance : Self.tolerance(situation)
    if situation.excess < -tolerance {
      let step = AudioFormat.pullSampleCount
      var pulls = 1
      while pulls < 200, Self.excess(situation, afterPulls: pulls) < 0 { pulls += 1 }
      return lengthen(by: pulls * step - situation.leftover, situation)
    }
    if let wish = foresee(situation) { return wish }
    return shorten(by: surplus(situation), situation)
  }

  /// Where a path keeps time, a little of the pull that will soon be wanted: so a clock that drifts
  /// moves the delay by less than a pull. It buys nothing yet, and a calm line seldom pays for it.
  private func foresee(_ situation: StretchSituation) -> StretchDecision? {
    guard situation.isPassive, situation.passiveRun >= Self.briefPause,
      situation.target < AudioFormat.pullSampleCount, situation.excess < Self.foresight,
      situation.leftover < TimeStretch.shortest
    else { return nil }
    return StretchDecision(
      direction: .lengthen, leastCorrelation: nil, shortest: TimeStretch.shortest,
      longest: TimeStretch.shortest)
  }

  private func shorten(by amount: Int, _ situation: StretchSituation) -> StretchDecision? {
    if situation.mayWait { return nil }
    let longest = min(amount, TimeStretch.longest)
    if situation.isMerge, amount >= 8 * Self.millisecond {
      return StretchDecision(
        direction: .shorten, leastCorrelation: 0.3, shortest: 0, longest: longest)
    }
    let pace = amount > 150 * Self.millisecond ? 6 : 12
    guard situation.pullsSinceLast >= pace,
      let least = Self.correlation(toRemove: amount, situation)
    else { return nil }
    return StretchDecision(
      direction: .shorten, leastCorrelation: least, shortest: 0, longest: longest)
  }

  private func lengthen(by amount: Int, _ situation: StretchSituation) -> StretchDecision? {
    let longest = min(max(amount, TimeStretch.shortest), TimeStretch.longest)
    if situation.isPassive {
      let pause = amount > Self.large ? Self.surePause : Self.briefPause
      if situation.passiveRun < pause { return nil }
      return StretchDecision(
        direction: .lengthen, leastCorrelation: nil, shortest: longest, longest: longest)
    }
    // Each splice in speech costs a little, and a packet that comes too late costs once what a few
    // splices cost: only a drifting clock is followed by them, where no pause comes; and whatever
    // never pauses.
    guard situation.pullsSinceLast >= 8, situation.shortage >= Self.patience,
      -situation.excess <= Self.drift || situation.shortage >= Self.endless
    else { return nil }
    if Self.isNearlyMissing(situation) { return complete(amount, longest) }
    guard let least = Self.correlation(toAdd: -situation.excess) else { return nil }
    // No more than a pull is wanted: what goes beyond would have to be taken out again.
    let farthest = situation.excess < -20 * Self.millisecond ? TimeStretch.longest : longest
    return StretchDecision(
      direction: .lengthen, leastCorrelation: least, shortest: 0, longest: farthest)
  }

  /// To the sample, or the delay moves further than the clock: the last splice is as long as what
  /// the others left, and none leaves less than the shortest.
  private func complete(_ amount: Int, _ longest: Int) -> StretchDecision {
    let isLast = amount < 2 * TimeStretch.shortest
    return StretchDecision(
      direction: .lengthen, leastCorrelation: nil, shortest: isLast ? longest : 0,
      longest: isLast ? longest : min(amount - TimeStretch.shortest, TimeStretch.longest))
  }

  /// Where a path keeps time and a clock drifts by 300 ppm, packets are missing at 1.8 ms: the
  /// least transit is that of four seconds. Any splice costs less than that.
  private static func isNearlyMissing(_ situation: StretchSituation) -> Bool {
    situation.target < AudioFormat.pullSampleCount && -situation.excess >= nearlyMissing
  }

  /// How alike the two sides of a splice in speech must be. One and a half seconds without a pause,
  /// and speech must do; for what is no more than the delay that stays, only where nothing pauses.
  private static func correlation(
    toRemove amount: Int, _ situation: StretchSituation
  ) -> Float? {
    let isMuch = amount > situation.target
    let isUrgent = situation.haste > (isMuch ? hurry : resignation)
    switch amount / millisecond {
    case ..<20: return nil
    case ..<120: return isUrgent ? 0.9 : nil
    case ..<250: return isMuch || isUrgent ? 0.9 : nil
    default: return 0.6
    }
  }

  private static func correlation(toAdd amount: Int) -> Float? {
    switch amount / millisecond {
    case ..<2: nil
    case ..<20: 0.85
    case ..<60: 0.7
    default: 0.6
    }
  }

  private static func tolerance(_ situation: StretchSituation) -> Int {
    max(tolerance, situation.target / 8)
  }

  // In samples.
  private static let millisecond = 48
  /// 0.5 ms, and 2.5 ms.
  private static let tolerance = 24
  private static let reserve = 120
  /// 1 ms.
  private static let foresight = 48
  /// 1.7 ms.
  private static let nearlyMissing = 82
  /// 4 ms.
  static let worthwhile = 192
  /// 15 ms: more is worth haste.
  static let noticeable = 720
  /// 60 ms.
  private static let much = 2880
  /// 20 ms; and 60 ms, which a stop within a word does not last, where more than that is wanted.
  private static let briefPause = 960
  private static let surePause = 2880
  private static let large = 2880
  /// 160 ms, and 100 ms.
  private static let longPause = 7680
  private static let realPause = 4800
  /// Two seconds without a pause.
  private static let patience = 96_000
  /// One and a half, and ten.
  private static let hurry = 72_000
  private static let resignation = 480_000
  /// Five seconds without one: music.
  private static let endless = 240_000
  /// 30 ms.
  private static let drift = 1440
  /// 120 ms, and 80 ms.
  private static let deepPause = 5760
  private static let shortPause = 3840
  /// 10 ms.
  private static let join = 480
}
