import Earshot

/// A state of a stream and why, as an event told it.
struct StreamTold: Equatable, CustomStringConvertible {
  var state: StreamState
  var reason: StreamReason

  init(_ state: StreamState, _ reason: StreamReason) {
    self.state = state
    self.reason = reason
  }

  var description: String { "\(state) (\(reason))" }

  /// What was told of `stream`, in order.
  static func all(of stream: StreamKind, in steps: [CallProgress]) -> [StreamTold] {
    steps.compactMap { step in
      guard case .streamChanged(let change) = step, change.stream == stream else { return nil }
      return StreamTold(change.new, change.reason)
    }
  }
}
