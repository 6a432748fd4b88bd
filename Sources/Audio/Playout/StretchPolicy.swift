/// One wish to change the delay, and how much harm may be done for it.
struct StretchDecision: Equatable, Sendable {
  var direction: TimeStretch.Direction
  /// The least normalised correlation at which a splice is accepted; `nil` accepts any.
  var leastCorrelation: Float?
  /// The farthest jump, in samples.
  var longest: Int

  fileprivate init(_ direction: TimeStretch.Direction, _ leastCorrelation: Float?, _ longest: Int) {
    self.direction = direction
    self.leastCorrelation = leastCorrelation
    self.longest = min(longest, TimeStretch.longest)
  }
}

/// When to change the delay: as seldom as may be, in pauses where possible, and then thoroughly.
///
/// Every splice costs a little of what a listener, or PESQ, hears: taking 23 ms out of the pauses
/// of a clean 14 s recording costs 0.05 to 0.5 of PESQ-WB. So a delay that is 36 ms above its
/// target (a call starts 25 ms above it) is left alone; one that is worse is brought down all the
/// way.
struct StretchPolicy: Sendable {
  private var isReturning = false

  /// - Parameters:
  ///   - excess: how much later than its target the newest packet sounds, in nanoseconds.
  ///   - isPassive: whether what is about to sound is a pause.
  ///   - pullsSinceLast: pulls since the last splice or attempt.
  mutating func decide(
    excess: Int64, isPassive: Bool, pullsSinceLast: Int
  ) -> StretchDecision? {
    if excess > Self.late { isReturning = true }
    if excess < Self.settled { isReturning = false }
    let pace = isPassive || excess > Self.farTooLate ? 3 : 6
    guard pullsSinceLast >= pace else { return nil }
    let distance = Int(clamping: AudioFormat.samples(nanoseconds: Self.bounded(excess)).magnitude)
    if isReturning, isPassive { return StretchDecision(.shorten, nil, distance) }
    if excess > Self.farTooLate { return StretchDecision(.shorten, 0.5, distance) }
    if excess > Self.tooLate { return StretchDecision(.shorten, 0.9, distance) }
    if isPassive, excess < Self.early {
      return StretchDecision(.lengthen, nil, max(distance, TimeStretch.shortest))
    }
    if excess < Self.tooEarly { return StretchDecision(.lengthen, 0.85, TimeStretch.longest) }
    return nil
  }

  private static func bounded(_ excess: Int64) -> Int64 { min(max(excess, -(1 << 40)), 1 << 40) }

  // In nanoseconds; our own measurements, see above.
  private static let settled: Int64 = 10_000_000
  private static let late: Int64 = 36_000_000
  private static let tooLate: Int64 = 50_000_000
  private static let farTooLate: Int64 = 100_000_000
  private static let early: Int64 = -3_000_000
  private static let tooEarly: Int64 = -8_000_000
}
