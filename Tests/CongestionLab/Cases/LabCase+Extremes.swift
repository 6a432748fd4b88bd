/// The ends of the range that the estimator is made for, and what lines do besides.
extension LabCase {
  package static let extremes: [LabCase] = [
    extreme("50 kbit/s, audio of 16 kbit/s alone", LinkSpec(.constant(50e3), delay: 50)) {
      $0.audioRate = 16_000
      $0.hasVideo = false
    },
    extreme("50 Mbit/s", LinkSpec(.constant(50e6), delay: 10), seconds: 20),
    extreme("RTT 1 ms", LinkSpec(.constant(5e6), delay: 0.5)),
    extreme("RTT 600 ms", LinkSpec(.constant(2e6), delay: 300)),
    extreme("queue 20 ms", LinkSpec(.constant(2e6), delay: 25, queue: 20)),
    extreme("queue 70 ms", LinkSpec(.constant(1e6), delay: 50, queue: 70)),
    extreme("queue 2 s", LinkSpec(.constant(1e6), delay: 50, queue: 2_000)),
    extreme("1 % loss", LinkSpec(.constant(1e6), delay: 50).with { $0.loss = 0.01 }),
    extreme("5 % loss", LinkSpec(.constant(1e6), delay: 50).with { $0.loss = 0.05 }),
    extreme("20 % loss", LinkSpec(.constant(1e6), delay: 50).with { $0.loss = 0.2 }),
    extreme(
      "jitter of RFC 8868",
      LinkSpec(.constant(1e6), delay: 50).with {
        $0.jitter = .normal(deviation: 5e6)
      }),
    extreme("clock 100 ppm fast", LinkSpec(.constant(2e6), delay: 25)) {
      $0.partsPerMillion = 100
    },
    extreme("clock 100 ppm slow", LinkSpec(.constant(2e6), delay: 25)) {
      $0.partsPerMillion = -100
    },
    extreme(
      "policer of 1 Mbit/s, 16 kB",
      LinkSpec(.constant(10e6), delay: 25).with { $0.policer = (1e6, 16_000) }),
    extreme("20 % of the reports lost", LinkSpec(.constant(2e6), delay: 25)).with {
      $0.links[1].loss = 0.2
    },
  ]

  private static func extreme(
    _ title: String, _ link: LinkSpec, seconds: Double = 60,
    _ change: (inout FlowSpec) -> Void = { _ in }
  ) -> LabCase {
    LabCase(
      "extreme " + title, title, link, flows: [FlowSpec.media.with(change)], seconds: seconds,
      [.utilisation(), .wait(), .start(), .drops(), .audioLoss(), .feedbackShare()])
  }
}
