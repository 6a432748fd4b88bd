import Testing
import Wire

@Suite struct AudioGapTests {
  /// From frame to frame, the earlier and the later length, all in 10 ms; and what is missing.
  @Test(
    arguments: [
      (2, 2, 2, 0), (4, 2, 2, 1), (20, 2, 2, 9), (-4, 2, 2, 0), (0, 2, 2, 0), (1, 1, 2, 0),
      (8, 2, 6, 1), (4, 2, 6, 1), (12, 6, 2, 1), (8, 6, 2, 1), (3, 2, 1, 1), (30_000, 2, 2, 14_999),
    ] as [(Int64, Int64, Int64, Int64)])
  func `counts the fewest frames that fill a gap`(
    step: Int64, before: Int64, after: Int64, missing: Int64
  ) {
    #expect(
      AudioGap.framesMissing(step: step, before: before, after: after, isMarked: false) == missing)
    #expect(AudioGap.framesMissing(step: step, before: before, after: after, isMarked: true) == 0)
  }

  @Test func `lengths that no frame has do not trap`() {
    #expect(AudioGap.framesMissing(step: 4, before: 0, after: 0, isMarked: false) == 4)
    #expect(AudioGap.framesMissing(step: .max, before: 1, after: 1, isMarked: false) > 0)
  }
}
