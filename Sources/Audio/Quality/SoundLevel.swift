/// How loud a sound is: `audioLevel` and `totalAudioEnergy` of webrtc-stats.
package struct SoundLevel: Equatable, Sendable {
  /// Root mean square of what was noted last, 0...1.
  package private(set) var level = 0.0
  /// Sum of squared levels times seconds.
  package private(set) var energy = 0.0
  /// Seconds of sound noted.
  package private(set) var seconds = 0.0

  package init() {}

  /// - Parameters:
  ///   - samples: interleaved; the first `frameCount` of each channel count.
  ///   - channels: 1 or 2.
  package mutating func addSamples(_ samples: Span<Int16>, frameCount: Int, channels: Int) {
    let count = min(max(0, frameCount * channels), samples.count)
    guard count > 0 else { return }
    var sum: Int64 = 0
    for index in 0..<count {
      let sample = Int64(samples[index])
      sum &+= sample &* sample
    }
    let square = Double(sum) / Double(count) / (32_768 * 32_768)
    level = square.squareRoot()
    let length = Double(frameCount) / 48_000
    energy += square * length
    seconds += length
  }
}
