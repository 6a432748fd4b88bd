/// Joins that do not click.
enum Crossfade {
  /// `from` at the start, `to` at the end: the sample at `index` of `count`.
  static func mix(_ from: Int16, _ to: Int16, _ index: Int, of count: Int) -> Int16 {
    let mixed = (Int(from) * (count - index) + Int(to) * index) / count
    return Int16(clamping: mixed)
  }

  /// `sample` at a gain of `numerator` in 65 536.
  static func scale(_ sample: Int16, _ numerator: Int) -> Int16 {
    Int16(clamping: Int(sample) * numerator >> 16)
  }
}

/// The loudness of what sounds, moved only in ramps: full, fading while loss lasts, and back.
struct Fader: Sendable {
  /// In 65 536; 0 is silence.
  private(set) var gain = Self.full

  var isSilent: Bool { gain == 0 }
  var isFull: Bool { gain == Self.full }

  /// Ramps the first `frames` frames of `samples` from the present gain towards `target`.
  @_lifetime(samples: copy samples)
  mutating func apply(
    to samples: inout MutableSpan<Int16>, frames: Int, channels: Int, towards target: Int
  ) {
    let change = target > gain ? Self.rise : Self.fall
    for frame in 0..<frames {
      if gain == target, gain == Self.full { return }
      gain = gain < target ? min(target, gain + change) : max(target, gain - change)
      for channel in 0..<channels {
        let index = frame * channels + channel
        samples[index] = Crossfade.scale(samples[index], gain)
      }
    }
  }

  static let full = 1 << 16
  /// From silence to full in 5 ms, and back in 40 ms.
  private static let rise = full / 240 + 1
  private static let fall = full / 1920 + 1
}
