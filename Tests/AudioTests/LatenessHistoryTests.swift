import Testing

@testable import Audio

struct LatenessHistoryTests {
  @Test func `reads a tail from the later half, and spares the latest`() {
    var history = LatenessHistory()
    for number in 0..<1000 {
      let share = (Double(number) + 0.5) / 1000
      history.record(Int(-8 * Chance.naturalLogarithm(1 - share)), limit: 1000)
    }
    // One frame in 100 is later than 8 ln 100 = 37 steps.
    let regular = history.expectedExtreme(sparing: 0.07, rarity: 100)
    #expect((36...42).contains(regular), "\(regular)")
    #expect((45...53).contains(history.expectedExtreme(sparing: 0.07, rarity: 400)))
    for _ in 0..<50 { history.record(250, limit: 1000) }
    let spell = history.expectedExtreme(sparing: 0.07, rarity: 100)
    #expect(spell < regular + 16, "\(spell)")
    var even = LatenessHistory()
    for _ in 0..<100 { even.record(20, limit: 1000) }
    #expect(even.expectedExtreme(sparing: 0.07, rarity: nil) == 20)
  }

  @Test func `takes what few frames say for too little`() {
    var few = LatenessHistory()
    var many = LatenessHistory()
    for number in 0..<1000 {
      let level = number * 7 % 20
      if number < 20 { few.record(level, limit: 1000) }
      many.record(level, limit: 1000)
    }
    let difference =
      few.expectedExtreme(sparing: 0.07, rarity: 100)
      - many.expectedExtreme(sparing: 0.07, rarity: 100)
    #expect(difference >= 4, "\(difference)")
  }
}
