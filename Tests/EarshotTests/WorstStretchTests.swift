import LastMile
import Testing

@testable import Earshot

@Suite struct WorstStretchTests {
  @Test(
    arguments: [
      ([1, 1, 1, 1], 1), ([1, 5, 1, 1, 4, 1], 1), ([1, 4, 5, 3, 1], 3), ([0, 0, 2, 2, 2, 0], 2),
      ([1, 6, 6, 6, 1, 1], 5), ([5, 5], 0), ([], 0),
    ] as [([Int], Int)])
  func `counts what held for three reports running`(grades: [Int], worst: Int) {
    var stretch = WorstStretch()
    for grade in grades { stretch.recordGrade(LineGrade(rawValue: grade) ?? .unknown) }
    #expect(stretch.grade.rawValue == worst)
  }
}
