import Earshot
import Glibc

/// Something that an encoder has to work for like speech: a voice whose pitch wanders, in syllables
/// with pauses, with two formants and some breath. Made before the call, so that it costs nothing
/// in it; ten seconds, again and again.
final class Speech: AudioSource, @unchecked Sendable {
  // Sendable: the media thread alone reads and moves `position` and `ticks`.
  let channelCount = 1
  private let samples: [Int16]
  private var position = 0
  private let watch: TickWatch

  init(watch: TickWatch) {
    samples = Self.make(seconds: 10)
    self.watch = watch
  }

  func read(into output: inout [Int16], frameCount: Int) -> Int {
    for index in 0..<frameCount {
      output[index] = samples[position]
      position += 1
      if position == samples.count { position = 0 }
    }
    watch.tick()
    return frameCount
  }

  /// For other programs, to say the same.
  func writeToStandardOutput() {
    unsafe samples.withUnsafeBytes { bytes in
      var rest = unsafe bytes[...]
      while unsafe !rest.isEmpty {
        let part = unsafe UnsafeRawBufferPointer(rebasing: rest)
        let count = unsafe write(STDOUT_FILENO, part.baseAddress, part.count)
        guard count > 0 else { return }
        unsafe rest = rest.dropFirst(count)
      }
    }
  }

  private static func make(seconds: Int) -> [Int16] {
    var random: UInt64 = 0x9E37_79B9_7F4A_7C15
    func noise() -> Double {
      random ^= random << 13
      random ^= random >> 7
      random ^= random << 17
      return Double(Int64(bitPattern: random)) / 0x1p63
    }
    let rate = 48_000.0
    var low = Resonator(frequency: 600, bandwidth: 90, rate: rate)
    var high = Resonator(frequency: 1700, bandwidth: 120, rate: rate)
    var phase = 0.0
    return (0..<(48_000 * seconds)).map { index in
      let time = Double(index) / rate
      phase += (120 + 25 * sin(2 * .pi * 0.7 * time) + 6 * sin(2 * .pi * 5 * time)) / rate
      var pulse = 0.0
      if phase >= 1 {
        phase -= 1
        pulse = 1
      }
      // Four syllables a second, and a pause of 0.4 s in every 2.
      let syllable = max(0, sin(2 * .pi * 4 * time + 3 * sin(2 * .pi * 0.3 * time)))
      let loudness = time.truncatingRemainder(dividingBy: 2) < 1.6 ? syllable : 0
      if index.isMultiple(of: 12_000) {
        low.retune(frequency: 450 + 250 * abs(noise()), rate: rate)
        high.retune(frequency: 1100 + 1200 * abs(noise()), rate: rate)
      }
      let excitation = pulse + 0.03 * noise()
      let voice = low.filter(excitation) + 0.6 * high.filter(excitation)
      return Int16(max(-20_000, min(20_000, 60_000 * loudness * voice + 12 * noise())))
    }
  }
}

/// A two-pole filter that rings at one frequency.
private struct Resonator {
  private var first = 0.0
  private var second = 0.0
  private var last = (0.0, 0.0)
  private let decay: Double

  init(frequency: Double, bandwidth: Double, rate: Double) {
    decay = exp(-.pi * bandwidth / rate)
    retune(frequency: frequency, rate: rate)
  }

  mutating func retune(frequency: Double, rate: Double) {
    first = 2 * decay * cos(2 * .pi * frequency / rate)
    second = -decay * decay
  }

  mutating func filter(_ input: Double) -> Double {
    let output = (1 - decay) * input + first * last.0 + second * last.1
    last = (output, last.0)
    return output
  }
}

/// Counts what is heard, and nothing else: files are not what is measured.
final class Listener: AudioSink, @unchecked Sendable {
  // Sendable: the media thread alone writes; read when the call is over.
  let channelCount = 1
  private(set) var energy = 0.0
  private(set) var sampleCount = 0

  func write(_ samples: borrowing [Int16], frameCount: Int) {
    var sum: Int64 = 0
    for index in 0..<frameCount { sum += Int64(samples[index]) * Int64(samples[index]) }
    energy += Double(sum)
    sampleCount += frameCount
  }

  func finish() {}

  /// Root mean square of all that was heard.
  var loudness: Double { sampleCount == 0 ? 0 : (energy / Double(sampleCount)).squareRoot() }
}
