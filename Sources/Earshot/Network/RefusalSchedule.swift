internal import Primitives
internal import Reactor

/// When the host of the rendezvous is asked whether anything listens there, and what is made of its
/// refusals (docs/decisions/0131-tell-what-is-known-within-a-second.md).
struct RefusalSchedule {
  enum Step: Equatable {
    case ask
    case wait
    /// It refuses: that is told.
    case tell
    /// Nothing can be told.
    case end
  }

  private var ticks = 0

  /// What is to be done at the next of the moments that are a `period` apart.
  ///
  /// - Parameter refusals: That have come so far.
  mutating func step(_ finding: RefusalWatch.Finding, refusals: Int) -> Step {
    ticks += 1
    if finding == .answered || ticks > Self.last { return .end }
    let isRefused = refusals >= Self.leastRefusals
    if isRefused, ticks >= Self.earliest { return .tell }
    if Self.questions.contains(ticks) { return isRefused ? .wait : .ask }
    return ticks == Self.last ? .end : .wait
  }

  static let period = Duration.milliseconds(125)
  /// Questions 125 and 375 ms after the beginning, so that both refusals of a line of 600 ms are
  /// there within a second; a third after 875 ms where one was lost.
  private static let questions = [1, 3, 7]
  /// An answer to what was sent at the beginning would be there, over a line of 600 ms.
  private static let earliest = 6
  private static let last = 12
  /// One alone is easily forged; and hosts limit how many they send (Linux: six, and one a second).
  private static let leastRefusals = 2
}
