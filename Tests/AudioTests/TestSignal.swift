import Audio
import Primitives

/// Sounds whose samples a formula gives.
enum TestSignal {
  /// A steady tone.
  static func tone(hertz: Double, amplitude: Double = 8000, seconds: Double) -> [Int16] {
    let step = 2 * Double.pi * hertz / 48_000
    return (0..<Int(seconds * 48_000)).map { Int16(amplitude * sine(step * Double($0))) }
  }

  /// Syllables of a buzzing voice of 110 to 150 Hz, three a second, with a pause after each five.
  static func voice(seconds: Double) -> [Int16] {
    var phase = 0.0
    return (0..<Int(seconds * 48_000)).map { index in
      let time = Double(index) / 48_000
      let pitch = 130 + 20 * sine(2 * .pi * 0.7 * time)
      phase += 2 * .pi * pitch / 48_000
      let syllable =
        abs(sine(2 * .pi * 1.5 * time)) * (time.truncatingRemainder(dividingBy: 2) < 1.5 ? 1 : 0)
      var value = 0.0
      for harmonic in 1...6 { value += sine(Double(harmonic) * phase) / Double(harmonic) }
      return Int16(5000 * syllable * value)
    }
  }

  /// The sine by its series: near enough (1e-7) and the same on every machine.
  static func sine(_ angle: Double) -> Double {
    var x = angle.remainder(dividingBy: 2 * .pi)
    if x > .pi / 2 { x = .pi - x }
    if x < -.pi / 2 { x = -.pi - x }
    let square = x * x
    let inner = 1 - square / 42 * (1 - square / 72 * (1 - square / 110))
    return x * (1 - square / 6 * (1 - square / 20 * inner))
  }
}

/// A recording cut into packets.
struct EncodedStream {
  var packets: [[UInt8]] = []
  let frameLength: FrameLength

  init(
    _ samples: [Int16], settings: OpusEncoder.Settings, announcedLoss: Int = 0
  ) throws {
    var encoder = try OpusEncoder(settings)
    try encoder.setAnnouncedLoss(percent: announcedLoss)
    frameLength = settings.frameLength
    let size = settings.frameLength.sampleCount * settings.channels
    for start in stride(from: 0, through: samples.count - size, by: size) {
      packets.append(try encoder.packet(samples.span.extracting(start..<(start + size))))
    }
  }
}

extension OpusEncoder {
  /// One packet in an array of its own.
  mutating func packet(_ samples: Span<Int16>) throws -> [UInt8] {
    var bytes: [UInt8] = []
    try bytes.append(addingCapacity: 1275) { (output) throws(OpusError) in
      _ = try encode(samples, into: &output)
    }
    return bytes
  }
}
