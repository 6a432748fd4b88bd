internal import Primitives
internal import Video

/// All streams of one call: from what the application, the threads and the other side do, the
/// events that tell of it. Pure; each method returns what is to be told, in order.
struct CallStreams {
  private var localAudio: StreamMachine
  private var localVideo: StreamMachine
  private var remoteAudio: StreamMachine
  private var remoteVideoState: StreamMachine
  private var audioPublish: StreamMachine
  private var videoPublish: StreamMachine
  private var audioSubscribe: StreamMachine
  private var videoSubscribe: StreamMachine
  private var remoteVideo = RemoteVideo()
  /// Media may flow.
  private var hasBegun = false
  /// Of the own streams: there is a source, and it has not come to its end.
  private var audio = OwnStream()
  private var video = OwnStream()
  private(set) var isRemoteAudioMuted = false
  private(set) var isRemoteAudioUnwanted = false
  /// Why the other side's audio will be heard when it is heard next.
  private var audioReturn = StreamReason.started
  /// The last size of the own pictures.
  private var size: PictureSize?
  private var events: [CallProgress] = []

  /// What an own stream is to do.
  private struct OwnStream {
    var hasSource = false
    var isMuted = false
    /// A first frame has left before.
    var hasBeenSent = false
    /// Fallback has paused it.
    var isPaused = false
    /// It is sent when frames come.
    var isWanted: Bool { hasSource && !isMuted && !isPaused }
  }

  /// What a call begins with.
  struct Beginning {
    var hasAudioSource = false
    var isAudioMuted = false
    var hasVideoSource = false
    var isVideoMuted = false
    var hasVideoSink = false
    /// The streams are of this side; of another one. Of a call they are of both.
    var isOwn = true
    var isRemote = true
  }

  init(now: Instant) {
    localAudio = StreamMachine(.localAudio, now: now)
    localVideo = StreamMachine(.localVideo, now: now)
    remoteAudio = StreamMachine(.remoteAudio, now: now)
    remoteVideoState = StreamMachine(.remoteVideo, now: now)
    audioPublish = StreamMachine(.audioPublish, now: now)
    videoPublish = StreamMachine(.videoPublish, now: now)
    audioSubscribe = StreamMachine(.audioSubscribe, now: now)
    videoSubscribe = StreamMachine(.videoSubscribe, now: now)
  }

  // MARK: - What is asked

  /// Whether pictures of the other side are to be expected.
  var expectsPictures: Bool { remoteVideo.isExpected }
  /// Own audio is to be sent, and none has left since.
  var isPublishingAudio: Bool { audioPublish.state == .publishing }
  /// Whether the next own audio frame that leaves is to be told of (`handleAudioSent`).
  var awaitsAudioFrame: Bool { isPublishingAudio && audio.hasBeenSent }
  var awaitsVideoFrame: Bool { videoPublish.state == .publishing }
  /// The video source has come to its end.
  private(set) var hasVideoSourceEnded = false

  private mutating func takeEvents() -> [CallProgress] {
    guard !events.isEmpty else { return [] }
    defer { events.removeAll(keepingCapacity: true) }
    return events
  }

  private mutating func appendChange(_ change: StreamChange?) {
    if let change { events.append(.streamChanged(change)) }
  }

  // MARK: - Beginning and end

  /// Media may flow from now on.
  mutating func begin(_ beginning: Beginning, now: Instant) -> [CallProgress] {
    guard !hasBegun else { return [] }
    hasBegun = true
    audio.hasSource = beginning.hasAudioSource
    audio.isMuted = beginning.isAudioMuted
    video.hasSource = beginning.hasVideoSource
    video.isMuted = beginning.isVideoMuted
    if audio.isWanted { appendChange(localAudio.enter(.capturing, .started, now: now)) }
    if beginning.isOwn {
      appendChange(
        audioPublish.enter(
          audio.isWanted ? .publishing : .notPublished, audio.isWanted ? .started : .localMuted,
          now: now))
    }
    if beginning.isRemote {
      let isAwaited = !isRemoteAudioMuted && !isRemoteAudioUnwanted
      appendChange(
        audioSubscribe.enter(
          isAwaited ? .subscribing : .notSubscribed, isAwaited ? .started : reasonNotSubscribed,
          now: now))
    }
    if video.hasSource {
      appendChange(
        videoPublish.enter(
          video.isWanted ? .publishing : .notPublished, video.isWanted ? .started : .localMuted,
          now: now))
    }
    if beginning.hasVideoSink {
      appendChange(
        remoteVideo.isExpected
          ? videoSubscribe.enter(.subscribing, .started, now: now)
          : videoSubscribe.enter(.notSubscribed, .remoteMuted, now: now))
    }
    return takeEvents()
  }

