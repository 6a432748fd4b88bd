import LastMile
import Testing

@testable import Earshot

/// What is believed of a line's loss.
@Suite struct LossBeliefTests {
  @Test func `much evidence makes the grade of the share, little leaves doubt`() {
    for (lost, grade) in [
      (0, .excellent), (20, .good), (50, .poor), (110, .bad), (300, .veryBad), (1000, .veryBad),
    ] as [(UInt64, LineGrade)] {
      var belief = LossBelief()
      for _ in 0..<5 { belief.take(expected: 1000, lost: lost) }
      #expect(belief.grade(chance: 0.5) == grade, "\(lost) of 1000")
      #expect(belief.grade(chance: 0.9) == grade)
    }
    var doubt = LossBelief()
    doubt.take(expected: 30, lost: 0)
    #expect(doubt.grade(chance: 0.1) > doubt.grade(chance: 0.9))
  }

  @Test func `nothing, and more than there was, do no harm`() {
    var belief = LossBelief()
    belief.take(expected: 0, lost: 5)
    #expect(belief.packetCount == 0)
    belief.take(expected: 5, lost: 50)
    belief.take(expected: .max / 4, lost: .max)
    #expect(belief.grade(chance: 0.5) == .veryBad)
    belief.take(expected: .max / 4, lost: 0)
    belief.take(expected: 1_000_000, lost: 0)
    #expect(belief.grade(chance: 0.5) == .excellent)
  }
}
