/// One flow on one link: the rows of the goals that `../shared/tools/linkemu/case` names.
extension LabCase {
  package static let single: [LabCase] =
    constants + steps + losses + interruptions + cellular + wifi + [lowRate, prior, pause, marked]

  private static let constants: [LabCase] = [
    LabCase(
      "const", "constant 2 Mbit/s, RTT 50, queue 300 ms", LinkSpec(.constant(2e6), delay: 25),
      seconds: 60,
      [
        .utilisation(0.96), .wait(20), .start(1.0), .drops(0.1), .feedbackShare(5),
      ]),
    LabCase(
      "const200k", "the same at 200 kbit/s", LinkSpec(.constant(2e5), delay: 25), seconds: 60,
      [.utilisation(0.9), .wait(40), .start(), .drops(), .feedbackShare(5)]),
    LabCase(
      "const10M", "the same at 10 Mbit/s", LinkSpec(.constant(10e6), delay: 25), seconds: 60,
      [.utilisation(0.9), .wait(40), .start(), .drops()]),
    LabCase(
      "const30M", "the same at 30 Mbit/s", LinkSpec(.constant(30e6), delay: 25), seconds: 30,
      [.utilisation(0.9), .wait(40), .start(), .drops()]),
  ]

  private static let fiveOne: [(Double, Double)] = [(0, 1), (40, 2.5), (60, 0.6), (80, 1)]

  private static let steps: [LabCase] = [
    LabCase(
      "step", "2.5 → 0.6 → 2.0 Mbit/s, RTT 50, queue 300 ms",
      LinkSpec(.schedule([(0, 2.5), (20, 0.6), (40, 2)]), delay: 25), seconds: 60,
      [
        .drain(at: 20, until: 40, 0.8), .drops(0.1), .rise(at: 40, until: 60, 1.5),
        .utilisation(0.93), .wait(30), .audioLoss(1),
      ]),
    LabCase(
      "rfc51", "RFC 8867 5.1 as `linkemu` has it, RTT 100",
      LinkSpec(.schedule(fiveOne), delay: 50), seconds: 100,
      [
        .utilisation(0.93), .wait(35), .rise(at: 40, until: 60, 1.8),
        .drain(at: 60, until: 80, 1.2), .rise(at: 80, until: 100), .drops(),
      ]),
    LabCase(
      "rfc51far", "the same, RTT 200", LinkSpec(.schedule(fiveOne), delay: 100), seconds: 100,
      [
        .utilisation(0.91), .wait(45), .rise(at: 40, until: 60, 2.5),
        .drain(at: 60, until: 80, 1.6), .rise(at: 80, until: 100), .drops(),
      ]),
  ]

  private static let losses: [LabCase] = [
    LabCase(
      "loss2", "2 % random loss, 2 Mbit/s",
      LinkSpec(.constant(2e6), delay: 25).with { $0.loss = 0.02 }, seconds: 60,
      [.utilisation(0.95), .wait(20), .start()]),
    LabCase(
      "loss10", "10 % random loss, 2 Mbit/s",
      LinkSpec(.constant(2e6), delay: 25).with { $0.loss = 0.1 }, seconds: 60,
      [.utilisation(0.9), .wait(25), .start(), .audioLoss()]),
  ]

  private static let wifi = [
    wifi("wifi", "Wi-Fi: exponential 4 ms jitter, 60 ms stalls about every 2 s, 2 Mbit/s") { _ in },
    wifi("wifi aggregated", "the same, what was held up comes at once") { $0.aggregates = true },
  ]

  private static func wifi(
    _ name: String, _ title: String, _ change: (inout LinkSpec) -> Void
  ) -> LabCase {
    let link = LinkSpec(.constant(2e6), delay: 25).with {
      $0.jitter = .exponential(mean: 4e6, most: 40e6)
      $0.stalls = (2_000_000_000, 60_000_000)
      change(&$0)
    }
    return LabCase(name, title, link, seconds: 60, [.utilisation(0.93), .wait(20), .start()])
  }

