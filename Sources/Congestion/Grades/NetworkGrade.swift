/// How good a network is for a call, 0 to 6, as people who know other kits expect it.
///
/// Thresholds are ours (the worst of three measures decides); better is lower, but 0 is not known.
package enum NetworkGrade: UInt8, Comparable, Sendable, BitwiseCopyable {
  case unknown = 0, excellent, good, poor, bad, veryBad, down

  package static func < (left: NetworkGrade, right: NetworkGrade) -> Bool {
    left.rawValue < right.rawValue
  }

  /// Monotonic in each measure: a worse line never has a better grade.
  ///
  /// - Parameters:
  ///   - loss: Before any repair, 0...1.
  ///   - roundTrip: In ms.
  ///   - jitter: RFC 3550 §6.4.1, in ms.
  ///   - headroom: The estimate over what media would use; `nil` where that is not known.
  package init(loss: Double, roundTrip: Double, jitter: Double, headroom: Double? = nil) {
    var worst = max(
      Self.grade(loss, Self.lossLimits),
      max(Self.grade(roundTrip, Self.roundTripLimits), Self.grade(jitter, Self.jitterLimits)))
    if let headroom {
      worst = max(worst, Self.grade(-headroom, Self.headroomLimits))
    }
    self = worst
  }

  /// The first grade whose limit is not passed; what compares with nothing is the worst.
  private static func grade(_ value: Double, _ limits: InlineArray<4, Double>) -> NetworkGrade {
    if value <= limits[0] { return .excellent }
    if value <= limits[1] { return .good }
    if value <= limits[2] { return .poor }
    if value <= limits[3] { return .bad }
    return .veryBad
  }

  private static let lossLimits: InlineArray<4, Double> = [0.01, 0.03, 0.08, 0.15]
  private static let roundTripLimits: InlineArray<4, Double> = [150, 250, 400, 600]
  private static let jitterLimits: InlineArray<4, Double> = [20, 37, 60, 100]
  /// Negative, so that less is worse.
  private static let headroomLimits: InlineArray<4, Double> = [-0.9, -0.6, -0.4, -0.2]
}
