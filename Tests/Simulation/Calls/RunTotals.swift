import Primitives

/// What happened to many calls, in figures that add up over worlds whatever their order.
package struct RunTotals: Sendable {
  package var worlds = 0
  package var calls = 0
  package var failedCalls = 0
  package var datagrams = 0
  package var simulated = Duration.zero
  /// Calls by how the caller says they ended.
  package var outcomes: [String: Int] = [:]
  /// From accept at the callee to connected, milliseconds, at both sides.
  package var connectMilliseconds: [Int] = []

  package init() {}

  package mutating func add(_ other: RunTotals) {
    worlds += other.worlds
    calls += other.calls
    failedCalls += other.failedCalls
    datagrams += other.datagrams
    simulated += other.simulated
    outcomes.merge(other.outcomes, uniquingKeysWith: +)
    connectMilliseconds += other.connectMilliseconds
  }

  /// The value below which `share` of the connect times lie; `nil` when there are none.
  package func connectPercentile(_ share: Double) -> Int? {
    guard !connectMilliseconds.isEmpty else { return nil }
    let sorted = connectMilliseconds.sorted()
    return sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
  }
}
