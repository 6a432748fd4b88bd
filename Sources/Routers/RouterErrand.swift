internal import Synchronization

/// How far a job has come, for whoever wants it to end from another thread.
package final class RouterErrand: Sendable {
  private let stage = Atomic<Int>(RouterErrand.begun)

  /// Nothing has been asked for.
  package init() {}

  /// No port is asked for any more; `false` = one has been, and may be open soon.
  package func callOff() -> Bool { move(to: Self.calledOff) != Self.asked }

  /// Before a port is asked for; `false` = it was called off.
  func mayAsk() -> Bool { move(to: Self.asked) != Self.calledOff }

  /// From the beginning only; the stage before.
  private func move(to next: Int) -> Int {
    stage.compareExchange(
      expected: Self.begun, desired: next, ordering: .sequentiallyConsistent
    ).original
  }

  private static let begun = 0
  private static let asked = 1
  private static let calledOff = 2
}
