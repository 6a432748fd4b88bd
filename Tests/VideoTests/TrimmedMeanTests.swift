import Testing

@testable import Video

@Suite struct TrimmedMeanTests {
  @Test func `it is of the last twenty, the largest left out`() {
    var mean = TrimmedMean()
    #expect(mean.value == 0 && mean.count == 0)
    mean.handle(8)
    #expect(mean.value == 8)
    mean.handle(2)
    #expect(mean.value == 2)
    for _ in 0..<30 { mean.handle(4) }
    #expect(mean.value == 4 && mean.count == 20)
    mean.handle(1000)
    #expect(mean.value == 4)
    mean.handle(1000)
    #expect(mean.value == 1072.0 / 19)
  }

  @Test func `what was before weighs as one value`() {
    var mean = TrimmedMean()
    mean.forget()
    #expect(mean.count == 0)
    for value in 1...40 { mean.handle(Double(value)) }
    let before = mean.value
    mean.forget()
    #expect(mean.count == 1 && mean.value == before)
    mean.handle(50)
    #expect(mean.value == before)
    mean.handle(60)
    #expect(mean.value == (before + 50) / 2)
  }
}
