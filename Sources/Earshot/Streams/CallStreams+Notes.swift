internal import Primitives

/// What the threads of a call note, for its streams.
extension CallStreams {
  /// The audio's thread has noted something.
  mutating func handle(_ note: AudioNote, now: Instant) -> [CallProgress] {
    switch note {
    case .sourceEnded: handleAudioSourceEnd(now: now)
    case .playing(let isAfterSilence):
      handleAudioPlaying(isAfterSilence: isAfterSilence, now: now)
    case .frozen: handleAudioFreeze(now: now)
    }
  }

  /// A thread of the video has noted something.
  mutating func handle(_ note: VideoNote, now: Instant) -> [CallProgress] {
    switch note {
    case .rotated(let rotation, _): [.localVideoRotated(VideoRotation(rotation))]
    case .shownRotated(let rotation): [.remoteVideoRotated(VideoRotation(rotation))]
    case .sourceEnded: handleVideoSourceEnd(now: now)
    case .captured(let size): handleCapture(size, now: now)
    case .capture(let fault): handle(fault, now: now)
    case .encodeFailed(let text): handleVideoFailure(text, now: now)
    case .decodeFailed: []
    case .noDecoder(let text):
      [.videoFailed(text)] + changeRemoteVideo(now: now) { $0.handleFailure() }
    case .shown(let picture): changeRemoteVideo(now: now) { $0.handle(picture) }
    case .frozen: changeRemoteVideo(now: now) { $0.handleFreeze() }
    }
  }
}

extension VideoNote {
  /// It is about the other side's pictures.
  var isOfRemote: Bool {
    switch self {
    case .noDecoder, .shown, .frozen: true
    case .sourceEnded, .captured, .rotated, .shownRotated, .capture, .encodeFailed, .decodeFailed:
      false
    }
  }
}
