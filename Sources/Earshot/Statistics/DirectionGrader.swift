internal import LastMile

/// Grades one direction of a call again and again by what was measured in between, 0...6 as
/// `LineGrade` has it.
///
/// A line that becomes worse is graded down as soon as that is likely. Up it goes only when there
/// is little doubt, several times running. Pure.
struct DirectionGrader: Sendable {
  /// What was measured since the last time.
  struct Window: Sendable, Equatable {
    /// Packets whose fate is known, and those of them that did not come, before any repair.
    var expected: UInt64
    var lost: UInt64
    var roundTripMs: Double
    var jitterMs: Double
    /// What the direction carries, where that is what limits the call.
    var bitsPerSecond: Double?
  }

  private(set) var grade = LineGrade.unknown
  private var loss = LossLevelFilter()
  private var betterCount = 0

  // MARK: - Inputs

  /// Something was to be measured; a window without packets says nothing of the loss.
  mutating func addWindow(_ window: Window) {
    loss.addFates(expected: window.expected, lost: window.lost)
    guard loss.packetCount >= Self.leastPackets else { return }
    // What is not graded, or was down, has nothing to defend.
    guard grade != .unknown, grade != .down else {
      return set(Self.of(window, margin: 1, loss.grade(chance: 0.5)))
    }
    let seen = Self.of(window, margin: 1, loss.grade(chance: Self.likely))
    guard seen <= grade else { return set(seen) }
    let sure = Self.of(window, margin: Self.margin, loss.grade(chance: Self.unlikely))
    betterCount = sure < grade ? betterCount + 1 : 0
    if betterCount >= Self.timesBetter { set(sure) }
  }

  /// Something should have come, and nothing did.
  mutating func noteSilence() { forget(.down) }

  /// Nothing is sent, or nobody wants it.
  mutating func noteIdle() { forget(.unknown) }

  // MARK: - The grade

  private static func of(_ window: Window, margin: Double, _ loss: LineGrade) -> LineGrade {
    max(
      loss,
      LineGrade.of(
        loss: 0, roundTripMs: window.roundTripMs * margin, jitterMs: window.jitterMs * margin,
        bitsPerSecond: window.bitsPerSecond.map { $0 / margin }))
  }

  private mutating func set(_ grade: LineGrade) {
    self.grade = grade
    betterCount = 0
  }

  private mutating func forget(_ grade: LineGrade) {
    set(grade)
    loss = LossLevelFilter()
  }

  /// Below that a share means nothing.
  private static let leastPackets: UInt64 = 10
  /// With these a line that worsens in five steps within 100 s is hardly ever graded up, and has
  /// the grade that each step deserves in more than four of five reports (decision 0026).
  private static let likely = 0.8
  private static let unlikely = 0.03
  private static let timesBetter = 4
  private static let margin = 1.15
}