  private var reasonNotSubscribed: StreamReason {
    isRemoteAudioUnwanted ? .localMuted : .remoteMuted
  }

  /// The call is over.
  mutating func end(now: Instant) -> [CallProgress] {
    guard hasBegun else { return [] }
    hasBegun = false
    appendChange(localAudio.enter(.stopped, .callEnded, now: now))
    appendChange(localVideo.enter(.stopped, .callEnded, now: now))
    appendChange(remoteAudio.enter(.stopped, .remoteOffline, now: now))
    appendChange(remoteVideoState.enter(.stopped, .remoteOffline, now: now))
    appendChange(audioPublish.enter(.idle, .callEnded, now: now))
    appendChange(videoPublish.enter(.idle, .callEnded, now: now))
    appendChange(audioSubscribe.enter(.idle, .callEnded, now: now))
    appendChange(videoSubscribe.enter(.idle, .callEnded, now: now))
    return takeEvents()
  }

  // MARK: - The own audio

  mutating func setAudioMuted(_ isMuted: Bool, now: Instant) -> [CallProgress] {
    guard isMuted != audio.isMuted else { return [] }
    audio.isMuted = isMuted
    guard hasBegun, audio.hasSource, localAudio.state != .failed else { return [] }
    if isMuted {
      appendChange(localAudio.enter(.stopped, .localMuted, now: now))
      appendChange(audioPublish.enter(.notPublished, .localMuted, now: now))
    } else {
      appendChange(localAudio.enter(.capturing, .localUnmuted, now: now))
      appendChange(audioPublish.enter(.publishing, .localUnmuted, now: now))
    }
    return takeEvents()
  }

  /// A frame of the own audio has left.
  mutating func handleAudioSent(now: Instant) -> [CallProgress] {
    guard audioPublish.state == .publishing else { return [] }
    if localAudio.state == .capturing {
      appendChange(localAudio.enter(.encoding, .firstFrame, now: now))
    }
    appendChange(audioPublish.enter(.published, .firstFrame, now: now))
    events.append(.firstFrameSent)
    audio.hasBeenSent = true
    return takeEvents()
  }

  /// The source has no more samples: silence is sent.
  mutating func handleAudioSourceEnd(now: Instant) -> [CallProgress] {
    guard hasBegun, localAudio.state != .stopped else { return [] }
    appendChange(localAudio.enter(.stopped, .sourceEnded, now: now))
    return takeEvents()
  }

  /// The audio could not be started.
  mutating func handleAudioFailure(now: Instant) -> [CallProgress] {
    appendChange(localAudio.enter(.failed, .internalFailure, now: now))
    appendChange(remoteAudio.enter(.failed, .internalFailure, now: now))
    appendChange(audioPublish.enter(.notPublished, .internalFailure, now: now))
    appendChange(audioSubscribe.enter(.notSubscribed, .internalFailure, now: now))
    return takeEvents()
  }

  // MARK: - The other side's audio

  /// The first packet of it has come.
  mutating func handleAudioArrival(now: Instant) -> [CallProgress] {
    guard remoteAudio.state == .stopped, !isRemoteAudioMuted else { return [] }
    appendChange(remoteAudio.enter(.starting, audioReturn, now: now))
    return takeEvents()
  }

