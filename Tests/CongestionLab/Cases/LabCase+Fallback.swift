import Congestion

/// Audio alone, and back.
extension LabCase {
  package static let fallback: [LabCase] =
    [squeeze, unforced] + [0.9, 1.0, 1.1].map(border)

  /// What audio of 32 kbit/s and video of 100 kbit/s take on the line.
  private static let needed = 54_400 + 100e3 * 356 / 300

  private static let squeezed = LinkSpec(.schedule([(0, 2), (30, 0.06), (60, 2)]), delay: 25)

  private static func changes(_ world: LabWorld) -> [(Double, ModeChange)] {
    world.media[0]?.tally.changes ?? []
  }

  private static let squeeze = LabCase(
    "squeeze", "2 M → 60 k for 30 s → 2 M with fallback", squeezed,
    flows: [FlowSpec.media.with { $0.fallsBack = true }], seconds: 100,
    [
      Measure("fallback after", "s", .atMost(3)) { _, world in
        changes(world).first { $0.1.mode == .audioOnly }.map { $0.0 - 30 }
      },
      Measure("return after", "s", .atMost(10)) { _, world in
        changes(world).first { $0.1.mode == .audioAndVideo }.map { $0.0 - 60 }
      },
      Measure("changes", "", .atMost(2)) { _, world in Double(changes(world).count) },
      Measure("audio lost", "%", .atMost(5)) { _, world in
        guard let tally = world.media[0]?.tally else { return nil }
        return 100 * Double(tally.audioLost) / (50 * 70)
      },
      Measure("audio wait p95, 33–60 s", "ms") { lab, world in
        lab.reader(world).waitPercentile(0.95, from: 33_000_000_000, to: 60_000_000_000, content: 0)
      },
      Measure("video packets while in it", "", .atMost(0)) { lab, world in
        let all = changes(world)
        guard all.count >= 2 else { return nil }
        let from = UInt64((all[0].0 + 0.001) * 1e9)
        let to = UInt64(all[1].0 * 1e9)
        return Double(
          world.logs[0].entries.count { $0.content == 1 && $0.entered > from && $0.entered < to })
      },
    ])

  private static let unforced = LabCase(
    "unforced", "the same with fallback disabled", squeezed, seconds: 100,
    [
      Measure("changes", "", .atMost(0)) { _, world in Double(changes(world).count) },
      .audioLoss(1), .audioWait(), .rise(at: 60, until: 100),
    ])

  private static func border(_ factor: Double) -> LabCase {
    LabCase(
      "border\(Int(factor * 100))", "an hour at \(Int(factor * 100)) % of audio and smallest video",
      LinkSpec(.constant(needed * factor), delay: 25),
      flows: [FlowSpec.media.with { $0.fallsBack = true }], seconds: 3_600,
      [
        Measure("changes in 10 min, mean", "", .atMost(1)) { _, world in
          Double(changes(world).count) / 6
        },
        Measure("changes in any 10 min, most", "", .atMost(1)) { _, world in
          let times = changes(world).map(\.0)
          let counts = times.map { time in times.count { $0 >= time && $0 < time + 600 } }
          return Double(counts.max() ?? 0)
        },
        .audioWait(), .audioLoss(),
      ])
  }
}
