internal import Peer
internal import Reactor

/// Keeping the own sound and pictures back.
extension ChannelRelay {
  /// Whether the own sound is kept back. In a channel of up to 17 the others are told
  /// (`ChannelRelayStep.audioMuted`); in a larger one they hear nothing, and nobody tells them why.
  public var isAudioMuted: Bool { sound.isMuted }

  /// Keeps the own sound back, or lets it go on. It holds over new seats and roles.
  public func setAudioMuted(_ isMuted: Bool) {
    sound.isMuted = isMuted
    tellMute()
  }

  /// Whether the own pictures are kept back. Who wants them is told
  /// (`ChannelRelayStep.picturesPaused`).
  public var isVideoMuted: Bool { view.isMuted }

  /// Keeps the own pictures back, or lets them go on. It holds over new seats and roles.
  public func setVideoMuted(_ isMuted: Bool) {
    view.isMuted = isMuted
    tellMute()
  }

  /// The machine of a new seat knows nothing of it.
  func tellMute() {
    let (isMuted, isVideoMuted) = (sound.isMuted, view.isMuted)
    driver?.withMachine { machine, now in
      machine.setAudioMuted(isMuted, now: now)
      machine.setVideoMuted(isVideoMuted, now: now)
    }
  }
}
