/// Turns the 16-bit audio time of packets, which wraps every eleven minutes, into one that does
/// not, and notices when a sender starts a new one.
///
/// A packet is expected as much later in media time as it is later in arrival. One that is more
/// than five seconds off is set aside: a lone one is nonsense, but three in a row that agree with
/// each other are a sender that started anew.
struct MediaTimeline: Sendable {
  enum Placement: Equatable, Sendable {
    /// Media time in samples.
    case place(Int64)
    /// The same, and everything known before is void.
    case restart(Int64)
    case setAside
  }

  private struct Mark: Sendable {
    var step: Int64
    var arrival: Int64

    /// How many steps `value` is from where a packet that arrives at `arrival` was expected.
    func deviation(of value: UInt16, at arrival: Int64) -> (expected: Int64, steps: Int64) {
      let elapsed = (arrival &- self.arrival) / AudioFormat.stepNanoseconds
      let expected = step &+ elapsed
      let low = UInt16(truncatingIfNeeded: expected)
      return (expected, Int64(Int16(bitPattern: value &- low)))
    }
  }

  private var newest: Mark?
  private var doubt: Mark?
  private var doubtCount = 0

  /// - Parameter arrival: in nanoseconds.
  mutating func place(_ value: UInt16, arrival: Int64) -> Placement {
    guard let newest else { return begin(value, arrival) }
    let (expected, steps) = newest.deviation(of: value, at: arrival)
    if abs(steps) <= Self.maxDeviation {
      let step = expected &+ steps
      if step > newest.step { self.newest = Mark(step: step, arrival: arrival) }
      doubtCount = 0
      return .place(step &* Int64(AudioFormat.stepSampleCount))
    }
    let agrees = doubt.map { abs($0.deviation(of: value, at: arrival).steps) <= Self.agreement }
    doubtCount = agrees == true ? doubtCount + 1 : 1
    doubt = Mark(step: Int64(value), arrival: arrival)
    guard doubtCount >= Self.packetsToRestart else { return .setAside }
    return begin(value, arrival)
  }

  private mutating func begin(_ value: UInt16, _ arrival: Int64) -> Placement {
    newest = Mark(step: Int64(value), arrival: arrival)
    doubtCount = 0
    return .restart(Int64(value) &* Int64(AudioFormat.stepSampleCount))
  }

  /// Five seconds, in steps.
  private static let maxDeviation: Int64 = 500
  /// Half a second, in steps.
  private static let agreement: Int64 = 50
  private static let packetsToRestart = 3
}
