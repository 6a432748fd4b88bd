import Audio
import Testing

struct QualityMonitorTests {
  @Test func `finds nothing to complain of on a clean line`() throws {
    let stream = try JitterBufferTests.voice(seconds: 12)
    let outcome = try Line(stream).play()
    let quality = outcome.quality
    #expect(outcome.changes.isEmpty && !quality.isBad && quality.changesToBad == 0)
    #expect(try #require(quality.leastScore) > 4.4)
    #expect(try #require(quality.worstFiveSeconds).score > 4.4)
    #expect(quality.frozenSeconds == 0 && quality.activeSeconds > 9)
    let rate = try #require(outcome.statistics.primaryBitsPerSecond)
    let sent = stream.packets.reduce(0) { $0 + $1.count } * 8 / 12
    #expect((sent - 200...sent + 200).contains(rate))
    #expect(outcome.statistics.upperBandFraction == 0)
  }

  @Test func `says when it became bad, why, and where it was worst`() throws {
    let seed: UInt64 = 8
    let stream = try JitterBufferTests.voice(seconds: 20)
    let lost = Chance.losses(fraction: 0.2, seed: seed, count: stream.packets.count)
    let outcome = try Line(stream, isLost: { (350..<550).contains($0) && lost[$0] }).play()
    let quality = outcome.quality
    #expect(outcome.changes.map(\.isBad) == [true, false], "EARSHOT_SEED=\(seed)")
    #expect(outcome.changes.first?.cause == QualityChange.Cause.loss)
    let first = try #require(outcome.changes.first)
    #expect((0.03...0.35).contains(first.lostFraction) && first.concealedFraction > 0.02)
    #expect((28_000...33_000).contains(first.bitsPerSecond))
    let worst = try #require(quality.worstFiveSeconds)
    #expect(worst.score < 2.5 && (5...10).contains(worst.begin), "\(worst)")
    #expect(quality.frozenSeconds > 0.3 && quality.frozenSeconds <= 1.6)
    #expect(quality.frozenSeconds <= Double(outcome.statistics.concealedSamples) / 48_000)
    #expect(try #require(quality.leastScore) < 2.5)
    #expect(try #require(quality.tenthPercentile) < #require(quality.meanScore))
    var split = DelaySplit()
    split.network = 20
    split.jitterBuffer = 15
    let remote = RemoteAudioStatistics(
      outcome.statistics, quality, delay: split, channels: 1, receivedBitrate: 32_000,
      cause: outcome.changes.first?.cause)
    #expect(remote.quality == 1 && remote.qualityChangedReason == nil)
    #expect(remote.e2eDelay.total == 35 && remote.frozenRate > 1.5 && remote.frozenRate < 8)
    #expect(remote.receivedBitrate == 32 && (300...1600).contains(remote.totalFrozenTime))
    #expect(remote.audioLossRate == 0 && (300...450).contains(remote.mosValue))
  }

  /// Goal: a score is that of its window's rate, and not of the whole call's mean.
  @Test(arguments: [8_000, 10_000, 12_000])
  func `hears a low rate late in a call, and its end`(rate: Int) throws {
    let wide = try JitterBufferTests.voice(seconds: 20)
    var settings = JitterBufferTests.settings
    settings.bitsPerSecond = rate
    let narrow = try EncodedStream(TestSignal.voice(seconds: 12), settings: settings)
    var stream = wide
    stream.packets += narrow.packets
    let during = try Line(stream).play().quality
    let spent = narrow.packets.reduce(0) { $0 + $1.count } * 8 / 12
    let expected = MOSEstimate(
      bitsPerSecond: spent, concealedFraction: 0, meanConcealedRun: 0, upperBandFraction: 0)
    let score = try #require(during.lastScore)
    #expect(abs(score - expected.score) < 0.25, "\(score), \(expected.score) at \(spent) bit/s")
    #expect(try #require(during.worstFiveSeconds).begin > 18)
    stream.packets += wide.packets
    let after = try Line(stream).play()
    #expect(try #require(after.quality.lastScore) > 4.4)
    let least = try #require(after.quality.leastScore)
    #expect(after.changes.map(\.isBad) == (least < 3 ? [true, false] : []), "\(least)")
    if let change = after.changes.first {
      #expect(change.cause == .bandwidth && change.bitsPerSecond < 16_000)
    }
  }

