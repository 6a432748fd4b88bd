import Foundation
import Primitives

/// Lines that no constant was chosen by. Each run of a case draws a line of its family, by a seed
/// that is drawn when the report is made.
extension LabCase {
  package static func fresh(_ seed: UInt64) -> [LabCase] {
    let families: [Family] = [
      constant, steps, lossy, wifi, cellular, turns, beside, together, calls, narrow,
    ]
    return families.enumerated().map { place, family in
      @Sendable func line(_ index: UInt64) -> LabCase {
        var random = RandomSource(seed: seed &+ UInt64(place) &* 1_000_003 &+ index &* 7_919)
        let drawn = family.draw(&random)
        return LabCase(
          "fresh " + family.name, family.title, drawn.link, flows: drawn.flows,
          seconds: family.seconds, family.measures)
      }
      return line(0).with { $0.draw = line }
    }
  }

  private struct Family: Sendable {
    var name: String
    var title: String
    var seconds = 60.0
    var measures: [Measure]
    var draw: @Sendable (inout RandomSource) -> (link: LinkSpec, flows: [FlowSpec])
  }

  private static let constant = Family(
    name: "constant", title: "constant 0.2–20 Mbit/s, RTT 10–240 ms, queue 100–1000 ms",
    measures: [.utilisation(0.9), .wait(40), .feedbackShare(5)]
  ) { random in
    let rate = random.log(0.2e6, 20e6)
    return (
      LinkSpec(.constant(rate), delay: random.log(5, 120), queue: random.log(100, 1_000)),
      [.media]
    )
  }

  private static let steps = Family(
    name: "steps", title: "five rates of 0.4–4 Mbit/s for 15 s each, RTT 20–200 ms", seconds: 75,
    measures: [.utilisation(0.91), .wait(45)]
  ) { random in
    let rates = (0..<5).map { (Double($0) * 15, random.log(0.4, 4)) }
    return (LinkSpec(.schedule(rates), delay: random.log(10, 100)), [.media])
  }

  private static let lossy = Family(
    name: "loss", title: "1–10 % random loss, 0.8–6 Mbit/s",
    measures: [.utilisation(0.9), .wait(25)]
  ) { random in
    let link = LinkSpec(.constant(random.log(0.8e6, 6e6)), delay: random.log(10, 60))
    let loss = random.log(0.01, 0.1)
    return (link.with { $0.loss = loss }, [.media])
  }

  private static let wifi = Family(
    name: "Wi-Fi", title: "exponential 1–6 ms jitter, stalls of 30–100 ms, 1.5–6 Mbit/s",
    measures: [.utilisation(0.93), .wait(20)]
  ) { random in
    let link = LinkSpec(.constant(random.log(1.5e6, 6e6)), delay: random.log(10, 60))
    let jitter = random.log(1e6, 6e6)
    let stalls = (UInt64(random.log(1e9, 4e9)), UInt64(random.log(30e6, 100e6)))
    let aggregates = random.unit() < 0.5
    return (
      link.with {
        $0.jitter = .exponential(mean: jitter, most: 10 * jitter)
        $0.stalls = stalls
        $0.aggregates = aggregates
      }, [.media]
    )
  }

  private static let cellular = Family(
    name: "cellular", title: "0.2–10 Mbit/s in a Markov chain, dwells of 0.3–3 s, some outages",
    seconds: 100, measures: [.utilisation(0.6), .wait(180), .framesSkipped()]
  ) { random in (cell(&random, turn: 0), [.media]) }

  private static let turns = Family(
    name: "turns", title: "the same, service in turns of 10–40 ms", seconds: 100,
    measures: [.utilisation(0.6), .wait(180), .framesSkipped()]
  ) { random in
    let turn = UInt32(random.log(10, 40))
    return (cell(&random, turn: turn), [.media])
  }

  private static func cell(_ random: inout RandomSource, turn: UInt32) -> LinkSpec {
    var trace = SyntheticTrace(
      dwell: random.log(300, 3_000), scatter: random.log(0.1, 0.4), turn: turn, seed: random.next())
    if random.unit() < 0.5 { trace.outages = (random.log(5_000, 30_000), random.log(200, 1_500)) }
    return LinkSpec(
      .trace(trace.moments(seconds: 100)), delay: random.log(15, 50), queue: 2_000)
  }

  private static let beside = Family(
    name: "CUBIC", title: "one long TCP CUBIC, 1–6 Mbit/s, RTT 20–120 ms, queue 150–1000 ms",
    seconds: 100,
    measures: [
      .share(0, from: 15, to: 99, 0.3, name: "our share"),
      .share(1, from: 15, to: 99, 0.2, name: "TCP's share"),
      .longestBelow(170e3, 0, from: 15, to: 99, 5), .wait(),
    ]
  ) { random in
    let rate = random.log(1e6, 6e6)
    let link = LinkSpec(
      .constant(rate), delay: random.log(10, 60), queue: random.log(150, 1_000))
    return (
      link, [FlowSpec.media.with { $0.start = 5 }, FlowSpec.media.with { $0.kind = .cubic }]
    )
  }

  private static let calls = Family(
    name: "whole call beside CUBIC",
    title: "CUBIC first or from 20–40 s on, 0.6–5 Mbit/s, RTT 20–120 ms, queue 150–1000 ms",
    seconds: 100,
    measures: [
      .share(0, from: 50, to: 99, 0.3, name: "our share"),
      .share(1, from: 50, to: 99, 0.25, name: "TCP's share"),
      .longestAudioOnly(5), .audioLoss(),
    ]
  ) { random in
    let link = LinkSpec(
      .constant(random.log(0.6e6, 5e6)), delay: random.log(10, 60), queue: random.log(150, 1_000))
    let begin = random.unit() < 0.5 ? 0 : random.log(20, 40)
    let call = FlowSpec.media.with {
      $0.start = begin == 0 ? 5 : 0
      $0.fallsBack = true
    }
    return (
      link,
      [
        call,
        FlowSpec.media.with {
          $0.kind = .cubic
          $0.start = begin
        },
      ]
    )
  }

  /// Nobody else is there: a line that suddenly carries little more than audio.
  private static let narrow = Family(
    name: "narrow", title: "1–4 Mbit/s, for 30 s 50–150 kbit/s, RTT 20–120 ms, queue 150–2000 ms",
    measures: [
      .audioLoss(2),
      Measure("audio wait p95, 25–45 s", "ms") { lab, world in
        lab.reader(world).waitPercentile(0.95, from: 25_000_000_000, to: 45_000_000_000, content: 0)
      },
    ]
  ) { random in
    let rate = random.log(1, 4)
    let link = LinkSpec(
      .schedule([(0, rate), (15, random.log(0.05, 0.15)), (45, rate)]),
      delay: random.log(10, 60), queue: random.log(150, 2_000))
    return (link, [FlowSpec.media.with { $0.fallsBack = true }])
  }

  private static let together = Family(
    name: "together", title: "three flows, 1–6 Mbit/s, RTT 20–200 ms", seconds: 100,
    measures: [.jain([0, 1, 2], from: 50, to: 100, 0.97), .utilisation(), .wait(40)]
  ) { random in
    let link = LinkSpec(.constant(random.log(1e6, 6e6)), delay: random.log(10, 100))
    return (link, staggered([0, 8, 16]))
  }
}

extension RandomSource {
  /// Between two numbers, each factor as likely as another.
  fileprivate mutating func log(_ low: Double, _ high: Double) -> Double {
    low * pow(high / low, unit())
  }
}
