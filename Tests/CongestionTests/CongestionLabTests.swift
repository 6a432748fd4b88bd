import CongestionLab
import Testing

/// A quick subset of `tools/congestion-report`: the rows that matter most, four seeds each.
@Suite struct CongestionLabTests {
  static let seedCount = 4
  static let names: Set<String> = [
    "const", "step", "rfc51", "loss10", "outage", "prior", "pause", "rfc54", "rfc58", "squeeze",
    "l4s", "rfc56", "unforced", "links weighted", "links asked",
  ]
  static let cases =
    (LabCase.single + LabCase.several + LabCase.links + LabCase.fallback).filter {
      names.contains($0.name)
    }

  @Test func `the subset is there`() { #expect(Self.cases.count == Self.names.count) }

  /// As in the report: the unfavourable end of the 95 % interval over the seeds meets the goal.
  @Test(arguments: cases.indices) func `keeps its goals`(index: Int) {
    let lab = Self.cases[index]
    let worlds = (1...Self.seedCount).map { lab.run(seed: UInt64($0)) }
    for measure in lab.measures {
      if case .shown = measure.goal { continue }
      let values = worlds.compactMap { measure.read(lab, $0) }
      #expect(values.count == worlds.count, "\(lab.name): \(measure.name) came about")
      let isMet = SeedInterval(values)?.meets(measure.goal) ?? false
      #expect(isMet, "\(lab.name): \(measure.name) of \(values), goal \(measure.goal)")
    }
  }

  @Test func `useful video is less than what media take, and most of it`() throws {
    let lab = try #require(LabCase.single.first { $0.name == "const" })
    let world = lab.run(seed: 1)
    let read = { (name: String) in lab.measures.first { $0.name == name }?.read(lab, world) }
    let media = try #require(read("by media alone"))
    let video = try #require(read("useful video"))
    #expect(video > 0.85 * media && video < 0.99 * media, "\(video) of \(media)")
  }

  @Test func `the interval is Student's`() throws {
    let interval = try #require(SeedInterval([1, 2, 3, 4]))
    // The deviation is 1.291, its error 0.6455, and t of three degrees of freedom 3.182.
    #expect(interval.mean == 2.5)
    #expect(abs((interval.halfWidth ?? 0) - 2.054) < 0.001)
    #expect(interval.meets(.atMost(4.56)) && !interval.meets(.atMost(4.55)))
    #expect(interval.meets(.atLeast(0.44)) && !interval.meets(.atLeast(0.45)))
    for (freedom, value) in [(1, 12.706), (10, 2.228), (11, 2.201), (20, 2.086), (60, 2.0003)] {
      #expect(abs(SeedInterval.quantile(freedom) - value) < 0.001)
    }
    #expect(SeedInterval([]) == nil && SeedInterval([7])?.halfWidth == nil)
  }

  @Test func `fresh lines differ by seed, and are the same again`() {
    let first = LabCase.fresh(7).map { "\($0.drawn(by: 1).links)" }
    #expect(first == LabCase.fresh(7).map { "\($0.drawn(by: 1).links)" })
    for other in [
      LabCase.fresh(7).map { $0.drawn(by: 2) }, LabCase.fresh(8).map { $0.drawn(by: 1) },
    ] {
      for (place, lab) in other.enumerated() { #expect("\(lab.links)" != first[place]) }
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
  @Test(arguments: LabCase.synthetic.indices) func `nobody is competed with alone`(index: Int) {
    let lab = LabCase.synthetic[index]
    for seed in 1...2 as ClosedRange<UInt64> {
      let world = lab.run(seed: seed)
      let figures = LogReader(world.logs[0], lab.links[0].capacity).figures(
        from: 0, to: world.endTime)
      #expect(figures.p95 < 250, "\(lab.name), seed \(seed): \(figures.p95) ms")
    }
  }

  /// Whole calls with their fallback beside TCP: both keep a share, and video is not away for long.
  @Test(
    arguments: LabCase.otherTraffic.indices.filter {
      LabCase.otherTraffic[$0].name.hasPrefix("tcp")
    })
  func `a call and TCP beside it both keep a share`(index: Int) {
    let lab = LabCase.otherTraffic[index]
    let worlds = (1...3).map { lab.run(seed: UInt64($0)) }
    func mean(_ name: String) -> Double {
      let values = lab.measures.first { $0.name == name }.map { measure in
        worlds.compactMap { measure.read(lab, $0) }
      }
      return (values ?? []).reduce(0, +) / 3
    }
    // Goals as in the report; cells that miss the last one stand in Benchmarks/README.md.
    #expect(mean("our share") >= (lab.name.contains("-300") ? 0.4 : 0.3), "\(lab.name)")
    #expect(mean("TCP's share") >= 0.25, "\(lab.name)")
    if ["tcp2000-300first", "tcp2000-300late", "tcp2000-1000late"].contains(lab.name) {
      #expect(mean("longest audio alone") <= 5, "\(lab.name)")
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
