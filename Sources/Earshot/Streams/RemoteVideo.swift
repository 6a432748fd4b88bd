internal import Video
internal import Wire

/// What becomes of the other side's video: from what its MEDIA_STATE says, what this side wants,
/// and what the decoder's thread notes, the events of the API. Pure.
struct RemoteVideo {
  private(set) var state = StreamState.stopped
  private(set) var reason = StreamReason.remoteUnmuted
  private(set) var size: PictureSize?
  /// As the other side said last; nobody has said anything before the first MEDIA_STATE.
  private(set) var isMuted: Bool?
  private var isPausedByOther = false
  private var isPausedHere = false
  private var isUnwanted = false

  /// Whether pictures are to be expected at all.
  var isExpected: Bool { isMuted != true && !isPausedByOther && !isPausedHere && !isUnwanted }

  /// The other side says what it sends.
  ///
  /// - Parameter isPaused: it has fallen back to audio alone.
  mutating func handle(sends: Bool, isPaused: Bool) -> [RemoteVideoStep] {
    var steps: [RemoteVideoStep] = []
    let isMuted = !sends || isPaused
    // That there is none from the beginning is not muting; nor is what this side asked for.
    if isUnwanted {
      let mutes = !sends && !isPaused
      defer { self.isMuted = mutes }
      return mutes != (self.isMuted ?? mutes) ? [.remoteVideoMuted(mutes)] : []
    }
    if isMuted != (self.isMuted ?? !sends) || (self.isMuted == nil && isPaused) {
      steps.append(.remoteVideoMuted(isMuted))
    }
    self.isMuted = isMuted
    let wasPaused = isPausedByOther
    isPausedByOther = isPaused
    if sends, state == .stopped, reason == .remoteMuted { reason = .remoteUnmuted }
    guard state != .stopped || isPaused || wasPaused else { return steps }
    if isPaused {
      steps += enter(.frozen, .audioFallback)
    } else if !sends {
      steps += enter(.stopped, .remoteMuted)
    } else if wasPaused {
      // The next picture makes it decoding.
      reason = .audioFallbackRecovery
    }
    return steps
  }

  /// This side has asked for audio alone, or for video again.
  mutating func handle(subscribesAudioOnly isOn: Bool) -> [RemoteVideoStep] {
    isPausedHere = isOn
    guard isOn else {
      reason = .audioFallbackRecovery
      return []
    }
    return enter(.frozen, .audioFallback)
  }

  /// This side does not want it, or wants it again.
  mutating func handle(isUnwanted: Bool) -> [RemoteVideoStep] {
    guard isUnwanted != self.isUnwanted else { return [] }
    self.isUnwanted = isUnwanted
    guard isUnwanted else {
      reason = .localUnmuted
      return []
    }
    return enter(.stopped, .localMuted)
  }

  /// The first packets of a frame have come.
  mutating func handleArrival() -> [RemoteVideoStep] {
    guard state == .stopped, isExpected else { return [] }
    return enter(.starting, reason == .localUnmuted ? .localUnmuted : .remoteUnmuted)
  }

  /// A picture was shown that begins something.
  mutating func handle(_ shown: ShownPicture) -> [RemoteVideoStep] {
    var steps: [RemoteVideoStep] = []
    if isExpected, state != .decoding { steps += enter(.decoding, recovery) }
    if shown.isFirst {
      steps.append(.firstVideoFrameDecoded(width: shown.size.width, height: shown.size.height))
    } else if let size, size != shown.size {
      steps.append(
        .remoteVideoSizeChanged(width: shown.size.width, height: shown.size.height))
    }
    size = shown.size
    return steps
  }

  /// The last picture stands.
  mutating func handleFreeze() -> [RemoteVideoStep] {
    state == .decoding ? enter(.frozen, .networkCongestion) : []
  }

  /// There is no decoder.
  mutating func handleFailure() -> [RemoteVideoStep] { enter(.failed, .internalFailure) }

  /// Why it is decoding (again).
  private var recovery: StreamReason {
    switch (state, reason) {
    case (_, .localUnmuted), (_, .audioFallbackRecovery), (_, .remoteUnmuted): reason
    case (.frozen, .audioFallback): .audioFallbackRecovery
    case (.frozen, _), (.failed, _): .networkRecovery
    default: .remoteUnmuted
    }
  }

  private mutating func enter(
    _ state: StreamState, _ reason: StreamReason
  ) -> [RemoteVideoStep] {
    guard state != self.state || reason != self.reason else { return [] }
    self.state = state
    self.reason = reason
    return [.remoteVideoChanged(state, reason)]
  }
}

/// What `RemoteVideo` has to tell.
enum RemoteVideoStep: Equatable {
  case remoteVideoMuted(Bool)
  case remoteVideoChanged(StreamState, StreamReason)
  case firstVideoFrameDecoded(width: Int, height: Int)
  case remoteVideoSizeChanged(width: Int, height: Int)
}
