import Primitives
import Testing

@testable import Rendezvous

struct TokenDeadlinesTests {
  /// Method: as a dictionary does it, with any order of sets, removals and time.
  @Test func `gives each session's end in its order, and only the newest`() {
    var random = RandomSource(seed: 5)
    var deadlines = TokenDeadlines()
    var model: [UInt32: Instant] = [:]
    var now = Instant.zero
    for _ in 0..<20_000 {
      let slot = UInt32(Int.random(in: 0..<200, using: &random))
      switch Int.random(in: 0..<4, using: &random) {
      case 0, 1:
        let end = now + .milliseconds(Int64(Int.random(in: 0..<1000, using: &random)))
        deadlines.set(slot, at: end)
        model[slot] = end
      case 2:
        deadlines.remove(slot)
        model[slot] = nil
      default:
        now = now + .milliseconds(Int64(Int.random(in: 0..<20, using: &random)))
        while let due = deadlines.popDue(now: now) {
          let end = model.removeValue(forKey: due)
          #expect(end.map { $0 <= now } == true)
        }
        #expect(!model.values.contains { $0 <= now })
      }
      #expect(deadlines.count == model.count && deadlines[slot] == model[slot])
      #expect(deadlines.nextDeadline == model.values.min())
    }
  }
}
