internal import Glibc

/// How good a call's speech probably sounds, on the scale of PESQ-WB (ITU-T P.862.2), from what a
/// receiver can count.
///
/// Our own fit, between two sets of scores: 282 runs of three voices over lines with random and
/// bursty loss, jitter and freezes (`tools/mos-check --fit`), and 2 436 older recordings of six
/// voices with loss alone. On lines and voices that neither has, the mean error is 0.1
/// (Benchmarks/audio/truth.md). It says nothing about delay, music, or noise that was recorded
/// along with the speech.
package struct MOSEstimate: Equatable, Sendable {
  /// 1...4.6.
  package let score: Double

  /// What the figure rests on, for the report.
  package static let basis =
    "listening quality, PESQ-WB scale, fit to share and run length of concealed 20 ms frames "
    + "(Opus, speech, mean error 0.1)"

  /// - Parameters:
  ///   - bitsPerSecond: of the audio alone.
  ///   - concealedFraction: share of the samples that had to be made up, 0...1. A frame restored
  ///     from a low-rate copy counts as a fraction: see `restoredFrameWeight`.
  ///   - meanConcealedRun: mean length of a concealment, in frames of 20 ms.
  ///   - lowRateFraction: share of the samples that came from low-rate copies, 0...1.
  ///   - upperBandFraction: share of the frames that are coded beyond 8 kHz, 0...1: the others have
  ///     all their bits below.
  package init(
    bitsPerSecond: Int, concealedFraction: Double, meanConcealedRun: Double,
    lowRateFraction: Double = 0, upperBandFraction: Double = 1
  ) {
    let part = min(max(upperBandFraction, 0), 1)
    let clean =
      part * Self.score(atRate: bitsPerSecond, of: Self.fullBand)
      + (1 - part) * Self.score(atRate: bitsPerSecond, of: Self.wideBand)
    let share = min(max(concealedFraction + Self.lowRateWeight * lowRateFraction, 0), 1)
    let run = max(meanConcealedRun, 1)
    score = 1 + (clean - 1) * exp(-10.4 * pow(share, 0.905) * pow(run, -0.06))
  }

  /// A frame restored by in-band forward error correction harms this share of what a concealed
  /// one does (0.2 at 24 kbit/s, 0.1 at 32 kbit/s).
  package static func restoredFrameWeight(bitsPerSecond: Int) -> Double {
    bitsPerSecond >= 28_000 ? 0.1 : 0.2
  }

  /// A frame from a copy at 12 kbit/s harms this share of what a concealed one does.
  /// What is put in or taken out to change the delay was found to do no harm beside it: it goes
  /// where nobody hears it.
  private static let lowRateWeight = 0.05

  /// The score without loss, between the measured rates linearly.
  private static func score(
    atRate bitsPerSecond: Int, of measured: [(rate: Double, score: Double)]
  ) -> Double {
    let rate = Double(bitsPerSecond)
    guard let first = measured.first, let last = measured.last, rate > first.rate else {
      return measured.first?.score ?? 1
    }
    for (low, high) in zip(measured, measured.dropFirst()) where rate <= high.rate {
      let part = (rate - low.rate) / (high.rate - low.rate)
      return low.score + part * (high.score - low.score)
    }
    return last.score
  }

  private static let fullBand: [(rate: Double, score: Double)] = [
    (8_000, 2.67), (12_000, 3.84), (16_000, 4.02), (24_000, 4.34), (32_000, 4.43), (48_000, 4.53),
  ]
  /// `tools/listen --line clean --bitrate N`.
  private static let wideBand: [(rate: Double, score: Double)] = [
    (8_000, 2.53), (10_000, 3.10), (12_000, 3.62), (14_000, 3.94), (16_000, 4.15), (20_000, 4.36),
    (24_000, 4.43), (28_000, 4.49), (32_000, 4.52), (40_000, 4.56),
  ]
}
