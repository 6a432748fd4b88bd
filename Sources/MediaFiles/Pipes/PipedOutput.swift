/// Raw sound for a pipe: to a loudspeaker that takes it at the pace of a clock of its own, or to a
/// file that takes it at once. A machine without a thread, clock or descriptor.
///
/// A reader that takes everything at once gets every sample unchanged. Of one that leaves some in
/// the pipe, the pipe's level tells how its clock goes, and it gets a little more or less.
package struct PipedOutput: ~Copyable {
  /// The bytes to write now are the first `byteCount` of these.
  package private(set) var bytes: [UInt8]
  package private(set) var byteCount = 0
  /// Samples a channel that were thrown away because nobody took them.
  package private(set) var droppedCount = 0

  private let channels: Int
  private var servo = DriftServo(target: 0.005)
  private var resampler: Resampler
  private var isResampling = false
  private var input: [Float]
  private var output: [Float]
  private var inputCount = 0
  private var writeCount = 0
  private var heldCount = 0
  private var isPaced = false
  /// Samples a channel that are still to be thrown away.
  private var excess = 0

  /// `nil` for a number of channels that cannot be resampled.
  package init?(channels: Int) {
    guard let resampler = Resampler(rate: 48_000, channels: channels) else { return nil }
    self.channels = channels
    self.resampler = resampler
    input = Array(repeating: 0, count: 2 * Self.mostFrames * channels)
    output = Array(repeating: 0, count: 2 * Self.mostFrames * channels)
    bytes = Array(repeating: 0, count: 2 * Self.mostFrames * channels * 2)
  }

  /// Makes `bytes` of the first `frameCount` frames, at most 10 ms, of `samples`.
  ///
  /// - Parameter heldBytes: What the pipe holds that nobody has read yet.
  package mutating func handle(
    _ samples: Span<Int16>, frameCount: Int, heldBytes: Int
  ) {
    let frameCount = min(frameCount, Self.mostFrames, samples.count / channels)
    let held = Double(heldBytes / (2 * channels)) / 48_000
    watch(held, frameCount)
    byteCount = 0
    if held > Self.mostHeld || excess > 0 {
      excess = max(0, excess - frameCount)
      droppedCount += frameCount
      return
    }
    let correction = isPaced ? servo.correction : 0
    if correction != 0 { isResampling = true }
    guard isResampling else {
      for index in 0..<(frameCount * channels) { append(samples[index]) }
      return
    }
    resampler.setRatio(1 - correction)
    for index in 0..<(frameCount * channels) {
      input[inputCount * channels + index] = Float(samples[index]) / 32_768
    }
    inputCount += frameCount
    convert()
  }

  private mutating func convert() {
    guard
      let progress = resampler.process(
        input, 0..<inputCount, isLast: false, into: &output)
    else { return }
    for index in 0..<(progress.given * channels) {
      append(AudioFileReader.sixteenBits(output[index]))
    }
    for index in 0..<((inputCount - progress.taken) * channels) {
      input[index] = input[index + progress.taken * channels]
    }
    // What is not taken is less than the filter's length; never let it grow.
    inputCount = min(inputCount - progress.taken, Self.mostFrames)
  }

  private mutating func append(_ sample: Int16) {
    bytes[byteCount] = UInt8(truncatingIfNeeded: sample)
    bytes[byteCount + 1] = UInt8(truncatingIfNeeded: sample >> 8)
    byteCount += 2
  }

  private mutating func watch(_ held: Double, _ frameCount: Int) {
    writeCount += 1
    if held > 0 { heldCount += 1 }
    guard servo.handle(level: held, elapsed: Double(frameCount) / 48_000) else { return }
    isPaced = heldCount * 5 >= writeCount
    writeCount = 0
    heldCount = 0
    guard let least = servo.leastLevel, least > servo.target + Self.excessHeld else { return }
    excess = Int((least - servo.target) * 48_000)
    servo.restart()
  }

  /// 10 ms at 48 kHz.
  private static let mostFrames = 480
  /// Seconds in the pipe after which nobody seems to listen.
  private static let mostHeld = 0.25
  /// Seconds above the target that are not waited for.
  private static let excessHeld = 0.04
}
