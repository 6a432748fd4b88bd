import CongestionLab
import Testing

/// A quick subset of `tools/congestion-report`: the rows that matter most, two seeds each.
@Suite struct CongestionLabTests {
  static let names: Set<String> = [
    "const", "step", "rfc51", "loss10", "outage", "prior", "pause", "rfc54", "rfc58", "squeeze",
    "l4s", "rfc56", "unforced", "links weighted", "links asked",
  ]
  static let cases =
    (LabCase.single + LabCase.several + LabCase.links + LabCase.fallback).filter {
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

  /// For minutes the line carries no more than audio and the smallest video: a queue never empties,
  /// and must not be taken for the path.
  @Test func `a standing queue is not forgotten`() {
    let lab = LabCase(
      "narrow", "190 kbit/s", LinkSpec(.constant(190e3), delay: 25), seconds: 400, [])
    let world = lab.run(seed: 1)
    let reader = LogReader(world.logs[0], lab.links[0].capacity)
    let late = reader.waitPercentile(
      0.5, from: 300_000_000_000, to: 400_000_000_000, content: 0)
    #expect(late < 40, "audio waits \(late) ms after five minutes")
  }

  /// No rival is there, whatever the line does: then no queue of seconds is built.
  @Test(arguments: LabCase.heldOut.indices) func `nobody is competed with alone`(index: Int) {
    let lab = LabCase.heldOut[index]
    for seed in 1...2 as ClosedRange<UInt64> {
      let world = lab.run(seed: seed)
      let figures = LogReader(world.logs[0], lab.links[0].capacity).figures(
        from: 0, to: world.endTime)
      #expect(figures.p95 < 250, "\(lab.name), seed \(seed): \(figures.p95) ms")
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
