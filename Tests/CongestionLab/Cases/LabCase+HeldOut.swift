/// Cellular lines made up for judging the estimator. They have no goals: their figures say whether
/// it is fitted to the recorded traces.
extension LabCase {
  package static let heldOut: [LabCase] = [
    synthetic("walk", "dwells of 0.5 s", SyntheticTrace(dwell: 500, scatter: 0.2, seed: 101)),
    synthetic(
      "drive", "dwells of 2 s, outages of about 0.8 s every 15 s",
      SyntheticTrace(dwell: 2_000, scatter: 0.3, outages: (15_000, 800), seed: 102)),
    synthetic(
      "turns", "dwells of 1 s, service in turns of 40 ms, outages of about 0.3 s every 5 s",
      SyntheticTrace(dwell: 1_000, scatter: 0.2, outages: (5_000, 300), turn: 40, seed: 103)),
  ]

  private static func synthetic(
    _ name: String, _ words: String, _ trace: SyntheticTrace
  ) -> LabCase {
    LabCase(
      "held-out \(name)", "0.2–10 Mbit/s in a Markov chain, \(words)",
      LinkSpec(.trace(trace.moments(seconds: 120)), delay: 20, queue: 2_000), seconds: 120,
      [
        .utilisation(), .wait(),
        Measure("wait p50", "ms") { lab, world in
          lab.reader(world).figures(from: lab.begin(world), to: world.endTime).p50
        },
        .drops(), .audioLoss(), .framesSkipped(),
      ])
  }
}
