import Congestion

/// Two links of one endpoint: one uplink, a budget over both, and an estimator, a pacer and a
/// fallback for each.
extension LabCase {
  package static let links: [LabCase] = [
    weighted("links equal", "two links, weights 1 and 1", weight: 1),
    weighted("links weighted", "two links, weights 2 and 1", weight: 2),
    asked,
  ]

  private static let uplink = LinkSpec(.schedule([(0, 2), (40, 1), (70, 3)]), delay: 25)

  private static func link(_ change: (inout FlowSpec) -> Void = { _ in }) -> FlowSpec {
    FlowSpec.media.with {
      $0.sharesUplink = true
      change(&$0)
    }
  }

  /// How far the first link's rate over the second's is from their weights' ratio.
  private static func deviation(_ weight: Double, from: Double, to: Double) -> Measure {
    let name = "shares off their weights, \(Int(from))–\(Int(to)) s"
    return Measure(name, "%", .atMost(10)) { lab, world in
      let rates = lab.rates(world, [0, 1], from, to)
      return 100 * abs(rates[0] / max(1, rates[1]) / weight - 1)
    }
  }

  private static func weighted(_ name: String, _ title: String, weight: Double) -> LabCase {
    LabCase(
      name, "\(title), 2 → 1 → 3 Mbit/s", uplink,
      flows: [link { $0.weight = weight }, link { $0.start = 10 }], seconds: 100,
      [
        deviation(weight, from: 20, to: 40), deviation(weight, from: 50, to: 70),
        deviation(weight, from: 80, to: 100), .utilisation(0.93), .wait(40),
        .drain(at: 40, until: 70), .rise(at: 70, until: 100), .audioLoss(0.5),
      ])
  }

  private static func changes(_ world: LabWorld, _ flow: Int) -> [(Double, ModeChange)] {
    world.media[flow]?.tally.changes ?? []
  }

  /// The second receiver loses a quarter of what comes, from 20 s to 60 s, behind the uplink.
  private static let asked = LabCase(
    "links asked", "of two links one loses 25 % from 20 to 60 s, and its receiver asks for audio",
    LinkSpec(.constant(2e6), delay: 25),
    flows: [
      link {
        $0.videoMost = 1_200_000
        $0.fallsBack = true
      },
      link {
        $0.videoMost = 1_200_000
        $0.isAskedFor = true
        $0.forward = [0, 2]
      },
    ], seconds: 100,
    [
      Measure("asked after", "s", .atMost(6)) { _, world in
        changes(world, 1).first.map { $0.0 - 20 }
      },
      Measure("returned after", "s", .atMost(10)) { _, world in
        changes(world, 1).first { $0.1.mode == .audioAndVideo }.map { $0.0 - 60 }
      },
      Measure("its video meanwhile", "packets", .atMost(0)) { _, world in
        let all = changes(world, 1)
        guard all.count >= 2 else { return nil }
        let from = UInt64((all[0].0 + 0.5) * 1e9)
        let to = UInt64(all[1].0 * 1e9)
        return Double(
          world.logs[0].entries.count {
            $0.flow == 1 && $0.content == 1 && $0.entered > from && $0.entered < to
          })
      },
      Measure("the other's changes", "", .atMost(0)) { _, world in Double(changes(world, 0).count)
      },
      Measure("the other's rate, 30–60 s, of its most", "", .atLeast(0.95)) { lab, world in
        lab.rates(world, [0], 30, 60)[0] / (1_200_000 * 1_176 / 1_120 + 54_400)
      },
      Measure("the other's rate, 10–20 s, of a half", "", .atLeast(0.9)) { lab, world in
        lab.rates(world, [0], 10, 20)[0] / 1e6
      },
      .wait(40),
    ]
  ).with { lab in
    lab.links.append(
      LinkSpec(.constant(20e6), delay: 5).with {
        $0.lossy = [(20_000_000_000, 60_000_000_000, 0.25)]
      })
  }
}
