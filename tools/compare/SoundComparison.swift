/// How much of one sound is in another, and how much later.
///
/// A call delays what it carries, stretches it a little where the line makes it, and codes it. So
/// the two are compared 200 ms at a time, each piece at the lag that suits it best near the lag of
/// the whole.
package struct SoundComparison {
  /// How much later the whole is heard than played, in samples at 48 kHz; negative: earlier.
  package let lag: Int
  /// Of the pieces that were compared: the least and the greatest lag.
  package let lagRange: ClosedRange<Int>
  /// Normalised cross-correlation over all that was played, weighted by energy: 1 is the same, 0 is
  /// nothing in common. What is missing in `heard` counts as 0.
  package let correlation: Double
  /// How many pieces of 200 ms had sound and were compared.
  package let pieceCount: Int

  /// - Parameters:
  ///   - played: 48 kHz, mono.
  ///   - heard: 48 kHz, mono.
  /// `nil` when one of the two is silent.
  package init?(played: [Float], heard: [Float]) {
    guard let coarse = Self.envelopeLag(played, heard) else { return nil }
    let beginning = 0..<min(played.count, 5 * Self.second)
    let lag = Self.bestLag(played, beginning, heard, around: coarse, within: Self.block, step: 1)
      .lag
    var weighted = 0.0
    var energies = 0.0
    var lags: [Int] = []
    let mean = Self.energy(played, 0..<played.count) / Double(max(1, played.count))
    for start in stride(from: 0, to: played.count, by: Self.piece) {
      let range = start..<min(start + Self.piece, played.count)
      let energy = Self.energy(played, range)
      // A quiet piece has nothing to compare: 40 dB below the mean.
      guard energy > mean * Double(range.count) / 10_000 else { continue }
      let rough = Self.bestLag(played, range, heard, around: lag, within: Self.drift, step: 4)
      let best = Self.bestLag(played, range, heard, around: rough.lag, within: 3, step: 1)
      weighted += energy * max(0, best.correlation)
      energies += energy
      lags.append(best.lag)
    }
    guard energies > 0, let least = lags.min(), let most = lags.max() else { return nil }
    self.lag = lag
    lagRange = least...most
    correlation = weighted / energies
    pieceCount = lags.count
  }

  private static let second = 48_000
  /// 200 ms.
  private static let piece = 9600
  /// 10 ms: the grid of the first search.
  private static let block = 480
  /// 60 ms: as far as a jitter buffer may stretch away from the lag of the beginning.
  private static let drift = 2880

  /// The lag that suits the loudness of 10 ms blocks best, in samples.
  private static func envelopeLag(_ played: [Float], _ heard: [Float]) -> Int? {
    let first = envelope(played)
    let second = envelope(heard)
    guard first.contains(where: { $0 > 0 }), second.contains(where: { $0 > 0 }) else { return nil }
    let best = bestLag(
      first, 0..<first.count, second, around: 0, within: max(first.count, second.count), step: 1)
    return best.lag * block
  }

  private static func envelope(_ samples: [Float]) -> [Float] {
    stride(from: 0, to: samples.count, by: block).map { start in
      Float(energy(samples, start..<min(start + block, samples.count)).squareRoot())
    }
  }

  private static func energy(_ samples: [Float], _ range: Range<Int>) -> Double {
    range.reduce(0) { $0 + Double(samples[$1]) * Double(samples[$1]) }
  }

  /// The lag within reach at which `range` of `played` is most like `heard`.
  private static func bestLag(
    _ played: [Float], _ range: Range<Int>, _ heard: [Float], around center: Int,
    within reach: Int, step: Int
  ) -> (lag: Int, correlation: Double) {
    var best = (lag: center, correlation: -1.0)
    let energy = energy(played, range)
    for lag in stride(from: center - reach, through: center + reach, by: step) {
      let correlation = correlation(played, range, energy, heard, lag)
      if correlation > best.correlation { best = (lag, correlation) }
    }
    return best
  }

  /// Normalised with the energy of all of `range`, so that what `heard` lacks is missing.
  private static func correlation(
    _ played: [Float], _ range: Range<Int>, _ energy: Double, _ heard: [Float], _ lag: Int
  ) -> Double {
    let start = max(range.lowerBound, -lag)
    let end = min(range.upperBound, heard.count - lag)
    guard start < end, energy > 0 else { return 0 }
    var product: Float = 0
    var power: Float = 0
    let first = played.span
    let second = heard.span
    for index in start..<end {
      let other = second[index + lag]
      product += first[index] * other
      power += other * other
    }
    return power > 0 ? Double(product) / (energy * Double(power)).squareRoot() : 0
  }
}
