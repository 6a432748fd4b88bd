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

  @Test func `what the ear must do without grows with loss, with and without coarse copies`() {
    for bitrate in [12_000, 32_000] {
      var last = -1.0
      for step in 0...1000 {
        let speech = SpeechPrediction.speech(Double(step) / 1000, 2, bitrate)
        #expect(speech.concealedFraction > last && speech.concealedFraction <= 1)
        last = speech.concealedFraction
      }
    }
    let helped = SpeechPrediction.speech(0.1, 1, 32_000).concealedFraction
    #expect(helped < SpeechPrediction.speech(0.1, 1, 12_000).concealedFraction / 3)
  }

  @Test func `the basis names the delay`() {
    let speech = RatedLine().rating.speech
    #expect(
      speech?.basis == "made up; less the delay term of ITU-T G.107 for 90 ms from mouth to ear")
  }
}
