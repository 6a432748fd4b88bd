/// RFC 8867 with its own encoder: audio of 20 kbit/s, video of 150 kbit/s to 1.5 Mbit/s, jitter up
/// to 30 ms without reordering.
extension LabCase {
  package static let standard: [LabCase] = [
    standardCase("5.1, OWD 50", fiveOneOf(50)), standardCase("5.1, OWD 100", fiveOneOf(100)),
    standardCase("5.2", LinkSpec(.schedule(fiveTwoSteps), delay: 50), [0, 0], seconds: 125),
    standardCase("5.4", LinkSpec(.constant(3.5e6), delay: 50), [0, 20, 40], seconds: 120),
    standardCase("5.8", LinkSpec(.constant(3.5e6), delay: 50), [0, 0, 0], seconds: 120).with {
      $0.flows[1].pauses = [(40, 60)]
    },
    standardRoundTrips, standardFeedback, standardTCP(300), standardTCP(1_000), standardShort,
    standardCase("6.1", LinkSpec(.constant(3.5e6), delay: 50), [0, 20, 40], seconds: 120).with {
      $0.flows[0].weight = 2
    },
    standardCase("6.2, 5.1 with ECN", fiveOneOf(50).with { $0.marksAbove = 10_000_000 }).with {
      $0.flows[0].isECT = true
    },
    standardTwo,
  ]

  private static let fiveTwoSteps: [(Double, Double)] = [
    (0, 4), (25, 2), (50, 3.5), (75, 1), (100, 2),
  ]

  private static func fiveOneOf(_ delay: Double) -> LinkSpec {
    LinkSpec(.schedule([(0, 1), (40, 2.5), (60, 0.6), (80, 1)]), delay: delay)
  }

  private static let encoder = FlowSpec.media.with {
    $0.audioRate = 20_000
    $0.videoLeast = 150_000
    $0.videoMost = 1_500_000
  }

  private static func standardCase(
    _ name: String, _ link: LinkSpec, _ starts: [Double] = [0], seconds: Double = 100
  ) -> LabCase {
    let flows = starts.map { start in encoder.with { $0.start = start } }
    let all = Array(flows.indices)
    var measures = metrics
    if flows.count > 1 {
      measures.append(.jain(all, from: seconds - 20, to: seconds))
      measures += [1.0, 5, 20].map { fairness(all, span: $0, from: 45, to: seconds) }
    }
    return LabCase(
      "rfc8867 \(name)", "RFC 8867 \(name)", link.with { $0.jitter = .normal(deviation: 10e6) },
      flows: flows, seconds: seconds, measures)
  }

  private static let standardRoundTrips = standardCase(
    "5.5", LinkSpec(.constant(4e6), delay: 5), [0, 10, 20, 30, 40], seconds: 300
  ).with { lab in
    for (index, delay) in [5.0, 20, 45, 95, 145].enumerated() { lab.flows[index].ownDelay = delay }
  }

  private static let standardFeedback = standardCase(
    "5.3", LinkSpec(.schedule([(0, 2), (20, 1), (40, 0.5), (60, 2)]), delay: 50), [0, 0]
  ).with {
    $0.links[1] = LinkSpec(.schedule([(0, 2), (35, 0.8), (70, 2)]), delay: 50).with {
      $0.jitter = .normal(deviation: 10e6)
    }
    $0.flows[1].forward = [1]
    $0.flows[1].reverse = [0]
    $0.measures = metrics
  }

  private static func standardTCP(_ queue: Double) -> LabCase {
    standardCase(
      "5.6, queue \(Int(queue)) ms", LinkSpec(.constant(2e6), delay: 50, queue: queue), [5],
      seconds: 120
    ).with {
      $0.flows.append(FlowSpec.media.with { $0.kind = .cubic })
      $0.measures.append(.share(0, from: 15, to: 119, name: "share"))
    }
  }

  private static let standardShort = standardCase(
    "5.7", LinkSpec(.constant(2e6), delay: 50), [5, 5], seconds: 300
  ).with { lab in
    for place in 0..<10 {
      lab.flows.append(
        FlowSpec.media.with {
          $0.kind = .shortCubic
          $0.start = place < 2 ? 0 : Double(place) * 3
        })
    }
  }

  private static let standardTwo = standardCase(
    "6.3", LinkSpec(.constant(2e6), delay: 40), [0, 1, 2], seconds: 300
  ).with {
    $0.links += [LinkSpec(.constant(8e6), delay: 20), LinkSpec(.constant(1.5e6), delay: 40)]
    $0.flows[0].forward = [0, 2, 3]
    $0.flows[2].forward = [3]
    $0.measures = metrics
  }

  /// RFC 8868 §2 for the first flow and the bottleneck.
  private static let metrics: [Measure] = [
    .utilisation(), .wait(), .drops(), .audioLoss(), .feedbackShare(),
    Measure("rate, mean of 200 ms", "kbit/s") { lab, world in
      mean(slices(lab, world)) / 1_000
    },
    Measure("its deviation", "kbit/s") { lab, world in
      let all = slices(lab, world)
      let middle = mean(all)
      return (mean(all.map { ($0 - middle) * ($0 - middle) })).squareRoot() / 1_000
    },
    Measure("oscillations a minute", "") { lab, world in
      let all = slices(lab, world)
      return Double(oscillations(all)) * 300 / Double(max(1, all.count))
    },
  ]

  /// Rates of the first flow over 200 ms, after the settling time.
  private static func slices(_ lab: LabCase, _ world: LabWorld) -> [Double] {
    let reader = lab.reader(world, flows: [0])
    var all: [Double] = []
    var time = lab.begin(world) + LinkFigures.settling
    while time + 200_000_000 <= world.endTime {
      all.append(reader.carried(from: time, to: time + 200_000_000) * 5)
      time += 200_000_000
    }
    return all
  }

  private static func mean(_ values: [Double]) -> Double {
    values.isEmpty ? 0 : values.reduce(0, +) / Double(values.count)
  }

  /// How often the rate, over one second, goes from below 90 % of its mean to above 110 %.
  private static func oscillations(_ slices: [Double]) -> Int {
    let middle = mean(slices)
    var isLow = false
    var count = 0
    for index in slices.indices.dropFirst(4) {
      let rate = mean(Array(slices[(index - 4)...index]))
      if rate < 0.9 * middle { isLow = true }
      if rate > 1.1 * middle, isLow {
        isLow = false
        count += 1
      }
    }
    return count
  }

  /// RFC 8868 §2: the share of spans in which every flow has between a third and thrice the mean.
  private static func fairness(
    _ flows: [Int], span: Double, from: Double, to: Double
  ) -> Measure {
    Measure("fair at \(Int(span)) s", "%") { lab, world in
      var fair = 0
      var all = 0
      var time = from
      while time + span <= to {
        let rates = lab.rates(world, flows, time, time + span)
        let middle = mean(rates)
        if rates.allSatisfy({ $0 > middle / 3 && $0 < middle * 3 }) { fair += 1 }
        all += 1
        time += span
      }
      return all == 0 ? nil : 100 * Double(fair) / Double(all)
    }
  }
}
