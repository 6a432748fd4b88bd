import Primitives
import Testing

@Suite struct SequenceUnwrapperTests {
  private func unwrap(_ values: [UInt16]) -> [Int64] {
    var unwrapper = SequenceUnwrapper()
    return values.map { unwrapper.unwrap($0) }
  }

  @Test func `goes on where 16 bits begin anew`() {
    #expect(unwrap([65_534, 65_535, 0, 1]) == [65_534, 65_535, 65_536, 65_537])
  }

  @Test func `a late number keeps its place and moves nothing`() {
    #expect(unwrap([65_535, 1, 65_534, 2]) == [65_535, 65_537, 65_534, 65_538])
    #expect(unwrap([1, 65_535]) == [1, -1], "before the first one too")
  }

  @Test func `the next number is never more than half the range away`() {
    #expect(unwrap([0, 32_767]) == [0, 32_767])
    #expect(unwrap([0, 32_768]) == [0, -32_768])
    #expect(unwrap([0, 20_000, 40_000, 60_000, 14_464]) == [0, 20_000, 40_000, 60_000, 80_000])
  }
}
