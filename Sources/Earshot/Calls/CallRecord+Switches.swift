internal import Audio
internal import Primitives
internal import Reactor

/// What the application changes while a call runs.
extension CallRecord {
  func setEncoding(bitrate: Int? = nil, frameMilliseconds: Int? = nil) throws(EarshotError) {
    var changed = options
    changed.bitrate = bitrate ?? options.bitrate
    changed.frameMilliseconds = frameMilliseconds ?? options.frameMilliseconds
    try changed.checkEncoding()
    guard let length = FrameLength(rawValue: changed.frameMilliseconds) else { return }
    if let error = audio?.setEncoding(bitsPerSecond: changed.bitrate, frameLength: length) {
      throw .systemFailure("changing the audio", detail: "\(error)")
    }
    options = changed
  }

  func setVolume(capture: Int? = nil, playback: Int? = nil) throws(EarshotError) {
    for percent in [capture, playback].compactMap(\.self) { try Self.check(volume: percent) }
    volumes.capture = capture ?? volumes.capture
    volumes.playback = playback ?? volumes.playback
    audio?.setVolume(capture: volumes.capture, playback: volumes.playback)
  }

  static func check(volume: Int) throws(EarshotError) {
    guard CallOptions.volumes.contains(volume) else {
      throw .invalidArgument("A volume of \(volume) % is out of range.", advice: "Use 0 to 400.")
    }
  }

  /// Gives the numbers that are told now their rates since those before, and the delays of `sound`.
  func takeInterval(_ numbers: inout CallStatistics, _ sound: AudioNumbers? = nil) {
    if let sound { told.delays.handleTold(&numbers, sound) }
    let totals = numbers.totals
    numbers.interval = told.totals.flatMap { CallStatistics.Interval(from: $0, to: totals) }
    told.totals = totals
  }

  /// `nil` before the audio has begun.
  func volumeSource(_ id: CallID) -> VolumeTeller.Source? {
    audio.map { audio in
      VolumeTeller.Source(
        party: .call(id), sums: audio.sums, isMuted: options.startsMuted || options.source == nil,
        isRemoteMuted: streams.isRemoteAudioMuted)
    }
  }

  // MARK: - Music and effects

  func mix<Result: Sendable>(
    _ body: @Sendable (inout AudioMixer) -> Result
  ) throws(EarshotError) -> Result {
    guard let audio else { throw .callState("The call has no audio yet.") }
    return audio.mix(body)
  }

  func startMixing(_ clip: AudioClip, _ options: AudioMixingOptions) throws(EarshotError) {
    try Self.check(volume: options.volume)
    try Self.check(loops: options.loops)
    guard self.options.source != nil else { throw .callState("The call has no audio source.") }
    let now = SystemClock.now
    let isTooSoon = lastMixing.map { now - $0 < Self.mixingPause } ?? false
    lastMixing = now
    try mix { mixer in
      if isTooSoon { mixer.refuse() } else { mixer.start(clip, options) }
    }
  }

  func playEffect(
    _ number: UInt32, _ clip: AudioClip, loops: Int?, volume: Int
  ) throws(EarshotError) {
    try Self.check(volume: volume)
    try Self.check(loops: loops)
    guard options.source != nil else { throw .callState("The call has no audio source.") }
    let isPlaying = try mix { $0.play(effect: number, clip, loops: loops, volume: volume) }
    guard isPlaying else {
      throw .callState("\(AudioMixer.mostEffects) effects play already.")
    }
  }

  private static func check(loops: Int?) throws(EarshotError) {
    guard loops.map({ $0 >= 1 }) ?? true else {
      throw .invalidArgument(
        "\(loops ?? 0) rounds are none.", advice: "Use 1 and more, or nil for no end.")
    }
  }

  /// Two starts within it are a mistake (docs/from-agora.md, 63).
  private static let mixingPause = Duration.milliseconds(500)
}
