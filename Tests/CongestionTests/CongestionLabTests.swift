import CongestionLab
import Testing

/// A quick subset of `tools/congestion-report`: the rows that matter most, two seeds each.
@Suite struct CongestionLabTests {
  static let names: Set<String> = [
    "const", "step", "rfc51", "loss10", "outage", "prior", "pause", "rfc54", "rfc58", "squeeze",
  ]
  static let cases = (LabCase.single + LabCase.several + LabCase.fallback).filter {
    names.contains($0.name)
  }

  @Test func `the subset is there`() { #expect(Self.cases.count == Self.names.count) }

  /// The goals hold for the mean over ten seeds; a single seed may miss by a tenth.
  @Test(arguments: cases.indices) func `keeps its goals`(index: Int) {
    let lab = Self.cases[index]
    for seed in 1...2 as ClosedRange<UInt64> {
      let world = lab.run(seed: seed)
      for measure in lab.measures {
        switch measure.goal {
        case .shown: continue
        case .atLeast(let goal):
          let value = measure.read(lab, world) ?? -.infinity
          #expect(value >= goal * 0.85, "\(lab.name), seed \(seed): \(measure.name)")
        case .atMost(let goal):
          let value = measure.read(lab, world) ?? .infinity
          #expect(value <= goal * 1.6 + 0.01, "\(lab.name), seed \(seed): \(measure.name)")
        }
      }
    }
  }

  @Test func `a seed gives the same run`() {
    let lab = LabCase.single[0]
    let first = lab.run(seed: 7).logs[0].entries
    let second = lab.run(seed: 7).logs[0].entries
    #expect(first.count == second.count)
    #expect(first.last?.departure == second.last?.departure)
    let other = lab.run(seed: 8).logs[0].entries
    #expect(first.last?.departure != other.last?.departure)
  }

  @Test func `capacity is what the schedule says`() {
    let capacity = Capacity.schedule([(0, 1), (2, 3)])
    #expect(capacity.bits(from: 1_000_000_000, to: 3_000_000_000) == 4_000_000)
    #expect(Capacity.trace([1, 2, 4]).bits(from: 0, to: 8_000_000) == 72_000)
  }
}
