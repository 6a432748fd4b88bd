/// What may be changed while a call runs. Each of these also holds for what has not begun yet; each
/// throws `callState` when the call is over, and `invalidArgument` outside its range.
extension Call {
  // MARK: - What is sent and played

  /// Stops or resumes sending audio; the other side is told.
  ///
  /// - Throws: `callState` when the call is over, or has no source to resume.
  public func setAudioMuted(_ isMuted: Bool) async throws(EarshotError) {
    try await endpoint.traced(#function, id) { endpoint throws(EarshotError) in
      try Self.switchMedia(endpoint, id) { $0.audio.isMuted = isMuted }
    }
  }

  /// Stops or resumes sending video; the other side is told. Nothing is encoded meanwhile.
  public func setVideoMuted(_ isMuted: Bool) async throws(EarshotError) {
    try await endpoint.traced(#function, id) { endpoint throws(EarshotError) in
      try Self.switchMedia(endpoint, id) { $0.video.isMuted = isMuted }
    }
  }

  /// Stops or resumes showing the other side's video; the other side is asked not to send it.
  public func setRemoteVideoMuted(_ isMuted: Bool) async throws(EarshotError) {
    try await endpoint.traced(#function, id) { endpoint throws(EarshotError) in
      try Self.switchMedia(endpoint, id) { $0.video.isRemoteMuted = isMuted }
    }
  }

  /// Stops or resumes playing the other side's audio: the sink gets silence meanwhile.
  public func setRemoteAudioMuted(_ isMuted: Bool) async throws(EarshotError) {
    try await endpoint.traced(#function, id) { endpoint throws(EarshotError) in
      try Self.switchMedia(endpoint, id) { $0.audio.isRemoteMuted = isMuted }
    }
  }

  /// Switches the whole of video: nothing is sent and nothing shown while it is off. What is muted
  /// stays so. The other side is told (`CallProgress.remoteVideoEnabled`).
  public func setVideoEnabled(_ isEnabled: Bool) async throws(EarshotError) {
    try await endpoint.traced(#function, id) { endpoint throws(EarshotError) in
      try Self.switchMedia(endpoint, id) { $0.video.isOff = !isEnabled }
    }
  }

  /// Switches the whole of audio: nothing is sent and nothing played while it is off. What is muted
  /// stays so. The other side is told (`CallProgress.remoteAudioEnabled`).
  public func setAudioEnabled(_ isEnabled: Bool) async throws(EarshotError) {
    try await endpoint.traced(#function, id) { endpoint throws(EarshotError) in
      try Self.switchMedia(endpoint, id) { $0.audio.isOff = !isEnabled }
    }
  }

  /// Switches the own source of video: without it nothing is sent, and the other side's video is
  /// shown as before. The other side is told (`CallProgress.remoteVideoCaptureEnabled`).
  public func setVideoCaptureEnabled(_ isEnabled: Bool) async throws(EarshotError) {
    try await endpoint.traced(#function, id) { endpoint throws(EarshotError) in
      try Self.switchMedia(endpoint, id) { $0.video.isCaptureOff = !isEnabled }
    }
  }

  /// The same of audio (`CallProgress.remoteAudioCaptureEnabled`).
  public func setAudioCaptureEnabled(_ isEnabled: Bool) async throws(EarshotError) {
    try await endpoint.traced(#function, id) { endpoint throws(EarshotError) in
      try Self.switchMedia(endpoint, id) { $0.audio.isCaptureOff = !isEnabled }
    }
  }

  /// Bits a second of the own audio, 6 000...510 000. What the path does not carry is left out all
  /// the same.
  public func setAudioBitrate(_ bitsPerSecond: Int) async throws(EarshotError) {
    try await endpoint.change(id) { record throws(EarshotError) in
      try record.setEncoding(bitrate: bitsPerSecond)
    }
  }

