/// Keeping the own sound back.
extension ChannelRelay {
  /// Whether the own sound is kept back. The others hear nothing then; nobody tells them why.
  public var isAudioMuted: Bool { sound.isMuted }

  /// Keeps the own sound back, or lets it go on. It holds over new seats and roles.
  public func setAudioMuted(_ isMuted: Bool) { sound.isMuted = isMuted }
}
