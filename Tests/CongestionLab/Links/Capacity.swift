package import LinkModel
import Primitives

/// What a link can carry over time.
package enum Capacity: Sendable {
  case rates(RateSchedule)
  /// A Mahimahi trace; it repeats.
  case recorded(DeliveryTrace)

  package static func constant(_ bitsPerSecond: Double) -> Capacity {
    rates([RateSchedule.Step(from: .zero, bitsPerSecond: bitsPerSecond)])
  }

  /// Seconds and Mbit/s.
  package static func schedule(_ steps: [(Double, Double)]) -> Capacity {
    rates(
      steps.map { step in
        RateSchedule.Step(
          from: Instant(nanoseconds: UInt64(step.0 * 1e9)), bitsPerSecond: step.1 * 1e6)
      })
  }

  /// Moments in ms at which 1500 bytes may leave.
  package static func trace(_ moments: [UInt32]) -> Capacity {
    guard let trace = DeliveryTrace(milliseconds: moments) else {
      preconditionFailure("the moments of a trace do not fall")
    }
    return .recorded(trace)
  }

  private static func rates(_ steps: [RateSchedule.Step]) -> Capacity {
    guard let schedule = RateSchedule(steps) else {
      preconditionFailure("the rates of a case are in order, and the last one is not 0")
    }
    return .rates(schedule)
  }

  /// Bits that could leave between two moments, in ns.
  package func bits(from: UInt64, to: UInt64) -> Double {
    guard to > from else { return 0 }
    switch self {
    case .rates(let schedule):
      return schedule.bits(from: Instant(nanoseconds: from), to: Instant(nanoseconds: to))
    case .recorded(let trace):
      return 12_000
        * (Self.opportunities(trace, before: to) - Self.opportunities(trace, before: from))
    }
  }

  private static func opportunities(_ trace: DeliveryTrace, before time: UInt64) -> Double {
    let milliseconds = time / 1_000_000
    let rest = milliseconds % trace.period
    var low = 0
    var high = trace.milliseconds.count
    while low < high {
      let middle = (low + high) / 2
      if UInt64(trace.milliseconds[middle]) <= rest { low = middle + 1 } else { high = middle }
    }
    return Double(milliseconds / trace.period) * Double(trace.milliseconds.count) + Double(low)
  }
}