  /// Audio in a packet: 10, 20, 40 or 60 ms. On narrow paths they are longer.
  public func setFrameLength(_ length: Duration) async throws(EarshotError) {
    try await endpoint.change(id) { record throws(EarshotError) in
      try record.setEncoding(frameMilliseconds: length.wholeMilliseconds)
    }
  }

  // MARK: - Volumes

  /// How loud the own audio is sent, in per cent, 0...400; 100 changes nothing.
  public func setRecordingVolume(_ percent: Int) async throws(EarshotError) {
    try await endpoint.change(id) { record throws(EarshotError) in
      try record.setVolume(capture: percent)
    }
  }

  /// How loud the other side is heard, in per cent, 0...400.
  public func setPlaybackVolume(_ percent: Int) async throws(EarshotError) {
    try await endpoint.change(id) { record throws(EarshotError) in
      try record.setVolume(playback: percent)
    }
  }

  // MARK: - Music and effects

  /// Mixes `clip` into the own audio, in place of music that plays. What becomes of it is told by
  /// `CallProgress.audioMixingChanged`.
  ///
  /// - Throws: Also `callState` when the call has no audio source. Started again within 500 ms, it
  ///   is told as failed, and the music before goes on.
  public func startAudioMixing(
    _ clip: AudioClip, options: AudioMixingOptions = AudioMixingOptions()
  ) async throws(EarshotError) {
    try await endpoint.change(id) { record throws(EarshotError) in
      try record.startMixing(clip, options)
    }
  }

  /// Ends the music.
  public func stopAudioMixing() async throws(EarshotError) {
    try await endpoint.change(id) { record throws(EarshotError) in try record.mix { $0.stop() } }
  }

  /// Stops the music at its place.
  public func pauseAudioMixing() async throws(EarshotError) {
    try await endpoint.change(id) { record throws(EarshotError) in try record.mix { $0.pause() } }
  }

  /// Lets it go on.
  public func resumeAudioMixing() async throws(EarshotError) {
    try await endpoint.change(id) { record throws(EarshotError) in try record.mix { $0.resume() } }
  }

  /// Moves to another place of the music; beyond its end, to its last sample.
  public func setAudioMixingPosition(_ position: Duration) async throws(EarshotError) {
    try await endpoint.change(id) { record throws(EarshotError) in
      try record.mix { $0.seek(to: position) }
    }
  }

  /// Where the music is; `nil` while none plays.
  public func audioMixingPosition() async throws(EarshotError) -> Duration? {
    try await endpoint.change(id) { record throws(EarshotError) in
      try record.mix { $0.position }
    }
  }

  /// How loud the music is sent, and how loud it is heard here, in per cent, 0...400; `nil` leaves
  /// it.
  public func setAudioMixingVolume(
    sent: Int? = nil, heard: Int? = nil
  ) async throws(EarshotError) {
    try await endpoint.change(id) { record throws(EarshotError) in
      for percent in [sent, heard].compactMap(\.self) { try MixingDesk.check(volume: percent) }
      try record.mix { $0.setVolume(sent: sent, heard: heard) }
    }
  }

  /// Plays a short sound with the own audio and at this side; up to 16 at once. Its end is told by
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
    try await endpoint.change(id) { record throws(EarshotError) in
      try record.playEffect(number, clip, loops: loops, volume: volume)
    }
  }

  /// Ends an effect; nothing is told of it. `nil` ends all.
  public func stopEffect(_ number: UInt32?) async throws(EarshotError) {
    try await endpoint.change(id) { record throws(EarshotError) in
      try record.mix { mixer in
        if let number { mixer.stop(effect: number) } else { mixer.stopEffects() }
      }
    }
  }

  // MARK: - Pictures

  /// The next picture that is shown, a copy.
  ///
  /// - Throws: Also `noPicture` when none was shown within a second.
  public func snapshot() async throws(EarshotError) -> VideoPicture {
    try await endpoint.snapshot(id)
  }
}
