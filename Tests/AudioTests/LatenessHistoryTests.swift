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
    let regular = history.expectedExtreme(sparing: 0.07, rarity: 100, frameSteps: 10)
    #expect((36...42).contains(regular), "\(regular)")
    #expect((45...53).contains(history.expectedExtreme(sparing: 0.07, rarity: 400, frameSteps: 10)))
    for _ in 0..<50 { history.record(250, limit: 1000) }
    let spell = history.expectedExtreme(sparing: 0.07, rarity: 100, frameSteps: 10)
    #expect(spell < regular + 16, "\(spell)")
    var even = LatenessHistory()
    for _ in 0..<100 { even.record(20, limit: 1000) }
    #expect(even.expectedExtreme(sparing: 0.07, rarity: nil, frameSteps: 10) == 20)
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
      few.expectedExtreme(sparing: 0.07, rarity: 100, frameSteps: 10)
      - many.expectedExtreme(sparing: 0.07, rarity: 100, frameSteps: 10)
    #expect(difference >= 4, "\(difference)")
  }
  /// A sender that waits out an outage sends a packet each 100 ms, and then all that it kept.
  @Test func `no more is held for events of the first second than they were late`() {
    let event: [(at: Int64, late: Int64)] =
      [(880, 80)] + stride(from: 100, through: 0, by: -20).map { (920, $0) }
    let frames = (0..<30).map { ($0 * 20, 0) } + event + (47..<100).map { ($0 * 20, 0) }
    var estimator = DelayEstimator()
    var most: Int64 = 0
    for (at, late) in frames {
      estimator.record(
        transit: late * 1_000_000, arrival: at * 1_000_000, delayInside: 0, isPrimary: true,
        frame: 20_000_000)
      most = max(most, estimator.targetDelay)
    }
    #expect(most <= 100_000_000, "\(most)")
  }
}
