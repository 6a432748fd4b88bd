/// The pitch of a voice by autocorrelation, over 40 ms at 8 kHz. Allocates nothing after `init`.
struct PitchMeter {
  private var samples: [Float]
  /// In hertz; 0 where there is no voice.
  private(set) var pitch = 0.0

  init() { samples = Array(repeating: 0, count: Self.window) }

  /// - Parameters:
  ///   - input: 48 kHz, interleaved.
  ///   - frameCount: samples of each channel.
  ///   - channels: 1 or 2; the first is looked at.
  mutating func handle(_ input: Span<Int16>, frameCount: Int, channels: Int) {
    let fresh = min(frameCount / Self.decimation, Self.window)
    guard fresh > 0, input.count >= frameCount * channels else { return }
    for index in 0..<(Self.window - fresh) { samples[index] = samples[index + fresh] }
    for index in 0..<fresh {
      var sum: Float = 0
      for part in 0..<Self.decimation {
        sum += Float(input[(index * Self.decimation + part) * channels])
      }
      samples[Self.window - fresh + index] = sum / Float(Self.decimation)
    }
    pitch = find()
  }

  private func find() -> Double {
    let whole = energy(from: 0)
    guard whole > Self.leastEnergy else { return 0 }
    var best = (lag: 0, value: Float(0))
    for lag in Self.lags {
      let value = correlation(lag)
      // Twice the period correlates as well: the shortest that does is the pitch.
      if value > best.value * 1.05 { best = (lag, value) }
    }
    guard best.value >= Self.leastCorrelation else { return 0 }
    return Self.rate / peak(best.lag)
  }

  /// Normalised, -1...1.
  private func correlation(_ lag: Int) -> Float {
    var sum: Float = 0
    for index in lag..<Self.window { sum += samples[index] * samples[index - lag] }
    let scale = (energy(from: lag) * energy(from: 0, before: Self.window - lag)).squareRoot()
    return scale > 0 ? sum / scale : 0
  }

  private func energy(from start: Int, before end: Int = window) -> Float {
    var sum: Float = 0
    for index in start..<end { sum += samples[index] * samples[index] }
    return sum
  }

  /// Between two lags: the top of the parabola through three.
  private func peak(_ lag: Int) -> Double {
    guard lag > Self.lags.lowerBound, lag < Self.lags.upperBound else { return Double(lag) }
    let (left, middle, right) = (correlation(lag - 1), correlation(lag), correlation(lag + 1))
    let bend = left - 2 * middle + right
    guard bend < 0 else { return Double(lag) }
    return Double(lag) + Double((left - right) / (2 * bend))
  }

  private static let decimation = 6
  private static let rate = 8000.0
  private static let window = 320
  /// 500 down to 60 Hz.
  private static let lags = 16...133
  private static let leastCorrelation: Float = 0.6
  /// About -50 dB.
  private static let leastEnergy: Float = 320 * 100 * 100
}
