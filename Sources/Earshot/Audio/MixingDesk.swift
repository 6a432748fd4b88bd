internal import Primitives
internal import Reactor

/// Starts music in the own audio of a call or a channel; checks what is asked for.
struct MixingDesk {
  private var lastStart: Instant?

  /// Music in place of what plays. Two starts within half a second are a mistake.
  ///
  /// - Parameter options: checked.
  mutating func start(
    _ clip: AudioClip, _ options: AudioMixingOptions, on audio: CallAudio,
    now: Instant = SystemClock.now
  ) {
    let isTooSoon = lastStart.map { now - $0 < Self.pause } ?? false
    lastStart = now
    audio.mix { mixer in
      if isTooSoon { mixer.refuse() } else { mixer.start(clip, options) }
    }
  }

  static func check(_ options: AudioMixingOptions) throws(EarshotError) {
    try check(volume: options.volume)
    try check(loops: options.loops)
  }

  static func check(volume: Int) throws(EarshotError) {
    guard CallOptions.volumes.contains(volume) else {
      throw .invalidArgument("A volume of \(volume) % is out of range.", advice: "Use 0 to 400.")
    }
  }

  static func check(loops: Int?) throws(EarshotError) {
    guard loops.map({ $0 >= 1 }) ?? true else {
      throw .invalidArgument(
        "\(loops ?? 0) rounds are none.", advice: "Use 1 and more, or nil for no end.")
    }
  }

  /// docs/from-agora.md, 63.
  private static let pause = Duration.milliseconds(500)
}
