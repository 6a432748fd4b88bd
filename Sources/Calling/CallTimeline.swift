package import Primitives

/// When each step of a call was done, in ms from its zero point: `call()` at the caller, the
/// arrival of INVITE at the callee.
///
/// Each step is noted once. What a step presupposes is not noted later than the step itself: times
/// never decrease along the causal order. A path may be ready before the call is accepted.
package struct CallTimeline: Hashable, Sendable {
  package enum Step: Int, CaseIterable, Sendable {
    case invited, delivered, accepted, pathReady, firstFrameSent, firstFrameReceived, connected

    /// The steps that must have happened when this one has.
    package var presupposes: [Step] {
      switch self {
      case .invited: []
      case .delivered: [.invited]
      case .accepted, .pathReady: [.invited, .delivered]
      case .firstFrameSent, .firstFrameReceived, .connected:
        [.invited, .delivered, .accepted, .pathReady]
      }
    }
  }

  package let zero: Instant
  private var milliseconds = [Int64?](repeating: nil, count: Step.allCases.count)

  package init(zero: Instant) {
    self.zero = zero
    milliseconds[Step.invited.rawValue] = 0
  }

  /// In ms from the zero point; `nil` = has not happened.
  package subscript(step: Step) -> Int64? { milliseconds[step.rawValue] }

  package mutating func append(_ step: Step, now: Instant) {
    guard milliseconds[step.rawValue] == nil else { return }
    let time = Int64(clamping: now.nanoseconds(since: zero) / 1_000_000)
    for earlier in step.presupposes where milliseconds[earlier.rawValue] == nil {
      milliseconds[earlier.rawValue] = time
    }
    milliseconds[step.rawValue] = time
  }
}
