import LastMile
import Primitives
import Simulation
import Testing

/// What a probe says of lines whose delay varies, in shapes that its constants were not made for
/// alone; `tools/probe-accuracy --shapes` has more probes of each.
@Suite struct ProbeJitterTests {
  private struct Line {
    var up: UInt64
    var down: UInt64
    var roundTrip: Int64
    var loss: Double
    var queue: Int64

    func conditions(_ rate: UInt64, _ shape: JitterShape) -> LinkConditions {
      var conditions = LinkConditions(delay: .microseconds(500 * roundTrip))
      conditions.rate = .init(rate, queue: .time(.milliseconds(queue)))
      if loss > 0 { conditions.loss = .random(loss) }
      shape.apply(to: &conditions)
      return conditions
    }
  }

  private static let lines = [
    Line(up: 700_000, down: 3_000_000, roundTrip: 30, loss: 0, queue: 100),
    Line(up: 1_500_000, down: 400_000, roundTrip: 80, loss: 0.02, queue: 300),
    Line(up: 4_000_000, down: 1_200_000, roundTrip: 45, loss: 0.05, queue: 60),
    Line(up: 2_500_000, down: 800_000, roundTrip: 150, loss: 0.1, queue: 500),
  ]

  private func results(
    _ shape: JitterShape, seeds: Int, others: CrossTraffic? = nil
  ) -> [(way: DirectionReport, rate: UInt64)] {
    var all: [(DirectionReport, UInt64)] = []
    for (number, line) in Self.lines.enumerated() {
      for seed in 0..<seeds {
        var plan = ProbePlan()
        plan.expectedUplink = 5_000_000
        plan.expectedDownlink = 5_000_000
        var probe = ProbeLine(
          plan, up: line.conditions(line.up, shape), down: line.conditions(line.down, shape),
          seed: UInt64(770_000 + 1000 * number + seed))
        probe.othersUp = others
        probe.othersDown = others
        let report = probe.run()
        if let up = report?.uplink { all.append((up, line.up)) }
        if let down = report?.downlink { all.append((down, line.down)) }
      }
    }
    return all
  }

  @Test(
    arguments: [
      .uniform20, .uniform5, .normal8, .exponential5, .exponential7, .aggregated20, .stalls25,
      .reordered10,
    ] as [JitterShape])
  func `the interval holds the rate, and nobody is said to be there`(shape: JitterShape) {
    let all = results(shape, seeds: 25)
    let held = all.count {
      guard let found = $0.way.bandwidth else { return false }
      return found.low <= Double($0.rate) && Double($0.rate) <= found.high
    }
    let shared = all.count(where: \.way.isShared)
    #expect(Double(held) >= 0.93 * Double(all.count), "\(held) of \(all.count)")
    #expect(Double(shared) <= 0.01 * Double(all.count), "\(shared) of \(all.count)")
    // Intervals that hold everything say nothing.
    let widths = all.compactMap { way, rate in
      way.bandwidth.map { ($0.high - $0.low) / 2 / Double(rate) }
    }.sorted()
    #expect(widths[widths.count / 2] < 0.03, "\(widths[widths.count / 2])")
  }

  @Test func `somebody's packets are seen beside jitter, and are not taken for it`() {
    // Two fifths of the narrowest line; less of the wider ones.
    let others = CrossTraffic(rate: 160_000)
    for shape in [JitterShape.uniform5, .stalls25] {
      let narrow = results(shape, seeds: 15, others: others).filter { $0.rate == 400_000 }
      let seen = narrow.count(where: \.way.isShared)
      #expect(Double(seen) >= 0.8 * Double(narrow.count), "\(shape): \(seen) of \(narrow.count)")
      let off = narrow.compactMap { way, _ in
        way.bandwidth.map { abs($0.bitsPerSecond / 240_000 - 1) }
      }.sorted()
      #expect(off[off.count / 2] < 0.25, "\(shape): \(off)")
    }
  }

  @Test(arguments: [1, 2, 4])
  func `a transfer whose window keeps a queue is seen`(burst: Int) {
    var seen = 0
    var all = 0
    for (number, rate) in [1_200_000, 2_000_000, 3_000_000].enumerated() {
      // Packets of the queue that the transfer keeps.
      for queued in [8, 12, 20] {
        for seed in 0..<5 {
          var conditions = LinkConditions(delay: .milliseconds(15))
          conditions.rate = .init(UInt64(rate), queue: .time(.milliseconds(400)))
          var probe = ProbeLine(
            ProbePlan(), up: conditions, down: conditions,
            seed: UInt64(880_000 + 1000 * number + seed))
          var others = CrossTraffic(rate: Double(rate), burst: burst, byteCount: 1472)
          others.window = queued + rate * 30 / 12_000_000
          probe.othersDown = others
          guard let down = probe.run()?.downlink else { continue }
          all += 1
          seen += down.isShared ? 1 : 0
        }
      }
    }
    #expect(all == 45)
    #expect(Double(seen) >= 0.8 * Double(all), "\(seen) of \(all)")
  }
}
