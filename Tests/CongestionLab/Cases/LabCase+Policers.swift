import Congestion
import Primitives

/// Whole calls behind policers, and on lines that lose much for a moment, which looks like one.
extension LabCase {
  package static let policers: [LabCase] =
    [(0.8, 12.0), (1.5, 20), (3, 40)].map { policed($0.0 * 1e6, bytes: $0.1 * 1_000) }
    + [([(20.0, 1.0)], 0.3), ([(20, 2)], 0.5), ([(20, 1.5), (24, 1.5), (28, 1.5)], 0.4)].map(faded)

  package static func policed(_ rate: Double, bytes: Double) -> LabCase {
    LabCase(
      "policer\(Int(rate / 1e3))",
      "policer of \(Int(rate / 1e3)) kbit/s and \(Int(bytes / 1e3)) kB, no queue, RTT 50",
      LinkSpec(.constant(20e6), delay: 25).with { $0.policer = (rate, bytes) },
      flows: [FlowSpec.media.with { $0.fallsBack = true }], seconds: 60, policerMeasures)
  }

  static let policerMeasures = [
    Measure("dropped in the first 2 s", "%") { _, world in dropped(world, from: 0, to: 2) },
    Measure("dropped after 2 s", "%", .atMost(2)) { lab, world in
      dropped(world, from: 2, to: lab.seconds)
    },
    Measure("useful video of the policed rate", "", .atLeast(0.85)) { lab, world in
      guard let tally = world.media[0]?.tally, let policer = lab.links[0].policer else {
        return nil
      }
      return Double(tally.receivedBytes[1]) * 8 / lab.seconds / policer.rate
    },
    Measure("changes to audio alone", "", .atMost(0)) { _, world in audioOnlyCount(world) },
    Measure.audioLoss(),
  ]

  private static func audioOnlyCount(_ world: LabWorld) -> Double {
    Double(world.media[0]?.tally.changes.count { $0.1.mode == .audioOnly } ?? 0)
  }

  /// Per cent of what was offered between two moments in seconds.
  private static func dropped(_ world: LabWorld, from: Double, to: Double) -> Double {
    let range = UInt64(from * 1e9)..<UInt64(to * 1e9)
    let dropped = world.logs[0].droppedAt.count { range.contains($0) }
    let passed = world.logs[0].entries.count { range.contains($0.entered) }
    return 100 * Double(dropped) / Double(max(1, dropped + passed))
  }

  /// - Parameters:
  ///   - fades: Begin and length of each, in seconds.
  ///   - loss: Share of packets lost in them.
  package static func faded(_ fades: [(at: Double, length: Double)], loss: Double) -> LabCase {
    let end = fades.map { $0.at + $0.length }.max() ?? 0
    let name = "fade\(Int(loss * 100))"
    let length = fades.first?.length ?? 0
    return LabCase(
      name,
      "\(Int(loss * 100)) % lost for \(length) s, \(fades.count == 1 ? "once" : "three times"), "
        + "2 Mbit/s, RTT 50",
      LinkSpec(.constant(2e6), delay: 25).with { $0.lossy = spells(fades, loss) },
      flows: [FlowSpec.media.with { $0.fallsBack = true }], seconds: 60, fadeMeasures(end))
  }

  private static func fadeMeasures(_ end: Double) -> [Measure] {
    [
      .rise(at: end, until: 60, 5),
      Measure("carried in the 15 s after it", "", .atLeast(0.85)) { lab, world in
        lab.reader(world).figures(
          from: UInt64(end * 1e9), to: UInt64((end + 15) * 1e9)
        ).utilisation
      },
      Measure("changes to audio alone") { _, world in audioOnlyCount(world) },
    ]
  }

  private static func spells(
    _ fades: [(at: Double, length: Double)], _ loss: Double
  ) -> [(from: UInt64, to: UInt64, share: Double)] {
    fades.map { (UInt64($0.at * 1e9), UInt64(($0.at + $0.length) * 1e9), loss) }
  }

  /// A line of the drawn family of policers.
  static func drawnPolicer(_ random: inout RandomSource) -> LinkSpec {
    let rate = random.log(0.5e6, 4e6)
    let bytes = max(8_000, rate / 8 * random.log(0.06, 0.5))
    let line = LinkSpec(.constant(rate * random.log(4, 20)), delay: random.log(10, 60))
    return line.with { $0.policer = (rate, bytes) }
  }

  /// A line of the drawn family of fades; the last one ends at 30 s.
  static func drawnFade(_ random: inout RandomSource) -> LinkSpec {
    let line = LinkSpec(.constant(random.log(0.8e6, 5e6)), delay: random.log(10, 60))
    let loss = random.log(0.3, 0.5)
    let length = random.log(1, 2)
    let count = 1 + Int(random.unit() * 3)
    let fades = (0..<count).map { place in
      (at: 30 - length - Double(place) * random.log(3, 8), length: length)
    }
    return line.with { $0.lossy = spells(fades, loss) }
  }

  static let drawnFadeMeasures = fadeMeasures(30)
}
