import Testing

@testable import Congestion

@Suite struct FillBudgetTests {
  @Test func `filling takes half of what media took`() {
    var budget = FillBudget()
    #expect(!budget.isOpen)
    var filled = 0
    for _ in 0..<100 {
      budget.noteMedia(byteCount: 1_000, rate: 2e6)
      while budget.isOpen {
        budget.noteFill(byteCount: 250, isPadding: filled % 500 == 0)
        filled += 250
      }
    }
    #expect((50_000...50_250).contains(filled))
    // Every other packet was padding, and what tried a length is.
    budget.noteTrial(byteCount: 1_200)
    #expect((26_200...26_450).contains(budget.paddingByteCount))
  }

  @Test func `no more is saved than half a second carries`() {
    var budget = FillBudget()
    for _ in 0..<1_000 { budget.noteMedia(byteCount: 1_000, rate: 8e5) }
    var filled = 0
    while budget.isOpen {
      budget.noteFill(byteCount: 500, isPadding: false)
      filled += 500
    }
    #expect(filled == 50_000)
    budget.noteMedia(byteCount: 1_000, rate: .infinity)
    #expect(budget.isOpen)
  }
}