  /// It is heard.
  ///
  /// - Parameter isAfterSilence: after 15 s without any.
  mutating func handleAudioPlaying(isAfterSilence: Bool, now: Instant) -> [CallProgress] {
    guard hasBegun, !isRemoteAudioMuted, !isRemoteAudioUnwanted else { return [] }
    if remoteAudio.state == .stopped, audioReturn == .started {
      appendChange(remoteAudio.enter(.starting, .started, now: now))
    }
    let reason = remoteAudio.state == .frozen ? StreamReason.networkRecovery : audioReturn
    appendChange(remoteAudio.enter(.decoding, reason == .started ? .firstFrame : reason, now: now))
    appendChange(audioSubscribe.enter(.subscribed, .firstFrame, now: now))
    if isAfterSilence { events.append(.firstFrameReceived) }
    audioReturn = .networkRecovery
    return takeEvents()
  }

  /// Nothing of it could be heard for 500 ms.
  mutating func handleAudioFreeze(now: Instant) -> [CallProgress] {
    guard remoteAudio.state == .decoding else { return [] }
    appendChange(remoteAudio.enter(.frozen, .networkCongestion, now: now))
    return takeEvents()
  }

  /// The other side says whether it sends audio.
  mutating func setRemoteAudioMuted(_ isMuted: Bool, now: Instant) -> [CallProgress] {
    guard isMuted != isRemoteAudioMuted else { return [] }
    isRemoteAudioMuted = isMuted
    events.append(.remoteAudioMuted(isMuted))
    changeRemoteAudio(isMuted ? .remoteMuted : .remoteUnmuted, now: now)
    return takeEvents()
  }

  /// This side wants to hear nothing of it, or wants to again.
  mutating func setRemoteAudioUnwanted(_ isUnwanted: Bool, now: Instant) -> [CallProgress] {
    guard isUnwanted != isRemoteAudioUnwanted else { return [] }
    isRemoteAudioUnwanted = isUnwanted
    changeRemoteAudio(isUnwanted ? .localMuted : .localUnmuted, now: now)
    return takeEvents()
  }

  private mutating func changeRemoteAudio(_ reason: StreamReason, now: Instant) {
    if isRemoteAudioMuted || isRemoteAudioUnwanted {
      appendChange(remoteAudio.enter(.stopped, reason, now: now))
      if hasBegun { appendChange(audioSubscribe.enter(.notSubscribed, reason, now: now)) }
    } else {
      audioReturn = reason
      if hasBegun { appendChange(audioSubscribe.enter(.subscribing, reason, now: now)) }
    }
  }
}

// MARK: - The own video

extension CallStreams {
  mutating func setVideoMuted(_ isMuted: Bool, now: Instant) -> [CallProgress] {
    guard isMuted != video.isMuted else { return [] }
    video.isMuted = isMuted
    return changeOwnVideo(isMuted ? .localMuted : .localUnmuted, now: now)
  }

  /// The own video gives way to audio, or returns.
  mutating func setVideoPaused(_ isPaused: Bool, now: Instant) -> [CallProgress] {
    guard isPaused != video.isPaused else { return [] }
    video.isPaused = isPaused
    return changeOwnVideo(isPaused ? .audioFallback : .audioFallbackRecovery, now: now)
  }

  private mutating func changeOwnVideo(_ reason: StreamReason, now: Instant) -> [CallProgress] {
    guard hasBegun, video.hasSource else { return [] }
    if video.isWanted {
      if localVideo.state == .stopped {
        appendChange(localVideo.enter(.capturing, reason, now: now))
      }
      appendChange(videoPublish.enter(.publishing, reason, now: now))
    } else {
      if reason == .localMuted { appendChange(localVideo.enter(.stopped, reason, now: now)) }
      appendChange(videoPublish.enter(.notPublished, reason, now: now))
    }
    return takeEvents()
  }

  /// The source gave a picture of another size than before, or its first.
  mutating func handleCapture(_ size: PictureSize, now: Instant) -> [CallProgress] {
    defer { self.size = size }
    if self.size == nil {
      if !video.isMuted { appendChange(localVideo.enter(.capturing, .started, now: now)) }
      events.append(.firstLocalVideoFrame(width: size.width, height: size.height))
    } else if self.size != size {
      events.append(.localVideoSizeChanged(width: size.width, height: size.height))
    }
    return takeEvents()
  }

