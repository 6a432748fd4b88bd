/// What a stay in a channel keeps back of its own media, and whose media it does not want. It holds
/// over ways, calls and seats.
struct ChannelMutes: Sendable {
  /// The own sound is kept back.
  var isAudioMuted = false
  /// The own pictures are.
  var isVideoMuted = false
  /// The role audience is asked for: nothing is sent, whenever the rendezvous hears of it. It is
  /// sent again where the role stays host.
  var isResigning = false
  /// What was switched, and how it is now.
  var isOn: [MediaPart: Bool] = [:]
  /// Whose media is not wanted. Whoever comes back may have another uid, and has the same ID.
  var unwanted = (audio: HostChoice<PeerID>(), video: HostChoice<PeerID>())

  private var isQuiet: Bool { isResigning || isAudioMuted }
  private var isBlank: Bool { isResigning || isVideoMuted }
  /// No sound is sent.
  var isSilent: Bool { isQuiet || isOn[.audio] == false || isOn[.audioSource] == false }
  /// No pictures are sent.
  var isDark: Bool { isBlank || isOn[.video] == false || isOn[.videoSource] == false }

  static var tooMany: EarshotError {
    EarshotError(
      .channelState, "This is set for \(HostChoice<PeerID>.most) members already.",
      advice: "Set it for all, and undo it for those who are to be heard or seen.")
  }

  /// Some hosts are excepted from what holds for all.
  var hasExceptions: Bool { unwanted.audio.hasExceptions || unwanted.video.hasExceptions }

  /// Tells a call with a member. What the call refuses it has no use for.
  ///
  /// - Parameters:
  ///   - role: The own one: who only listens sends nothing.
  ///   - hasPictures: There are own pictures.
  func apply(to call: Call, with id: PeerID, as role: ChannelRole, hasPictures: Bool) async {
    await applyUnwanted(to: call, with: id)
    do throws(EarshotError) {
      try await call.setAudioMuted(role == .audience || isQuiet)
    } catch {
      // It is over, or there is no source to be heard; there may be pictures.
    }
    guard hasPictures else { return }
    do throws(EarshotError) {
      try await call.setVideoMuted(role == .audience || isBlank)
    } catch {
      return  // Its pictures have ended, or there were none.
    }
  }

  /// Tells a call that has just begun, where it has not what it begins with.
  func applyUnwanted(to call: Call, with id: PeerID) async {
    for (part, isOn) in isOn {
      do throws(EarshotError) { try await call.setEnabled(isOn, part) } catch {
        continue  // It is over, or has nothing of the kind.
      }
    }
    do throws(EarshotError) {
      try await call.setRemoteAudioMuted(unwanted.audio.covers(id))
      try await call.setRemoteVideoMuted(unwanted.video.covers(id))
    } catch {
      return  // It is over, or shows no pictures.
    }
  }

  /// Tells the relay what is another thing than before.
  func apply(to relay: ChannelRelay, insteadOf before: ChannelMutes, _ members: [ChannelUser]) async
  {
    if isResigning != before.isResigning { await relay.setResigning(isResigning) }
    if isAudioMuted != before.isAudioMuted { await relay.setAudioMuted(isAudioMuted) }
    if isVideoMuted != before.isVideoMuted { await relay.setVideoMuted(isVideoMuted) }
    for (part, isOn) in isOn where isOn != before.isOn[part] ?? true {
      await relay.setEnabled(isOn, part)
    }
    let (audio, video) = unwanted
    if audio.startsAnew(after: before.unwanted.audio) {
      await relay.setAllRemoteAudioMuted(audio.all)
    }
    if video.startsAnew(after: before.unwanted.video) {
      await relay.setAllRemoteVideoMuted(video.all)
    }
    for user in members {
      let isChanged =
        audio.covers(user.id) != before.unwanted.audio.covers(user.id)
        || video.covers(user.id) != before.unwanted.video.covers(user.id)
      if isChanged { await apply(to: relay, of: user.uid, user.id) }
    }
  }

  /// Tells the relay what holds for who has a uid now; `nil` = nobody.
  func apply(to relay: ChannelRelay, of uid: UInt32, _ id: PeerID?) async {
    let audio = id.map { unwanted.audio.covers($0) } ?? unwanted.audio.all
    let video = id.map { unwanted.video.covers($0) } ?? unwanted.video.all
    await relay.setRemoteAudioMuted(audio, of: uid)
    await relay.setRemoteVideoMuted(video, of: uid)
  }
}

extension Call {
  fileprivate func setEnabled(_ isOn: Bool, _ part: MediaPart) async throws(EarshotError) {
    switch part {
    case .audio: try await setAudioEnabled(isOn)
    case .video: try await setVideoEnabled(isOn)
    case .audioSource: try await setAudioCaptureEnabled(isOn)
    case .videoSource: try await setVideoCaptureEnabled(isOn)
    }
  }
}

/// Of which hosts something holds: of all, or of none, but for some. A host is named by its uid, or
/// by what it has over all its stays.
struct HostChoice<Host: Hashable & Sendable>: Sendable, Equatable {
  /// It holds for whoever is no exception.
  private(set) var all: Bool
  private var others: Set<Host> = []

  init(all: Bool = false) { self.all = all }

  mutating func set(_ isOn: Bool, _ host: Host) {
    guard admits(isOn, host) else { return }
    if isOn == all { others.remove(host) } else { others.insert(host) }
  }

  /// Whether there is room for one exception more, where that would be one.
  func admits(_ isOn: Bool, _ host: Host) -> Bool {
    isOn == all || others.count < Self.most || others.contains(host)
  }

  mutating func remove(_ host: Host) { others.remove(host) }

  func covers(_ host: Host) -> Bool { all != others.contains(host) }

  /// It holds for every host there may be.
  var isAll: Bool { all && others.isEmpty }

  /// Nothing of an earlier one is left: it is for all or for none, and was not so.
  func startsAnew(after other: HostChoice) -> Bool { others.isEmpty && self != other }

  /// It holds for some, and not for others.
  var hasExceptions: Bool { !others.isEmpty }

  /// Exceptions at once: 128 KiB of IDs.
  static var most: Int { 4096 }
}
