import LastMile
import Primitives
import Testing

/// Rating functions are total and monotonic: whatever gets worse, no rating gets better.
@Suite struct LineRatingTests {
  @Test(arguments: 0..<2000)
  func `a line that is worse in one thing is rated no better`(seed: UInt64) {
    var random = RandomSource(seed: seed)
    let line = RatedLine.random(&random)
    let worse = line.worsened(&random)
    let (one, other) = (line.rating, worse.rating)
    #expect(one.grade <= other.grade)
    #expect(one.uplinkGrade <= other.uplinkGrade && one.downlinkGrade <= other.downlinkGrade)
    for use in LineUse.allCases { #expect(one.fitness[use] <= other.fitness[use]) }
    if let first = one.speech, let second = other.speech {
      #expect(first.mos >= second.mos - 1e-9)
    }
    if let first = one.recommended, let second = other.recommended {
      #expect(first.audioBitrate >= second.audioBitrate)
      #expect(first.jitterBufferStartMs <= second.jitterBufferStartMs)
      #expect(!first.usesFEC || second.usesFEC)
      #expect((first.videoCeiling ?? 0) >= (second.videoCeiling ?? 0))
    }
  }

  @Test(arguments: 0..<500)
  func `every report has a rating in range`(seed: UInt64) {
    var random = RandomSource(seed: seed)
    let line = RatedLine.random(&random)
    for ending in LineReport.Ending.allCases {
      for state in LineReport.State.allCases {
        var report = line.report
        report.ending = ending
        report.state = state
        if seed % 3 == 1 { report.uplink = nil }
        if seed % 5 == 1 { report.idleRoundTrip = nil }
        let rating = LineRating(report, listeningBasis: "", listening: RatedLine.listening)
        #expect(rating.sentence.hasSuffix("."))
        #expect(rating.fitness.voice <= rating.fitness.video)
        #expect(rating.fitness.video <= rating.fitness.hd)
        #expect((rating.fitness.hd == .yes) == (rating.fitness.limit == nil))
        if let mos = rating.speech?.mos { #expect((1...5).contains(mos)) }
        if let settings = rating.recommended {
          #expect((8_000...48_000).contains(settings.audioBitrate))
          #expect((20...480).contains(settings.jitterBufferStartMs))
          #expect((0...2_500_000).contains(settings.videoCeiling ?? 0))
        }
      }
    }
  }

  @Test func `what was not measured is neither good nor bad`() {
    var line = RatedLine()
    line.up.rate = nil
    let rating = line.rating
    #expect(rating.fitness.voice == .maybe)
    #expect(rating.recommended?.videoCeiling == nil)
    #expect(rating.recommended?.audioBitrate == 24_000)
    let nothing = LineReport(plan: ProbePlan(), ending: .busy)
    let unrated = LineRating(nothing, listeningBasis: "", listening: RatedLine.listening)
    #expect(unrated.grade == .unknown && unrated.recommended == nil && unrated.speech == nil)
    #expect(unrated.fitness.voice == .no)
    for ending in [LineReport.Ending.noAnswer, .noPath] {
      let silent = LineReport(plan: ProbePlan(), ending: ending)
      #expect(
        LineRating(silent, listeningBasis: "", listening: RatedLine.listening).grade == .down)
    }
  }

  @Test func `a test that ends below what a use needs says so`() {
    var line = RatedLine()
    line.up.rate = 100_000
    line.up.isLimitedByTest = true
    #expect(line.rating.fitness.voice == .yes)
    #expect(line.rating.fitness.video == .maybe)
    #expect(line.rating.fitness.limit == "the uplink was tested up to 100 kbit/s only")
  }

  @Test func `only what was asked for is judged`() {
    var line = RatedLine()
    line.down.loss = 0.5
    var report = line.report
    report.plan.probesDownlink = false
    report.downlink = nil
    let rating = LineRating(report, listeningBasis: "", listening: RatedLine.listening)
    #expect(rating.fitness.hd == .yes && rating.downlinkGrade == .unknown)
    #expect(rating.grade == .excellent)
  }
}
