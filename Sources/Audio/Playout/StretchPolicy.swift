/// One wish to change the delay, and how much harm may be done for it.
struct StretchDecision: Equatable, Sendable {
  var direction: TimeStretch.Direction
  /// The least normalised correlation at which a splice is accepted; `nil` accepts any.
  var leastCorrelation: Float?
  /// The shortest and the farthest jump, in samples.
  var shortest: Int
  var longest: Int
}

/// What a wish to change the delay rests on.
struct StretchSituation: Sendable {
  /// How much later than its target the newest packet is decoded, in samples.
  var excess = 0
  /// Samples that waited in the queue when it was decoded: delay that buys nothing.
  var leftover = 0
  /// How long a pause has lasted, the next stretch included, in samples; 0 in speech.
  var passiveRun = 0
  /// Pulls since the last splice or attempt.
  var pullsSinceLast = 0
  /// By how much more than usual the next packet is overdue, in samples.
  var overdue = 0
  /// The delay aimed at, in samples.
  var target = 0
  /// Whether the head of the queue follows something made up.
  var isMerge = false
}

/// When to change the delay: as seldom as may be, in pauses where possible.
///
/// A packet can be used from the first pull after its arrival, so that delay counts in whole pulls:
/// what is to be gained or lost is rounded so that the queue is empty when a packet is decoded.
///
/// Splices within a pause that has lasted a while are not heard, nor does PESQ mind them; in
/// speech each costs a little, so that the price asked of a splice falls with what it gains.
struct StretchPolicy: Sendable {
  func decide(_ situation: StretchSituation) -> StretchDecision? {
    if situation.overdue > Self.longOverdue { return bridge(situation) }
    let step = AudioFormat.stepSampleCount
    if situation.excess < -max(Self.tolerance, situation.target / (unsafe lab[8])) {
      let pulls = (-situation.excess + step - 1) / step
      return lengthen(by: pulls * step - situation.leftover, situation)
    }
    let pulls = max(0, (situation.excess - max(Self.reserve, situation.target / (unsafe lab[7]))) / step)
    return shorten(by: situation.leftover + pulls * step, situation)
  }

  private func shorten(by amount: Int, _ situation: StretchSituation) -> StretchDecision? {
    guard amount >= Self.worthwhile else { return nil }
    let longest = min(amount, TimeStretch.longest)
    let isQuick = situation.pullsSinceLast >= (amount > 150 * Self.millisecond ? 3 : 6)
    if situation.passiveRun >= (unsafe lab[0])
      || (situation.passiveRun > 0 && amount >= (unsafe lab[1]) * Self.millisecond)
    {
      return StretchDecision(
        direction: .shorten, leastCorrelation: nil, shortest: longest * 3 / 4, longest: longest)
    }
    if situation.isMerge, amount >= 8 * Self.millisecond {
      return StretchDecision(
        direction: .shorten, leastCorrelation: 0.3, shortest: 0, longest: longest)
    }
    guard isQuick, let least = Self.correlation(toRemove: amount) else { return nil }
    return StretchDecision(
      direction: .shorten, leastCorrelation: least, shortest: 0, longest: longest)
  }

  private func lengthen(by amount: Int, _ situation: StretchSituation) -> StretchDecision? {
    let longest = min(max(amount, TimeStretch.shortest), TimeStretch.longest)
    if situation.passiveRun > (unsafe lab[5]) {
      return StretchDecision(
        direction: .lengthen, leastCorrelation: nil, shortest: longest * 3 / 4, longest: longest)
    }
    guard situation.pullsSinceLast >= 4, let least = Self.correlation(toAdd: -situation.excess)
    else { return nil }
    return StretchDecision(
      direction: .lengthen, leastCorrelation: least, shortest: 0, longest: TimeStretch.longest)
  }

  /// Nothing has come for long: what is left is made to last.
  private func bridge(_ situation: StretchSituation) -> StretchDecision? {
    if situation.passiveRun > 0 {
      return StretchDecision(
        direction: .lengthen, leastCorrelation: nil, shortest: TimeStretch.longest * 3 / 4,
        longest: TimeStretch.longest)
    }
    guard situation.pullsSinceLast >= 2 else { return nil }
    return StretchDecision(
      direction: .lengthen, leastCorrelation: 0.6, shortest: 0, longest: TimeStretch.longest)
  }

  /// How alike the two sides of a splice in speech must be.
  private static func correlation(toRemove amount: Int) -> Float? {
    switch amount / millisecond {
    case ..<(unsafe lab[2]): nil
    case ..<(unsafe lab[3]): 0.9
    case ..<(unsafe lab[4]): 0.7
    default: 0.5
    }
  }

  private static func correlation(toAdd amount: Int) -> Float? {
    switch amount / millisecond {
    case ..<(unsafe lab[6]): nil
    case ..<20: 0.85
    case ..<60: 0.7
    default: 0.6
    }
  }

  // In samples.
  private static let millisecond = 48
  private static let tolerance = 72
  private static let reserve = 120
  private static let worthwhile = 192
  private static let deepPause = 5760
  private static let longOverdue = 2880
}

nonisolated(unsafe) package var lab: [Int] = [5760, 1000, 60, 150, 250, 0, 4, 6, 16, 35]