  private static let interruptions: [LabCase] = [
    LabCase(
      "outage", "everything lost for 2 s and 5 s, 2 Mbit/s",
      LinkSpec(.constant(2e6), delay: 25).with {
        $0.blackouts = [(20_000_000_000, 22_000_000_000), (40_000_000_000, 45_000_000_000)]
      }, seconds: 60,
      [
        .rise(at: 22, until: 40, 0.8), .rise(at: 45, until: 60, 0.8),
        Measure("sent into the outages", "% of the rate", .atMost(20)) { _, world in
          guard let flow = world.media[0] else { return nil }
          return 100 * Double(flow.tally.outageBytes) * 8 / (7 * 2e6)
        },
      ]),
    LabCase(
      "handover", "server stops for 0.3 s and 1 s, 2 Mbit/s, queue 2 s",
      LinkSpec(.constant(2e6), delay: 25, queue: 2_000).with {
        $0.holds = [(20_000_000_000, 20_300_000_000), (40_000_000_000, 41_000_000_000)]
      }, seconds: 60,
      [
        .utilisation(0.94), .wait(30), .rise(at: 20.3, until: 40, 1.0),
        .rise(at: 41, until: 60, 1.0),
      ]),
  ]

  private static let lowRate = LabCase(
    "low", "150 kbit/s: audio of 16 kbit/s beside what fits, RTT 100",
    LinkSpec(.constant(150e3), delay: 50),
    flows: [
      FlowSpec.media.with {
        $0.audioRate = 16_000
        $0.fallsBack = true
      }
    ],
    seconds: 60, [.audioWait(60), .audioLoss(0), .utilisation()])

  private static let prior = LabCase(
    "prior", "start with a last-mile result, 2 Mbit/s", LinkSpec(.constant(2e6), delay: 25),
    flows: [FlowSpec.media.with { $0.priorRate = 2e6 }], seconds: 20,
    [.start(0.7), .drops(0.1), .wait()])

  private static let pause = LabCase(
    "pause", "30 s without media, then on, 2 Mbit/s", LinkSpec(.constant(2e6), delay: 25),
    flows: [FlowSpec.media.with { $0.pauses = [(20, 50)] }], seconds: 70,
    [.rise(at: 50, until: 70, 1.5), .drops(0.1)])

  private static let marked = LabCase(
    "l4s", "5 Mbit/s, RTT 20, CE above 5 ms",
    LinkSpec(.constant(5e6), delay: 10).with { $0.marksAbove = 5_000_000 },
    flows: [FlowSpec.media.with { $0.isECT = true }], seconds: 60,
    [.utilisation(0.95), .wait(6), .start()])

  /// The goals of the first two are not met (docs/decisions/0070): a receiver that sends no media
  /// reports less often, because it knows little of the way back.
  private static let cellular: [LabCase] = [
    LabCase(
      "cell", "LTE Verizon-LTE-short.up, RTT 40, queue 2 s",
      LinkSpec(.constant(1), delay: 20, queue: 2_000), seconds: 120,
      [.utilisation(0.75), .wait(50), .framesSkipped()]
    ).onTrace("Verizon-LTE-short.up"),
    LabCase(
      "cell2", "LTE ATT-LTE-driving-2016.up, RTT 40, queue 2 s",
      LinkSpec(.constant(1), delay: 20, queue: 2_000), seconds: 118,
      [.utilisation(0.6), .wait(180), .framesSkipped()]
    ).onTrace("ATT-LTE-driving-2016.up"),
    LabCase(
      "cellDown", "LTE Verizon-LTE-short.down", LinkSpec(.constant(1), delay: 20, queue: 2_000),
      seconds: 120, [.utilisation(), .wait(), .framesSkipped()]
    ).onTrace("Verizon-LTE-short.down"),
    LabCase(
      "cellDown2", "LTE ATT-LTE-driving-2016.down",
      LinkSpec(.constant(1), delay: 20, queue: 2_000), seconds: 118,
      [.utilisation(), .wait(), .framesSkipped()]
    ).onTrace("ATT-LTE-driving-2016.down"),
  ]
}
