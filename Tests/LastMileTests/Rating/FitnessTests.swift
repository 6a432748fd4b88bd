import LastMile
import Testing

@Suite struct FitnessTests {
  /// The three verdicts come in order and each once, whatever figure is walked.
  @Test(arguments: LineUse.allCases, 0..<4)
  func `bands have no gaps and follow one another`(use: LineUse, figure: Int) {
    var verdicts: [Fitness.Verdict] = []
    for step in 0...2000 {
      let part = Double(step) / 2000
      var line = RatedLine()
      switch figure {
      case 0: line.roundTripMs = 1000 * part
      case 1: line.up.loss = part / 2
      case 2: line.down.jitterMs = 300 * part
      default: line.down.rate = 2_000_000 * (1 - part)
      }
      let verdict = line.rating.fitness[use]
      if verdict != verdicts.last { verdicts.append(verdict) }
    }
    #expect(verdicts == [.yes, .maybe, .no])
  }

  @Test(arguments: [
    (2_500_000.0, 0.0, Fitness.Verdict.yes, Fitness.Verdict.yes, Fitness.Verdict.yes),
    (1_100_000, 0.02, .yes, .yes, .maybe),
    (300_000, 0.0, .yes, .maybe, .no),
    (50_000, 0.0, .maybe, .no, .no),
    (2_500_000, 0.2, .no, .no, .no),
  ])
  func `lines as people have them`(
    rate: Double, loss: Double, voice: Fitness.Verdict, video: Fitness.Verdict, hd: Fitness.Verdict
  ) {
    var line = RatedLine()
    line.up.rate = rate
    line.up.loss = loss
    let fitness = line.rating.fitness
    #expect(fitness.voice == voice && fitness.video == video && fitness.hd == hd)
  }

  @Test func `the limit names the figure that stands most against the least use`() {
    var line = RatedLine()
    line.up.loss = 0.2
    line.down.rate = 400_000
    #expect(line.rating.fitness.limit == "uplink loss 20 %")
    line.up.loss = 0
    #expect(line.rating.fitness.limit == "downlink bandwidth 400 kbit/s")
    line.roundTripMs = 2000
    #expect(line.rating.fitness.limit == "round trip 2000 ms")
  }
}
