/// Cellular lines made up beside the recorded traces. Constants were chosen with their figures in
/// sight, so they are held out no longer; `LabCase+Fresh` has lines that are.
extension LabCase {
  package static let synthetic: [LabCase] = [
    line("walk", "dwells of 0.5 s", SyntheticTrace(dwell: 500, scatter: 0.2, seed: 101)),
    line(
      "drive", "dwells of 2 s, outages of about 0.8 s every 15 s",
      SyntheticTrace(dwell: 2_000, scatter: 0.3, outages: (15_000, 800), seed: 102)),
    line(
      "turns", "dwells of 1 s, service in turns of 40 ms, outages of about 0.3 s every 5 s",
      SyntheticTrace(dwell: 1_000, scatter: 0.2, outages: (5_000, 300), turn: 40, seed: 103)),
  ]

  private static func line(
    _ name: String, _ words: String, _ trace: SyntheticTrace
  ) -> LabCase {
    LabCase(
      "synthetic \(name)", "0.2–10 Mbit/s in a Markov chain, \(words)",
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
