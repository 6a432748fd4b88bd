import LastMile
import Primitives
import Testing

@testable import Earshot

/// The grade of one direction, every two seconds.
@Suite struct DirectionGraderTests {
  private func window(
    _ expected: UInt64 = 100, lost: UInt64 = 0, roundTrip: Double = 40, jitter: Double = 3,
    rate: Double? = nil
  ) -> DirectionGrader.Window {
    DirectionGrader.Window(
      expected: expected, lost: lost, roundTripMs: roundTrip, jitterMs: jitter,
      bitsPerSecond: rate)
  }

  private static func window(
    loss: Double, roundTrip: Double, packets: Int, _ random: inout RandomSource
  ) -> DirectionGrader.Window {
    let lost = (0..<packets).count { _ in random.unit() < loss }
    return DirectionGrader.Window(
      expected: UInt64(packets), lost: UInt64(lost), roundTripMs: roundTrip, jitterMs: 3)
  }

  /// What one call shows whose line worsens in five steps of ten reports.
  private static func course(
    packets: Int, seed: UInt64, _ grades: (DirectionGrader.Window) -> LineGrade
  ) -> (right: Int, rises: Int) {
    let stages: [(loss: Double, roundTrip: Double, grade: LineGrade)] = [
      (0, 40, .excellent), (0.02, 60, .good), (0.055, 120, .poor), (0.12, 140, .bad),
      (0.3, 140, .veryBad),
    ]
    var random = RandomSource(seed: seed)
    var (right, rises) = (0, 0)
    var before = LineGrade.unknown
    for stage in stages {
      for _ in 0..<10 {
        let found = grades(
          window(loss: stage.loss, roundTrip: stage.roundTrip, packets: packets, &random))
        if found == stage.grade { right += 1 }
        if found < before { rises += 1 }
        before = found
      }
    }
    return (right, rises)
  }

  /// Goal: never better while the line worsens. Packets of 20 ms and of 60 ms; the best that can
  /// be known of 2 % from a hundred packets is not enough for nine right grades of ten.
  @Test(arguments: [(100, 0.82), (33, 0.65)])
  func `a line that worsens is hardly ever graded up`(packets: Int, share: Double) {
    var (right, callsWithRise, callsWithoutBelief) = (0, 0, 0)
    for seed in 1...400 as ClosedRange<UInt64> {
      var grader = DirectionGrader()
      let found = Self.course(packets: packets, seed: seed) { window in
        grader.addWindow(window)
        return grader.grade
      }
      right += found.right
      if found.rises > 0 { callsWithRise += 1 }
      grader.noteSilence()
      #expect(grader.grade == .down)
      let alone = Self.course(packets: packets, seed: seed) { window in
        LineGrade.of(
          loss: Double(window.lost) / Double(window.expected), roundTripMs: window.roundTripMs,
          jitterMs: window.jitterMs)
      }
      if alone.rises > 0 { callsWithoutBelief += 1 }
    }
    #expect(Double(right) / 20_000 >= share, "\(right) of 20000 are right")
    #expect(callsWithRise <= 16, "\(callsWithRise) of 400 calls have a rise")
    #expect(callsWithoutBelief > 300, "\(callsWithoutBelief) by two seconds alone")
  }

  @Test func `what becomes worse shows at once, and what becomes better after some reports`() {
    var grader = DirectionGrader()
    #expect(grader.grade == .unknown)
    for _ in 0..<20 { grader.addWindow(window()) }
    #expect(grader.grade == .excellent)
    grader.addWindow(window(lost: 12))
    #expect(grader.grade == .bad, "the reports of before say nothing of this")
    var course: [LineGrade] = []
    for _ in 0..<8 {
      grader.addWindow(window())
      course.append(grader.grade)
    }
    #expect(course.last == .excellent && course.first == .bad, "\(course)")
    #expect(zip(course, course.dropFirst()).allSatisfy { $0 >= $1 }, "\(course)")
    grader.addWindow(window(roundTrip: 450))
    #expect(grader.grade == .bad)
    for _ in 0..<20 { grader.addWindow(window(roundTrip: 395)) }
    #expect(grader.grade == .bad, "within a seventh of a limit nothing improves")
    for _ in 0..<4 { grader.addWindow(window(roundTrip: 300)) }
    #expect(grader.grade == .poor)
  }

  @Test func `silence is down, and what is heard again is graded at once`() {
    var grader = DirectionGrader()
    grader.addWindow(window())
    grader.noteSilence()
    #expect(grader.grade == .down)
    grader.addWindow(window(0))
    #expect(grader.grade == .down, "nothing is known yet")
    grader.addWindow(window(lost: 6))
    #expect(grader.grade == .poor)
    grader.noteIdle()
    #expect(grader.grade == .unknown)
  }

  @Test func `few packets that all come are excellent after a while, and a rate counts`() {
    var grader = DirectionGrader()
    grader.addWindow(window(12, lost: 3))
    #expect(grader.grade == .veryBad)
    for _ in 0..<60 { grader.addWindow(window(5)) }
    #expect(grader.grade <= .good)
    grader.addWindow(window(rate: 300_000))
    #expect(grader.grade == .poor)
    for _ in 0..<8 { grader.addWindow(window()) }
    #expect(grader.grade == .excellent)
  }
}
