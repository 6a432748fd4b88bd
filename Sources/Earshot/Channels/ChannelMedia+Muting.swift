/// Keeping the own media back, and others' from the sinks.
extension ChannelMedia {
  /// Whether the own sound is kept back.
  public var isAudioMuted: Bool { mutes.isAudioMuted }

  /// Whether the own pictures are.
  public var isVideoMuted: Bool { mutes.isVideoMuted }

  /// Keeps the own sound back, or lets it go on; it holds over ways and roles, and for whoever
  /// comes later. The others are told (`ChannelMediaStep.muted`).
  public func setAudioMuted(_ isMuted: Bool) async {
    await changeMutes { $0.isAudioMuted = isMuted }
  }

  /// Does so with the own pictures.
  public func setVideoMuted(_ isMuted: Bool) async {
    await changeMutes { $0.isVideoMuted = isMuted }
  }

  /// Plays a member's sound no more, or again, by whichever way it comes. It is not told. It holds
  /// over ways, and for the same person who comes back, until this stay ends.
  ///
  /// - Throws: `channelState` where nobody has had that uid in this stay, and beyond 4096 members
  ///   for whom it is set one by one.
  public func setRemoteAudioMuted(_ isMuted: Bool, of uid: UInt32) async throws(EarshotError) {
    let id = try roll.id(of: uid, among: links.users)
    guard mutes.unwanted.audio.admits(isMuted, id) else { throw ChannelMutes.tooMany }
    await changeMutes { $0.unwanted.audio.set(isMuted, id) }
  }

  /// Shows a member's pictures no more, or again. Meanwhile a call brings none, and what a relay
  /// brings is not decoded. It holds as that of the sound does.
  ///
  /// - Throws: `channelState` where nobody has had that uid in this stay, and beyond 4096 members
  ///   for whom it is set one by one.
  public func setRemoteVideoMuted(_ isMuted: Bool, of uid: UInt32) async throws(EarshotError) {
    let id = try roll.id(of: uid, among: links.users)
    guard mutes.unwanted.video.admits(isMuted, id) else { throw ChannelMutes.tooMany }
    await changeMutes { $0.unwanted.video.set(isMuted, id) }
  }

  /// Plays nobody's sound, whoever comes later included, or that of all. What was set for single
  /// members ends.
  public func setAllRemoteAudioMuted(_ isMuted: Bool) async {
    await changeMutes { $0.unwanted.audio = HostChoice(all: isMuted) }
  }

  /// Does so with the pictures of all.
  public func setAllRemoteVideoMuted(_ isMuted: Bool) async {
    await changeMutes { $0.unwanted.video = HostChoice(all: isMuted) }
  }

  /// Switches a part of the media off or on, over ways and roles, and for whoever comes later. What
  /// is muted stays so. The others are told, by a relay in channels of up to 17.
  public func setEnabled(_ isEnabled: Bool, _ part: MediaPart) async {
    await changeMutes { $0.isOn[part] = isEnabled }
  }

  func changeMutes(_ change: @escaping @Sendable (inout ChannelMutes) -> Void) async {
    await carryOut { await $0.adoptMutes(change) }
  }

  func adoptMutes(_ change: (inout ChannelMutes) -> Void) async {
    let before = mutes
    change(&mutes)
    await muteCalls()
    if let relay { await mutes.apply(to: relay, insteadOf: before, links.users) }
  }

  /// All calls that there are are told how it stands.
  func muteCalls() async {
    for (user, call) in links.linked {
      let link = await channel.endpoint.call(call)
      await mutes.apply(
        to: link, with: user.id, as: role, hasPictures: options.makeVideoSource != nil)
    }
  }

  /// The relay is told of whoever has a uid now. It knows members by these, and forgets with them.
  func muteRelay(_ uid: UInt32, _ id: PeerID?) async {
    if let relay, mutes.hasExceptions { await mutes.apply(to: relay, of: uid, id) }
  }
}
