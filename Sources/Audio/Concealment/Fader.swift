/// Joins that do not click.
enum Crossfade {
  /// `from` at the start, `to` at the end: the sample at `index` of `count`.
  static func mix(_ from: Int16, _ to: Int16, _ index: Int, of count: Int) -> Int16 {
    let mixed = (Int(from) * (count - index) + Int(to) * index) / count
    return Int16(clamping: mixed)
  }
}

/// How much of what sounds comes from the decoder; the rest is comfort noise. Moved only in ramps.
struct Fader: Sendable {
  /// In 65 536; 0 is comfort noise alone.
  private(set) var gain = Self.full

  /// Whether nothing of the decoder is heard.
  var isSilent: Bool { gain == 0 }
  var isFull: Bool { gain == Self.full }

  /// Ramps the first `frames` frames of `samples` from the present gain towards `target`.
  @_lifetime(samples: copy samples)
  mutating func apply(
    to samples: inout MutableSpan<Int16>, frames: Int, channels: Int, towards target: Int,
    noise: inout ComfortNoise
  ) {
    let change = target > gain ? Self.rise : Self.fall
    for frame in 0..<frames {
      if gain == target, gain == Self.full { return }
      gain = gain < target ? min(target, gain + change) : max(target, gain - change)
      // Sounds that have nothing to do with each other add by power: 1 - g² is near enough to
      // the square root of it, and spares that.
      let rest = Self.full - gain * gain >> 16
      noise.advance()
      for channel in 0..<channels {
        let index = frame * channels + channel
        let mixed = Int(samples[index]) * gain + Int(noise.value(channel: channel)) * rest
        samples[index] = Int16(clamping: mixed >> 16)
      }
    }
  }

  static let full = 1 << 16
  /// From noise to full in 5 ms, and back in 40 ms.
  private static let rise = full / 240 + 1
  private static let fall = full / 1920 + 1
}
