internal import Peer
internal import Reactor

/// Keeping the own sound back.
extension ChannelRelay {
  /// Whether the own sound is kept back. In a channel of up to 17 the others are told
  /// (`ChannelRelayStep.audioMuted`); in a larger one they hear nothing, and nobody tells them why.
  public var isAudioMuted: Bool { sound.isMuted }

  /// Keeps the own sound back, or lets it go on. It holds over new seats and roles.
  public func setAudioMuted(_ isMuted: Bool) {
    sound.isMuted = isMuted
    tellMute()
  }

  /// The machine of a new seat knows nothing of it.
  func tellMute() {
    let isMuted = sound.isMuted
    driver?.withMachine { machine, now in machine.setAudioMuted(isMuted, now: now) }
  }
}