  /// What the source does, as far as it deserves mention.
  mutating func handle(_ fault: CaptureFault, now: Instant) -> [CallProgress] {
    guard hasBegun, video.isWanted else { return [] }
    switch fault {
    case .silent: appendChange(localVideo.enter(.failed, .captureFailure, now: now))
    case .stuck: appendChange(localVideo.enter(.capturing, .captureFailure, now: now))
    case .working where videoPublish.state == .published:
      appendChange(localVideo.enter(.encoding, .captureRecovery, now: now))
    case .working: appendChange(localVideo.enter(.capturing, .captureRecovery, now: now))
    }
    if fault == .silent { appendChange(videoPublish.enter(.publishing, .captureFailure, now: now)) }
    return takeEvents()
  }

  /// A frame of the own video has left.
  mutating func handleVideoSent(now: Instant) -> [CallProgress] {
    guard awaitsVideoFrame else { return [] }
    if localVideo.state == .capturing {
      appendChange(localVideo.enter(.encoding, .firstFrame, now: now))
    }
    appendChange(videoPublish.enter(.published, .firstFrame, now: now))
    events.append(.firstVideoFrameSent)
    video.hasBeenSent = true
    return takeEvents()
  }

  mutating func handleVideoSourceEnd(now: Instant) -> [CallProgress] {
    hasVideoSourceEnded = true
    video.hasSource = false
    appendChange(localVideo.enter(.stopped, .sourceEnded, now: now))
    if hasBegun { appendChange(videoPublish.enter(.notPublished, .sourceEnded, now: now)) }
    events.append(.videoSourceEnded)
    return takeEvents()
  }

  /// The encoder gave up.
  mutating func handleVideoFailure(_ text: String, now: Instant) -> [CallProgress] {
    appendChange(localVideo.enter(.failed, .internalFailure, now: now))
    if hasBegun { appendChange(videoPublish.enter(.notPublished, .internalFailure, now: now)) }
    events.append(.videoFailed(text))
    return takeEvents()
  }
}

// MARK: - The other side's video

extension CallStreams {
  /// Hands what happened to the other side's video to its machine, and tells what that says.
  mutating func changeRemoteVideo(
    now: Instant, _ body: (inout RemoteVideo) -> [RemoteVideoStep]
  ) -> [CallProgress] {
    for step in body(&remoteVideo) {
      switch step {
      case .remoteVideoMuted(let isMuted): events.append(.remoteVideoMuted(isMuted))
      case .firstVideoFrameDecoded(let width, let height):
        events.append(.firstVideoFrameDecoded(width: width, height: height))
      case .remoteVideoSizeChanged(let width, let height):
        events.append(.remoteVideoSizeChanged(width: width, height: height))
      case .remoteVideoChanged(let state, let reason):
        appendChange(remoteVideoState.enter(state, reason, now: now))
        subscribe(state, reason, now: now)
      }
    }
    if videoSubscribe.state == .notSubscribed, remoteVideo.isExpected, hasBegun {
      appendChange(videoSubscribe.enter(.subscribing, remoteVideo.reason, now: now))
    }
    return takeEvents()
  }

  private mutating func subscribe(
    _ state: StreamState, _ reason: StreamReason, now: Instant
  ) {
    guard hasBegun, videoSubscribe.state != .idle else { return }
    switch state {
    case .starting: appendChange(videoSubscribe.enter(.subscribing, reason, now: now))
    case .decoding: appendChange(videoSubscribe.enter(.subscribed, .firstFrame, now: now))
    case .frozen where reason == .audioFallback:
      appendChange(videoSubscribe.enter(.notSubscribed, reason, now: now))
    case .frozen: break
    default: appendChange(videoSubscribe.enter(.notSubscribed, reason, now: now))
    }
  }
}

/// What is wrong with a source of pictures.
enum CaptureFault: Sendable, Equatable {
  case working
  /// It gave none for 4 s.
  case silent
  /// It gives the same one again and again.
  case stuck
}
