import Primitives
import Testing

struct FrequencyTests {
  @Test func `what most have in common, and of several what came first`() {
    #expect(["ab", "c", "de", "f"].mostFrequent(\.count) == 2)
    #expect(["c", "de", "f"].mostFrequent(\.count) == 1)
    #expect([String]().mostFrequent(\.count) == nil)
  }
}
