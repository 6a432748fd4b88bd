/// Music and effects in the own sound of a channel by a relay (`ChannelRelay.mixing`), as in a
/// call. All members hear them; this side does not, as its own sound has no sink here. What becomes
/// of them is told by `ChannelRelayStep.progress`, and ends with the seat.
///
/// All methods throw `channelState` while nothing is published, and `invalidArgument` for a volume
/// or a count that is none.
public struct ChannelMixing: Sendable {
  private let relay: ChannelRelay

  init(_ relay: ChannelRelay) { self.relay = relay }

  /// Mixes `clip` into the own sound, in place of music that plays. Started again within 500 ms, it
  /// is told as failed, and the music before goes on.
  public func start(
    _ clip: AudioClip, options: AudioMixingOptions = AudioMixingOptions()
  ) async throws(EarshotError) {
    try MixingDesk.check(options)
    try await relay.change { sound throws(EarshotError) in try sound.start(clip, options) }
  }

  /// Ends the music.
  public func stop() async throws(EarshotError) { try await mix { $0.stop() } }

  /// Stops the music at its place.
  public func pause() async throws(EarshotError) { try await mix { $0.pause() } }

  /// Lets it go on.
  public func resume() async throws(EarshotError) { try await mix { $0.resume() } }

  /// Moves to another place of the music; beyond its end, to its last sample.
  public func setPosition(_ position: Duration) async throws(EarshotError) {
    try await mix { $0.seek(to: position) }
  }

  /// Where the music is; `nil` while none plays.
  public func position() async throws(EarshotError) -> Duration? {
    try await mix { $0.position }
  }

  /// How loud the music is sent, in per cent, 0...400.
  public func setVolume(_ volume: Int) async throws(EarshotError) {
    try MixingDesk.check(volume: volume)
    try await mix { $0.setVolume(sent: volume, heard: nil) }
  }

  /// Plays a short sound with the own one; up to 16 at once. Its end is told by
  /// `CallProgress.effectEnded`.
  ///
  /// - Parameters:
  ///   - number: of the effect, chosen by the application; one that plays begins anew.
  ///   - clip: the sound.
  ///   - loops: how often; `nil` without end.
  ///   - volume: in per cent, 0...400.
  /// - Throws: Also when 16 others play.
  public func playEffect(
    _ number: UInt32, _ clip: AudioClip, loops: Int? = 1, volume: Int = 100
  ) async throws(EarshotError) {
    try MixingDesk.check(volume: volume)
    try MixingDesk.check(loops: loops)
    let isPlaying = try await mix {
      $0.play(effect: number, clip, loops: loops, volume: volume)
    }
    guard isPlaying else {
      throw EarshotError(
        .channelState, "\(AudioMixer.mostEffects) effects play already.",
        advice: "Wait for one of them to end.")
    }
  }

  /// Ends an effect; nothing is told of it. `nil` ends all.
  public func stopEffect(_ number: UInt32?) async throws(EarshotError) {
    try await mix { mixer in
      if let number { mixer.stop(effect: number) } else { mixer.stopEffects() }
    }
  }

  private func mix<Result: Sendable>(
    _ body: @escaping @Sendable (inout AudioMixer) -> Result
  ) async throws(EarshotError) -> Result {
    try await relay.change { sound throws(EarshotError) in try sound.mix(body) }
  }
}

extension ChannelRelay {
  /// Music and effects in the own sound.
  public nonisolated var mixing: ChannelMixing { ChannelMixing(self) }

  fileprivate func change<Result: Sendable>(
    _ body: @Sendable (inout RelayedSound) throws(EarshotError) -> Result
  ) throws(EarshotError) -> Result {
    try body(&sound)
  }
}

extension RelayedSound {
  fileprivate mutating func start(
    _ clip: AudioClip, _ options: AudioMixingOptions
  ) throws(EarshotError) {
    guard let audio = sendingAudio else { throw .nothingPublished }
    mixing.start(clip, options, on: audio)
  }

  fileprivate func mix<Result: Sendable>(
    _ body: @Sendable (inout AudioMixer) -> Result
  ) throws(EarshotError) -> Result {
    guard let audio = sendingAudio else { throw .nothingPublished }
    return audio.mix(body)
  }
}

extension EarshotError {
  fileprivate static var nothingPublished: EarshotError {
    EarshotError(
      .channelState, "There is no own sound to mix into.",
      advice: "Be a host with a source, and wait until it is published.")
  }
}
