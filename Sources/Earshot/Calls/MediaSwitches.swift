internal import GroupKeys
internal import Peer
internal import Primitives
internal import Wire

/// What the application has switched in a call, of audio and of video. Pure.
struct MediaSwitches: Sendable, Equatable {
  /// Of one kind of media.
  struct Stream: Sendable, Equatable {
    /// Nothing is sent.
    var isMuted = false
    /// Nothing is taken from the source, and so nothing is sent.
    var isCaptureOff = false
    /// Neither sent nor played.
    var isOff = false
    /// What the other side sends is not played.
    var isRemoteMuted = false

    var isSilent: Bool { isMuted || isCaptureOff || isOff }
    var isUnwanted: Bool { isRemoteMuted || isOff }
  }

  var audio = Stream()
  var video = Stream()

  init() {}

  /// What a call begins with.
  init(_ options: CallOptions) {
    audio.isMuted = options.startsMuted
    video.isMuted = options.startsVideoMuted
  }

  /// What the other side is told beside what is sent.
  var wire: MediaState {
    var state = MediaState()
    if audio.isOff { state.insert(.audioOff) }
    if audio.isCaptureOff { state.insert(.audioSourceOff) }
    if video.isOff { state.insert(.videoOff) }
    if video.isCaptureOff { state.insert(.videoSourceOff) }
    return state
  }
}

/// A part of the own media in a channel, to be switched off and on (`ChannelMedia.setEnabled`).
public enum MediaPart: Sendable, Hashable, CaseIterable {
  /// All sound: none is sent, and none is played.
  case audio
  /// All pictures: none are sent, and none are shown.
  case video
  /// The own source of sound.
  case audioSource
  /// The own source of pictures.
  case videoSource
}

extension MediaSwitches {
  mutating func set(_ part: MediaPart, isOff: Bool) {
    switch part {
    case .audio: audio.isOff = isOff
    case .video: video.isOff = isOff
    case .audioSource: audio.isCaptureOff = isOff
    case .videoSource: video.isCaptureOff = isOff
    }
  }

  /// What the other members of a channel are told.
  var off: SwitchedOff {
    var off = SwitchedOff()
    if audio.isOff { off.insert(.audio) }
    if video.isOff { off.insert(.video) }
    if audio.isCaptureOff { off.insert(.audioSource) }
    if video.isCaptureOff { off.insert(.videoSource) }
    return off
  }
}

extension CallProgress {
  /// What another member of a channel has switched; `nil` for a part that this side does not know.
  init?(switched part: SwitchedOff, isOn: Bool) {
    switch part {
    case .audio: self = .remoteAudioEnabled(isOn)
    case .video: self = .remoteVideoEnabled(isOn)
    case .audioSource: self = .remoteAudioCaptureEnabled(isOn)
    case .videoSource: self = .remoteVideoCaptureEnabled(isOn)
    default: return nil
    }
  }
}

extension CallRecord {
  /// - Throws: `callState` where nothing is there to be switched on.
  func check(_ changed: MediaSwitches) throws(EarshotError) {
    let resumesAudio = switches.audio.isMuted && !changed.audio.isMuted
    if resumesAudio || changed.audio.isCaptureOff != switches.audio.isCaptureOff {
      guard options.source != nil else { throw .callState("The call has no audio source.") }
    }
    if changed.video.isMuted != switches.video.isMuted
      || changed.video.isCaptureOff != switches.video.isCaptureOff
    {
      guard options.videoSource != nil else {
        throw .callState("The call has no video source.")
      }
      guard changed.video.isSilent || !streams.hasVideoSourceEnded else {
        throw .callState("The video source has no more pictures.")
      }
    }
    if changed.video.isRemoteMuted != switches.video.isRemoteMuted {
      guard options.videoSink != nil else { throw .callState("The call has no video sink.") }
    }
    guard changed.video.isOff == switches.video.isOff || hasVideo else {
      throw .callState("The call has no video.")
    }
  }

  var hasVideo: Bool { options.videoSource != nil || options.videoSink != nil }

  /// Carries them out at this end, and says what that is to the streams.
  func adopt(_ changed: MediaSwitches, now: Instant) -> [CallProgress] {
    let before = switches
    switches = changed
    options.startsMuted = changed.audio.isSilent
    options.startsVideoMuted = changed.video.isSilent
    audio?.setMuted(changed.audio.isSilent)
    audio?.setUnwanted(changed.audio.isUnwanted)
    var steps: [CallProgress] = []
    if options.source != nil {
      steps += streams.setAudioMuted(changed.audio.isSilent, now: now)
    }
    steps += streams.setRemoteAudioUnwanted(changed.audio.isUnwanted, now: now)
    if options.videoSource != nil {
      steps += streams.setVideoMuted(changed.video.isSilent, now: now)
    }
    if options.videoSink != nil, changed.video.isUnwanted != before.video.isUnwanted {
      steps += streams.changeRemoteVideo(now: now) {
        $0.handle(isUnwanted: changed.video.isUnwanted)
      }
      video?.expectation.set(streams.expectsPictures)
      video?.signalArrival()
    }
    return steps
  }

  /// The same for the network side.
  func apply(_ switches: MediaSwitches, to media: CallMedia, now: Instant) {
    media.switchedOff = switches.wire
    if options.source != nil { media.isAudioMuted = switches.audio.isSilent }
    if options.videoSource != nil, !streams.hasVideoSourceEnded {
      media.setVideo(sends: !switches.video.isSilent)
    }
    if options.videoSink != nil { media.setWantsVideo(!switches.video.isUnwanted, now: now) }
  }
}
