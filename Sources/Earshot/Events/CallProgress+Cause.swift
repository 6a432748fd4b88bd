extension CallProgress {
  /// Whether the other side decides how often there is such a step. What is new here must say.
  package var isUpToPeer: Bool {
    switch self {
    case .message, .messagesMissed, .remoteAudioMuted, .remoteVideoMuted, .remoteAudioEnabled,
      .remoteVideoEnabled, .remoteAudioCaptureEnabled, .remoteVideoCaptureEnabled,
      .remoteVideoStreamChanged, .remoteLowVideoOffered, .remoteVideoRotated, .streamChanged,
      .remoteAudioMixing, .remoteVideoSizeChanged, .firstVideoFrameDecoded, .remoteWantsVideo,
      .fallback, .pathReady, .pathChanged, .firstFrameSent, .firstFrameReceived,
      .firstVideoFrameSent, .invitedToChannel, .channelWord:
      true
    case .lookingAgain, .delivered, .answered, .shortCode, .interrupted, .connectionLost, .away,
      .resumed, .rejoined, .replaced, .audioFailed, .localVideoRotated, .audioMixingChanged,
      .effectEnded, .firstLocalVideoFrame, .localVideoSizeChanged, .mediaStarted,
      .videoSourceEnded, .videoFailed, .messageDelivery:
      false
    }
  }
}