  @Test func `tells lateness from loss`() throws {
    let stream = try JitterBufferTests.voice(seconds: 10)
    // Each second all packets of 400 ms come at its end, once more late every time.
    let outcome = try Line(
      stream,
      delay: { number, _ in
        let phase = number % 50
        return number > 250 && phase >= 20 && phase < 40 ? Int64(40 - phase) * 20_000_000 : 0
      }
    ).play()
    #expect(outcome.changes.first?.cause == QualityChange.Cause.jitter)
    #expect(outcome.statistics.delayedPacketOutageSamples > 4800)
    #expect(outcome.statistics.interruptionCount >= 1)
    #expect(outcome.statistics.totalInterruptionSamples >= 7200)
  }
}

struct DelayTruthTests {
  /// Method: a tone burst a second; from when its packet could be sent to when it is heard: the
  /// line's 20 ms, 6.5 ms that the codec looks ahead, and the buffer.
  @Test(arguments: [0, 50] as [Int64])
  func `books the delay that is heard`(jitter: Int64) throws {
    let seed: UInt64 = 12
    // No pause to move the delay in: what is heard at the bursts is what is heard all the time.
    var samples = TestSignal.tone(hertz: 200, amplitude: 1200, seconds: 30)
    let burst = TestSignal.tone(hertz: 400, seconds: 0.2)
    for second in 0..<30 {
      let start = second * 48_000 + 24_000
      samples.replaceSubrange(start..<(start + burst.count), with: burst)
    }
    let stream = try EncodedStream(samples, settings: JitterBufferTests.settings)
    let delays = Chance.exponential(
      percentile95: max(1, jitter * 1_000_000), seed: seed, count: stream.packets.count)
    let outcome = try Line(stream, delay: { number, _ in delays[number] }).play()
    var heard: [Double] = []
    for second in 5..<29 {
      // Pulls begin 3 ms after the first packet was sent.
      let spoken = second * 48_000 + 24_000 - 3 * 48
      let place = outcome.samples[spoken...].firstIndex { abs(Int($0)) > 2000 } ?? spoken
      heard.append(Double(place - spoken) / 48 - 1)
    }
    let truth = heard.sorted()[heard.count / 2]
    let booked = try #require(outcome.statistics.playoutDelays.quantile(0.5)) + 20 + 6.5
    #expect(abs(truth - booked) < 5, "EARSHOT_SEED=\(seed): \(truth) heard, \(booked) booked")
  }
}

struct ClickTests {
  /// Where a signal jumps: by more than eight times what it moves in the 4 ms around, second
  /// differences taken, and by more than 400 of 32 768.
  static func clicks(_ samples: [Int16]) -> [Int] {
    var differences = [Int](repeating: 0, count: max(0, samples.count - 2))
    for index in differences.indices {
      differences[index] = abs(
        Int(samples[index]) - 2 * Int(samples[index + 1]) + Int(samples[index + 2]))
    }
    var found: [Int] = []
    for index in stride(from: 100, to: differences.count - 100, by: 1)
    where differences[index] > 400 {
      var sum = 0
      for offset in 5..<100 { sum += differences[index - offset] + differences[index + offset] }
      if differences[index] * 190 > 8 * sum, index - (found.last ?? -1000) > 240 {
        found.append(index)
      }
    }
    return found
  }

  @Test func `hears the clicks it must`() {
    var tone = TestSignal.tone(hertz: 300, seconds: 2)
    #expect(Self.clicks(tone).isEmpty)
    // A sample missing, a hole of silence (two edges), and a phase that leaps.
    tone.removeSubrange(20_000..<20_040)
    for index in 40_000..<40_100 { tone[index] = 0 }
    tone.replaceSubrange(60_000..<60_080, with: [])
    #expect(Self.clicks(tone).count >= 3)
  }

  @Test(arguments: [0.05, 0.2], [0, 50])
  func `never clicks, whatever the line does`(loss: Double, jitter: Int64) throws {
    let seed: UInt64 = 77
    let tone = try EncodedStream(
      TestSignal.tone(hertz: 300, seconds: 20), settings: JitterBufferTests.settings)
    let count = tone.packets.count
    let lost = Chance.losses(fraction: loss, seed: seed, count: count)
    let delays = Chance.exponential(
      percentile95: max(jitter, 1) * 1_000_000, seed: seed, count: count)
    let outcome = try Line(tone, isLost: { lost[$0] }, delay: { number, _ in delays[number] })
      .play(until: 19_500_000_000)
    let heard = Array(outcome.samples.dropFirst(9600))
    let found = Self.clicks(heard)
    #expect(found.isEmpty, "EARSHOT_SEED=\(seed): at \(found.map { Double($0) / 48_000 })")
    // No digital silence inside the sound.
    var longest = 0
    var run = 0
    for sample in heard {
      run = sample == 0 ? run + 1 : 0
      longest = max(longest, run)
    }
    #expect(longest < 240, "\(longest) samples of nothing")
  }
}
