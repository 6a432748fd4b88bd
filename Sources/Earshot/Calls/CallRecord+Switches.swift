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
    for percent in [capture, playback].compactMap(\.self) { try MixingDesk.check(volume: percent) }
    volumes.capture = capture ?? volumes.capture
    volumes.playback = playback ?? volumes.playback
    audio?.setVolume(capture: volumes.capture, playback: volumes.playback)
  }

  /// Gives the numbers that are told now their rates since those before, and the delays of `sound`.
  func takeInterval(_ numbers: inout CallStatistics, _ sound: AudioNumbers? = nil) {
    told.numbers.fillInterval(&numbers, sound)
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
    try MixingDesk.check(options)
    guard self.options.source != nil else { throw .callState("The call has no audio source.") }
    guard let audio else { throw .callState("The call has no audio yet.") }
    mixing.start(clip, options, on: audio)
  }

  func playEffect(
    _ number: UInt32, _ clip: AudioClip, loops: Int?, volume: Int
  ) throws(EarshotError) {
    try MixingDesk.check(volume: volume)
    try MixingDesk.check(loops: loops)
    guard options.source != nil else { throw .callState("The call has no audio source.") }
    let isPlaying = try mix { $0.play(effect: number, clip, loops: loops, volume: volume) }
    guard isPlaying else {
      throw .callState("\(AudioMixer.mostEffects) effects play already.")
    }
  }
}
