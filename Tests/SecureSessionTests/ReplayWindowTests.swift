import Primitives
import SecureSession
import Testing
import Trials

@Suite struct ReplayWindowTests {
  /// The same rule with a set, which nobody can get wrong.
  private struct Model {
    let size: UInt64
    var seen: Set<UInt64> = []
    var highest: UInt64?

    func accepts(_ number: UInt64) -> Bool {
      if let highest, number <= highest, highest - number >= size { return false }
      return !seen.contains(number)
    }

    mutating func insert(_ number: UInt64) -> Bool {
      seen.insert(number)
      let isHighest = highest.map { number > $0 } ?? true
      if isHighest { highest = number }
      return isHighest
    }
  }

  /// Half a million numbers each, in many short sequences that begin and jump anywhere.
  @Test func `agrees with a set over a million random numbers`() {
    let runs = UInt64(Trials.count(2000, full: 20_000))
    for seed in 1...runs {
      compare(ReplayWindow<16>(), seed: seed, steps: 250)
      compare(PeerReplayWindow(), seed: seed &+ 1_000_000, steps: 250)
    }
    Trials.report("11: \(runs * 500) numbers, equal to a set")
  }

  private func compare<let words: Int>(
    _ fresh: ReplayWindow<words>, seed: UInt64, steps: Int
  ) {
    var window = fresh
    var model = Model(size: ReplayWindow<words>.size)
    var random = RandomSource(seed: seed)
    var center = random.next() >> (random.next() % 64)
    for _ in 0..<steps {
      switch random.next() % 32 {
      case 0: center = center &+ random.next() % (4 * model.size)
      case 1: center = center &+ model.size
      case 2: center = center &+ model.size &- 1
      default: center = center &+ random.next() % 3
      }
      let back = random.next() % 4 == 0 ? random.next() % (model.size + 70) : random.next() % 8
      let number = center >= back && center < .max - 1 ? center - back : 0
      guard window.accepts(number) == model.accepts(number) else {
        Issue.record("seed \(seed): number \(number), highest \(model.highest ?? 0)")
        return
      }
      if model.accepts(number), random.next() % 8 > 0 {
        let verdicts = (window.insert(number), model.insert(number))
        expect(verdicts.0 == verdicts.1, "seed \(seed)")
      }
    }
    expect(window.highest == model.highest)
  }

  @Test func `knows its limits to the number`() {
    var window = ReplayWindow<16>()
    expect(window.highest == nil)
    var verdicts = [window.insert(0), window.accepts(0)]
    expect(verdicts == [true, false])
    verdicts = [window.insert(1023), window.accepts(0), window.accepts(1)]
    expect(verdicts == [true, false, true])
    verdicts = [window.insert(1024), window.accepts(0), window.accepts(1)]
    expect(verdicts == [true, false, true], "0 is one too old, 1 the oldest that it can tell")
    verdicts = [window.insert(1), window.accepts(1)]
    expect(verdicts == [false, false], "an old one is not the highest")
    let top: UInt64 = 1024 * 1024
    verdicts = [window.insert(top), window.accepts(top - 1024)]
    expect(verdicts == [true, false])
    let all = ((top - 1023)..<top).allSatisfy { window.accepts($0) }
    expect(all)
  }

  @Test func `a number near the end of its range neither traps nor repeats`() {
    var window = PeerReplayWindow()
    let verdicts = [
      window.insert(.max - 1), window.accepts(.max - 1), window.accepts(.max),
      window.accepts(.max - 8192), window.accepts(.max - 8193),
    ]
    expect(verdicts == [true, false, false, true, false])
  }

  @Test func `takes the room that was promised`() {
    expect(MemoryLayout<PeerReplayWindow>.size == 1024 + 8)
    expect(MemoryLayout<ReplayWindow<16>>.size == 128 + 8)
    expect(PeerReplayWindow.size == 8192)
  }
}
