/// How good a line is in one figure, the same before and during a call. Less is better.
public enum LineGrade: Int, Sendable, CaseIterable, Comparable {
  /// Not probed, or nothing came of it.
  case unknown = 0
  /// Nothing is heard or seen of the line.
  case excellent = 1
  /// As good, perhaps at a lower rate.
  case good = 2
  /// Slightly impaired.
  case poor = 3
  /// Can be used, not smoothly.
  case bad = 4
  /// Hardly to be used.
  case veryBad = 5
  /// Nothing passes.
  case down = 6

  /// The worst of loss, round trip, jitter and rate: a line is as good as its weakest side. Total,
  /// and monotonic in each argument; what is no number counts as the worst there is.
  ///
  /// The limits are ours: from loss 2 %, jitter 37 ms and round trips of 200 ms on speech is said
  /// to suffer; the rates are those of speech at 12, 24 and 48 kbit/s, and of small video.
  ///
  /// - Parameters:
  ///   - loss: share of packets, 0...1.
  ///   - roundTripMs: median, in milliseconds.
  ///   - jitterMs: one-way delay variation, in milliseconds.
  ///   - bitsPerSecond: what the direction carries; `nil` where it is not the limit, or not known.
  public static func of(
    loss: Double, roundTripMs: Double, jitterMs: Double, bitsPerSecond: Double? = nil
  ) -> LineGrade {
    var worst = max(
      band(loss, lossLimits), band(roundTripMs, roundTripLimits), band(jitterMs, jitterLimits))
    if let bitsPerSecond { worst = max(worst, band(-bitsPerSecond, rateLimits)) }
    return LineGrade(rawValue: worst) ?? .veryBad
  }

  /// The grade of one direction of a probed line.
  public static func of(_ direction: DirectionReport?, _ roundTrip: RoundTripReport?) -> LineGrade {
    guard let direction else { return .unknown }
    guard direction.received > 0 else { return direction.sent > 0 ? .down : .unknown }
    guard let loss = direction.loss?.share ?? direction.overloadLoss?.share else { return .unknown }
    // Where the test was the limit, the line may carry anything above.
    let bandwidth = direction.bandwidth.flatMap { $0.limitedByTest ? nil : $0.bitsPerSecond }
    return of(
      loss: loss, roundTripMs: roundTrip?.delay.p50Ms ?? 0,
      jitterMs: direction.delayVariation?.p95Ms ?? 0, bitsPerSecond: bandwidth)
  }

  /// One word, for people.
  public var word: String {
    switch self {
    case .unknown: "unknown"
    case .excellent: "excellent"
    case .good: "good"
    case .poor: "poor"
    case .bad: "bad"
    case .veryBad: "very bad"
    case .down: "down"
    }
  }

  /// Whether the one is better than the other.
  public static func < (left: LineGrade, right: LineGrade) -> Bool {
    left.rawValue < right.rawValue
  }

  /// 1 up to the first limit, one more above each; 5 for what is no number.
  private static func band(_ value: Double, _ limits: [Double]) -> Int {
    value.isNaN ? 1 + limits.count : 1 + limits.count { value > $0 }
  }

  private static let lossLimits = [0.01, 0.03, 0.08, 0.15]
  private static let roundTripLimits = [150.0, 250, 400, 600]
  private static let jitterLimits = [20.0, 37, 60, 100]
  /// Negative, because more is better.
  private static let rateLimits = [-1_000_000.0, -400_000, -80_000, -40_000]
}
