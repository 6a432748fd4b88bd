import LastMile
import Testing

/// Sentences, to the letter: `LineSentence`.
@Suite struct LineSentenceTests {
  private static func sentence(_ change: (inout RatedLine) -> Void) -> String {
    var line = RatedLine()
    change(&line)
    return line.rating.sentence
  }

  @Test func `a weak uplink is named with its figures`() {
    let sentence = Self.sentence {
      $0.up.rate = 1_100_000
      $0.up.loss = 0.02
      $0.down.isLimitedByTest = true
    }
    #expect(
      sentence
        == "Good for voice and 360p video; the uplink is the weak side: 1.1 Mbit/s, loss 2 %.")
  }

  @Test func `alike directions are said once`() {
    #expect(
      Self.sentence { _ in }
        == "Good for voice and 720p video; both directions alike: 2.5 Mbit/s.")
    let limited = Self.sentence {
      $0.up.isLimitedByTest = true
      $0.down.isLimitedByTest = true
    }
    #expect(
      limited == "Good for voice and 720p video; both directions alike: at least 2.5 Mbit/s.")
  }

  @Test func `a full line that delays is warned of`() {
    let sentence = Self.sentence { $0.up.loadedMs = 840 }
    #expect(sentence.hasSuffix("; a full uplink adds 800 ms of delay."))
  }

  @Test func `somebody else's use of the line is said, whether there is a rate or not`() {
    for rate in [1_100_000, nil] as [Double?] {
      let sentence = Self.sentence {
        $0.down.rate = rate
        $0.down.isShared = true
      }
      #expect(sentence.contains("; somebody else seems to use the line"))
    }
    #expect(!Self.sentence { _ in }.contains("somebody"))
  }

  @Test func `what stands against a use is named`() {
    #expect(
      Self.sentence { $0.down.rate = 200_000 }.hasPrefix(
        "Good for voice, not for video (downlink bandwidth 200 kbit/s); the downlink is"))
    #expect(Self.sentence { $0.up.loss = 0.3 }.hasPrefix("Not fit for a call (uplink loss 30 %)"))
    #expect(
      Self.sentence { $0.up.jitterMs = 120 }.hasPrefix(
        "Voice will work, not always well (uplink jitter 120 ms)"))
  }

  @Test func `nothing measured is explained by what happened`() {
    var sentences: Set<String> = []
    for ending in LineReport.Ending.allCases {
      let report = LineReport(plan: ProbePlan(), ending: ending)
      sentences.insert(
        LineRating(report, listeningBasis: "", listening: RatedLine.listening).sentence)
    }
    #expect(sentences.count == LineReport.Ending.allCases.count)
    #expect(sentences.contains("The other end did not answer within 8 s."))
  }

  @Test func `an interrupted probe says so`() {
    var report = RatedLine().report
    report.ending = .cancelled
    let rating = LineRating(report, listeningBasis: "", listening: RatedLine.listening)
    #expect(rating.sentence.hasSuffix("; interrupted, so this is not the whole of it."))
  }

  @Test(arguments: [
    (64_000.0, "64 kbit/s"), (999_400, "999 kbit/s"), (999_600, "1 Mbit/s"),
    (1_140_000, "1.1 Mbit/s"), (12_000_000, "12 Mbit/s"), (.nan, "-"), (-5, "-"),
  ])
  func `figures are short`(rate: Double, text: String) {
    #expect(Figures.rate(rate) == text)
    #expect(Figures.percent(0.004) == "0.4 %" && Figures.milliseconds(9.96) == "10 ms")
    #expect(Figures.short(-2.5) == "-2.5" && Figures.short(0) == "0")
  }
}
