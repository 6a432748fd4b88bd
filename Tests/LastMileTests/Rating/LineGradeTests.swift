import LastMile
import Testing

@Suite struct LineGradeTests {
  private static let anything: [Double] = [
    -.infinity, -1, 0, 0.005, 0.02, 0.05, 0.1, 0.5, 1, 10, 100, 1e9, .infinity, .nan,
  ]

  @Test func `every combination of figures has a grade from excellent to very bad`() {
    for loss in Self.anything {
      for trip in Self.anything {
        for jitter in Self.anything {
          for rate in Self.anything.map(Optional.some) + [nil] {
            let grade = LineGrade.of(
              loss: loss, roundTripMs: trip, jitterMs: jitter, bitsPerSecond: rate)
            #expect(LineGrade.excellent...LineGrade.veryBad ~= grade)
          }
        }
      }
    }
  }

  /// Walks each figure in steps far smaller than a band: every grade comes, each after the one
  /// before, none twice.
  @Test(arguments: 0..<4)
  func `bands have no gaps and follow one another`(figure: Int) {
    var grades: [LineGrade] = []
    for step in 0...10_000 {
      let part = Double(step) / 10_000
      let grade = LineGrade.of(
        loss: figure == 0 ? part : 0, roundTripMs: figure == 1 ? part * 1000 : 0,
        jitterMs: figure == 2 ? part * 200 : 0,
        bitsPerSecond: figure == 3 ? 2_000_000 * (1 - part) : nil)
      if grade != grades.last { grades.append(grade) }
    }
    #expect(grades == [.excellent, .good, .poor, .bad, .veryBad])
  }

  @Test func `a limit itself belongs to the better band`() {
    #expect(LineGrade.of(loss: 0.01, roundTripMs: 150, jitterMs: 20) == .excellent)
    #expect(LineGrade.of(loss: 0.15, roundTripMs: 600, jitterMs: 100) == .bad)
    #expect(LineGrade.of(loss: 0, roundTripMs: 0, jitterMs: 0, bitsPerSecond: 1e6) == .excellent)
  }

  @Test func `a direction of which nothing came is down, one not probed unknown`() {
    #expect(LineGrade.of(DirectionReport(sent: 40, received: 0), nil) == .down)
    #expect(LineGrade.of(nil, nil) == .unknown)
    #expect(LineGrade.of(DirectionReport(sent: 40, received: 40), nil) == .unknown)
  }

  @Test func `a rate at which the test ended lowers no grade`() {
    var line = RatedLine()
    line.up.rate = 100_000
    #expect(line.rating.uplinkGrade == .poor)
    line.up.isLimitedByTest = true
    #expect(line.rating.uplinkGrade == .excellent)
  }

  @Test func `each grade has a word of its own`() {
    #expect(Set(LineGrade.allCases.map(\.word)).count == 7)
  }
}
