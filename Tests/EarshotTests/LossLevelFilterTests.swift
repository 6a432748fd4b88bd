import LastMile
import Testing

@testable import Earshot

/// What is believed of a line's loss.
@Suite struct LossLevelFilterTests {
  @Test func `much evidence makes the grade of the share, little leaves doubt`() {
    for (lost, grade) in [
      (0, .excellent), (20, .good), (50, .poor), (110, .bad), (300, .veryBad), (1000, .veryBad),
    ] as [(UInt64, LineGrade)] {
      var belief = LossLevelFilter()
      for _ in 0..<5 { belief.addFates(expected: 1000, lost: lost) }
      #expect(belief.grade(chance: 0.5) == grade, "\(lost) of 1000")
      #expect(belief.grade(chance: 0.9) == grade)
    }
    var doubt = LossLevelFilter()
    doubt.addFates(expected: 30, lost: 0)
    #expect(doubt.grade(chance: 0.1) > doubt.grade(chance: 0.9))
  }

  @Test func `nothing, and more than there was, do no harm`() {
    var belief = LossLevelFilter()
    belief.addFates(expected: 0, lost: 5)
    #expect(belief.packetCount == 0)
    belief.addFates(expected: 5, lost: 50)
    belief.addFates(expected: .max / 4, lost: .max)
    #expect(belief.grade(chance: 0.5) == .veryBad)
    belief.addFates(expected: .max / 4, lost: 0)
    belief.addFates(expected: 1_000_000, lost: 0)
    #expect(belief.grade(chance: 0.5) == .excellent)
  }
}
