/// Whether speech has anything above 8 kHz that can be heard, so that the encoder spends nothing on
/// a band in which there is nothing: much of what is spoken came through something that samples at
/// 16 kHz (docs/decisions/0021).
///
/// It listens through a high pass at 9 kHz, in steps of 10 ms, and compares with the loudest step
/// of late. A voice that has the upper band is above `audible` at each s and f, several times a
/// second; what resamplers and dither leave of a narrower one stays below it.
package struct UpperBandDetector: Sendable, BitwiseCopyable {
  /// Whether there was something above 8 kHz of late; not before half a second of sound was heard.
  package private(set) var isPresent = false

  /// Mean square of the loudest step, relative to full scale; forgets 0.9 dB a second.
  private var loudest: Float = 0
  /// Steps of sound heard so far, up to `trial`.
  private var heard = 0
  /// Steps of speech since the upper band was last heard.
  private var without = 0
  /// The filter: one biquad a lane, each fed with what the lane before it gave one sample earlier.
  private var first = SIMD4<Float>.zero
  private var second = SIMD4<Float>.zero
  private var output = SIMD4<Float>.zero

  package init() {}

  /// Takes the next frame.
  ///
  /// - Parameter samples: mono, whole steps of 10 ms; what is left over is not heard.
  /// - Returns: `isPresent`.
  package mutating func addFrame(_ samples: Span<Int16>) -> Bool {
    var start = 0
    while start + AudioFormat.stepSampleCount <= samples.count {
      add(step: samples.extracting(start..<start + AudioFormat.stepSampleCount))
      start += AudioFormat.stepSampleCount
    }
    return isPresent
  }

  private mutating func add(step samples: Span<Int16>) {
    let (whole, upper) = meanSquares(samples)
    loudest = max(whole, loudest * Self.forgetting)
    guard whole > Self.silence else { return }
    guard heard >= Self.trial else {
      heard += 1
      return
    }
    if upper > loudest * Self.audible {
      isPresent = true
      without = 0
    } else if whole > loudest * Self.speech {
      without += 1
      if without >= Self.patience { isPresent = false }
    }
  }

  /// Of a step as it is, and of what the high pass leaves of it.
  private mutating func meanSquares(_ samples: Span<Int16>) -> (whole: Float, upper: Float) {
    var whole: Float = 0
    var upper: Float = 0
    for index in samples.indices {
      let sample = Float(samples[index]) / 32_768
      let input = SIMD4(sample, output[0], output[1], output[2])
      output = Self.b0 * input + first
      first = Self.b1 * input - Self.a1 * output + second
      second = Self.b2 * input - Self.a2 * output
      whole += sample * sample
      upper += output[3] * output[3]
    }
    if whole == 0 {
      // Digital silence: the filter would go on with numbers too small to be fast.
      (first, second, output) = (.zero, .zero, .zero)
    }
    return (whole / Float(samples.count), upper / Float(samples.count))
  }

  /// 0.998 in 10 ms.
  private static let forgetting: Float = 0.998
  /// -65 dBFS.
  private static let silence: Float = 3.2e-7
  /// -42 dB. Five voices that were sampled at 16 kHz have at most -48 dB there in any step; seven
  /// that have the band are above -31 dB in every hundredth step (`tools/quality/upper-band.py`).
  private static let audible: Float = 6.3e-5
  /// -30 dB.
  private static let speech: Float = 1e-3
  /// Half a second.
  private static let trial = 50
  /// Three seconds of speech.
  private static let patience = 300

  // An elliptic high pass of order 8: 9 kHz, 0.5 dB of ripple, 62 dB of attenuation below 8.1 kHz
  // (`scipy.signal.ellip(8, 0.5, 62, 9000, "high", fs=48000, output="sos")`).
  private static let b0 = SIMD4<Float>(0.062_086_14, 1, 1, 1)
  private static let b1 = SIMD4<Float>(-0.118_146_7, -1.435_947, -1.112_427, -0.988_505_1)
  private static let b2 = SIMD4<Float>(0.062_086_14, 1, 1, 1)
  private static let a1 = SIMD4<Float>(0.537_600_6, -0.179_163_9, -0.600_966_3, -0.757_624_6)
  private static let a2 = SIMD4<Float>(0.218_802_9, 0.618_574_9, 0.859_213_8, 0.965_186_2)
}
