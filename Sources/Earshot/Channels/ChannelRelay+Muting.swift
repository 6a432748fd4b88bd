internal import GroupKeys
internal import Peer
internal import Reactor

/// Keeping the own sound and pictures back, and others' from the sinks.
extension ChannelRelay {
  /// Whether the own sound is kept back. In a channel of up to 17 the others are told
  /// (`ChannelRelayStep.audioMuted`); in a larger one they hear nothing, and nobody tells them why.
  public var isAudioMuted: Bool { streams.switches.audio.isMuted }

  /// Keeps the own sound back, or lets it go on. It holds over new seats and roles.
  public func setAudioMuted(_ isMuted: Bool) { adopt { $0.switches.audio.isMuted = isMuted } }

  /// Whether the own pictures are kept back. Who wants them is told
  /// (`ChannelRelayStep.picturesPaused`).
  public var isVideoMuted: Bool { streams.switches.video.isMuted }

  /// Keeps the own pictures back, or lets them go on. It holds over new seats and roles.
  public func setVideoMuted(_ isMuted: Bool) { adopt { $0.switches.video.isMuted = isMuted } }

  /// Switches a part of the media off or on. It holds over new seats and roles, and what is muted
  /// stays so. Channels of up to 17 are told (`ChannelRelayStep.progress`).
  public func setEnabled(_ isEnabled: Bool, _ part: MediaPart) {
    adopt { $0.switches.set(part, isOff: !isEnabled) }
  }

  /// Plays a host's sound no more, or again. Meanwhile it is dropped, and its streams say so; the
  /// host is not told. It holds over new seats, until the host leaves.
  public func setRemoteAudioMuted(_ isMuted: Bool, of uid: UInt32) {
    adopt { $0.unwanted.audio.set(isMuted, uid) }
  }

  /// Does so with the sound of all hosts, later ones too. What was set for single ones ends.
  public func setAllRemoteAudioMuted(_ isMuted: Bool) {
    adopt { $0.unwanted.audio = HostChoice(all: isMuted) }
  }

  /// Shows a host's pictures no more, or again. Meanwhile they are not decoded, nor repaired.
  public func setRemoteVideoMuted(_ isMuted: Bool, of uid: UInt32) {
    adopt { $0.unwanted.video.set(isMuted, uid) }
  }

  /// Does so with the pictures of all, later ones too. Without an exception the relay sends none.
  public func setAllRemoteVideoMuted(_ isMuted: Bool) {
    adopt { $0.unwanted.video = HostChoice(all: isMuted) }
  }

  /// Sends nothing from now on, or goes on; the others are not told.
  func setResigning(_ isResigning: Bool) { adopt { $0.isResigning = isResigning } }

  private func adopt(_ change: (inout RelayedStreams) -> Void) {
    change(&streams)
    (sound.isMuted, view.isMuted) = streams.silence
    sound.apply(streams.mutes.audio)
    tellMute()
    emit(streams.applyMutes(now: SystemClock.now))
    view.apply(streams)
  }

  /// The machine of a new seat knows nothing of it, and none of a host who has just come.
  func tellMute() {
    driver?.withMachine { machine, now in
      machine.setAudioMuted(streams.switches.audio.isSilent, now: now)
      machine.setVideoMuted(streams.switches.video.isSilent, now: now)
      machine.setMedia(now: now) { $0.off = streams.switches.off }
      streams.inform(machine, hasScreen: options.makeVideoSink != nil)
    }
  }
}
