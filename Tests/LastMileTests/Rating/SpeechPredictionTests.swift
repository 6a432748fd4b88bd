import Testing

@testable import LastMile

@Suite struct SpeechPredictionTests {
  @Test func `the delay term is that of the E-model`() {
    // ITU-T G.107: R = 93.2 gives 4.41; Cole and Rosenbluth: 177.3 ms cost 4.26 of R.
    #expect(abs(SpeechPrediction.score(93.2) - 4.409) < 0.001)
    #expect(SpeechPrediction.harm(ofDelayMs: 0) == 0)
    let knee = SpeechPrediction.score(93.2) - SpeechPrediction.score(93.2 - 4.2552)
    #expect(abs(SpeechPrediction.harm(ofDelayMs: 177.3) - knee) < 1e-9)
    #expect(SpeechPrediction.harm(ofDelayMs: 1e9) <= 3.41)
  }

  @Test func `the score never falls as the rating rises`() {
    var last = 0.0
    for step in -200...1200 {
      let score = SpeechPrediction.score(Double(step) / 10)
      #expect(score >= last && (1...4.51).contains(score))
      last = score
    }
  }

  @Test func `what repair leaves grows with loss and with runs, and copies lessen it`() {
    for burst in [1.0, 2, 6] {
      for copies in 0...3 {
        var last = -1.0
        for step in 0...1000 {
          let loss = Double(step) / 1000
          let left = ResidualLoss(of: loss, meanBurst: burst, copies: copies).share
          #expect(left >= last && left <= loss, "\(loss), \(burst), \(copies)")
          let worse = ResidualLoss(of: loss, meanBurst: burst + 1, copies: copies).share
          #expect(left <= worse + 1e-12)
          if copies > 0 {
            #expect(left <= ResidualLoss(of: loss, meanBurst: burst, copies: copies - 1).share)
          }
          last = left
        }
      }
    }
  }

  /// Share of the sound that was made up in calls: Benchmarks/audio/adaptive.md.
  @Test(
    arguments: [
      (0.02, 1.0, 0.0008), (0.05, 1, 0.0009), (0.1, 1, 0.0017), (0.2, 1, 0.004), (0.3, 1, 0.01),
      (0.1, 3, 0.0095), (0.2, 3, 0.0216), (0.1, 6, 0.035),
    ] as [(Double, Double, Double)])
  func `what is left is near what calls had on lines of known loss`(
    loss: Double, burst: Double, had: Double
  ) {
    let left = ResidualLoss(of: loss, meanBurst: burst, copies: 3).share
    #expect(left > had / 4 && left < had * 1.5, "\(left) predicted, \(had) had")
  }

  @Test func `a line with room for copies sounds well in spite of its loss, a full one does not`() {
    func mos(loss: Double, rate: Double) -> SpeechPrediction? {
      var line = RatedLine()
      line.up.loss = loss
      line.up.rate = rate
      return line.rating.speech
    }
    let clean = mos(loss: 0, rate: 2_500_000)?.mos ?? 0
    #expect((mos(loss: 0.1, rate: 2_500_000)?.mos ?? 0) > clean - 0.3)
    #expect((mos(loss: 0.2, rate: 2_500_000)?.mos ?? 0) > clean - 0.5)
    #expect((mos(loss: 0.2, rate: 40_000)?.mos ?? 5) < clean - 1)
    #expect((mos(loss: 0.1, rate: 2_500_000)?.uplinkResidualLoss ?? 1) < 0.005)
    #expect((mos(loss: 0.1, rate: 30_000)?.uplinkResidualLoss ?? 0) > 0.09, "no room")
  }

  @Test func `what a narrow line makes up at its begin falls with its rate, and soon to nothing`() {
    var last = 1.0
    for rate in [1.0, 8_000, 30_000, 40_000, 60_000, 100_000, 1_000_000] {
      let share = SpeechPrediction.concealedAtBegin(rate: rate)
      #expect(share <= last && share <= 0.05 && share > 0)
      last = share
    }
    #expect(SpeechPrediction.concealedAtBegin(rate: 40_000) == 0.01 && last < 0.0001)
    var line = RatedLine()
    line.up.rate = 40_000
    let narrow = line.rating.speech
    line.up.rate = 100_000
    #expect((narrow?.mos ?? 5) < (line.rating.speech?.mos ?? 0))
  }

  @Test func `delay is in the conversation's score alone, and the basis names it`() {
    var line = RatedLine()
    line.roundTripMs = 400
    let (near, far) = (RatedLine().rating.speech, line.rating.speech)
    #expect(near?.mos == far?.mos)
    #expect((far?.conversationMos ?? 5) < (near?.conversationMos ?? 0) - 0.2)
    #expect(near?.basis.contains("for 90 ms from mouth to ear") == true)
  }
}
