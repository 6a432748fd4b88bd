internal import Calling
internal import Congestion
internal import Peer
internal import Primitives
internal import Wire

/// What is told of a call: from what its threads note, its network side does and the other side
/// says of itself.
extension CallRecord {
  /// The audio's thread has noted something.
  func handle(_ note: AudioNote, now: Instant) -> [CallProgress] {
    streams.handle(note, now: now)
  }

  /// A thread of the video has noted something.
  func handle(_ note: VideoNote, now: Instant) -> [CallProgress] {
    let steps = streams.handle(note, now: now)
    if note.isOfRemote { settleRemoteVideo(steps, now: now) }
    return steps
  }

  /// Something happened to the other side's video; its thread learns whether to expect pictures.
  func changeRemoteVideo(
    now: Instant, _ body: (inout RemoteVideo) -> [RemoteVideoStep]
  ) -> [CallProgress] {
    let steps = streams.changeRemoteVideo(now: now, body)
    settleRemoteVideo(steps, now: now)
    return steps
  }

  private func settleRemoteVideo(_ steps: [CallProgress], now: Instant) {
    let hasPicture = steps.contains { if case .firstVideoFrameDecoded = $0 { true } else { false } }
    if hasPicture, told.firstPicture == nil {
      told.firstPicture = Int(now.nanoseconds(since: began) / 1_000_000)
    }
    video?.expectation.set(streams.expectsPictures)
    video?.signalArrival()
  }

  /// The other side says what it sends.
  func handleMediaState(_ media: MediaState, now: Instant) -> [CallProgress] {
    let isMuted = !media.contains(.audio)
    audio?.setRemoteMuted(isMuted)
    var steps = news.handleState(media) + streams.setRemoteAudioMuted(isMuted, now: now)
    if options.videoSink != nil {
      steps += changeRemoteVideo(now: now) {
        $0.handle(sends: media.contains(.video), isPaused: media.contains(.videoPaused))
      }
    }
    return steps
  }

  /// Fallback to audio alone, and return.
  func handleFallback(
    _ change: FallbackMachine.Change, _ direction: FallbackChange.Direction,
    isSmall: Bool = false, now: Instant
  ) -> [CallProgress] {
    let at = Int(now.nanoseconds(since: began) / 1_000_000)
    var told = FallbackChange(change, direction, atMs: at)
    told.isLowStream = isSmall
    if fallbacks.count < Self.mostFallbacks { fallbacks.append(told) }
    switch direction {
    case .publish:
      return [.fallback(told)] + streams.setVideoPaused(told.isAudioOnly, now: now)
    case .subscribe:
      return [.fallback(told)]
        + changeRemoteVideo(now: now) { $0.handle(subscribesAudioOnly: told.isAudioOnly) }
    }
  }

  /// The network side has done something. Nothing of what the endpoint acts on.
  func handle(_ step: LinkStep, now: Instant) -> [CallProgress] {
    switch step {
    case .publishFallback(let change): return handleFallback(change, .publish, now: now)
    case .subscribeFallback(let change, let isSmall):
      return handleFallback(change, .subscribe, isSmall: isSmall, now: now)
    case .firstFrameSent:
      let steps = streams.handleAudioSent(now: now)
      return steps.isEmpty ? [.firstFrameSent] : steps
    case .firstFrameReceived: return streams.handleAudioArrival(now: now) + [.firstFrameReceived]
    case .said(let control): return news.handleControl(control)
    default: return CallProgress(step).map { [$0] } ?? []
    }
  }
}

extension CallProgress {
  /// What the network side did, where it is told as it is.
  init?(_ step: LinkStep) {
    switch step {
    case .pathReady(let kind, let remote): self = .pathReady(PathKind(kind), remote: remote)
    case .pathChanged(let kind, let remote): self = .pathChanged(PathKind(kind), remote: remote)
    case .shortCode(let letters): self = .shortCode(letters)
    case .remoteWants(let media): self = .remoteWantsVideo(media.contains(.video))
    case .messagesMissed(let stream, let missed, let cached):
      self = .messagesMissed(stream: stream, missed: missed, cached: cached)
    case .messageFinished(let tag, let isDelivered):
      self = .messageDelivery(tag: tag, delivered: isDelivered)
    case .lookingAgain, .peerFound, .invitation, .answered, .mediaMayFlow, .mediaMustStop,
      .audioArrived, .videoArrived, .publishFallback, .subscribeFallback, .said, .messageReceived,
      .firstFrameSent, .firstFrameReceived:
      return nil
    }
  }

  /// The same of the call itself.
  init?(_ event: CallEvent) {
    switch event {
    case .delivered: self = .delivered
    case .interrupted: self = .interrupted
    case .connectionLost: self = .connectionLost
    case .resumed: self = .resumed
    case .away(_, let absence): self = .away(for: absence)
    case .rejoined(_, let absence): self = .rejoined(after: absence)
    case .incoming, .stateChanged, .replaced, .remoteMediaChanged, .ended, .refused: return nil
    }
  }
}

extension VideoNote {
  /// What the network side has to know of it.
  func inform(_ machine: inout PeerMachine, of callID: Wire.CallID, now: Instant) {
    switch self {
    case .rotated(let rotation, let mediaTime):
      machine.say(.videoRotation(rotation, mediaTime: mediaTime), on: callID, now: now)
    case .sourceEnded:
      do throws(PeerRefusal) {
        try machine.change(callID, now: now) { $0.setVideo(sends: false) }
      } catch {
        // The call is over: nobody is to know any more.
      }
    case .decodeFailed: machine.videoDecodeFailed(of: callID, now: now)
    case .captured, .shownRotated, .capture, .encodeFailed, .noDecoder, .shown, .frozen: break
    }
  }
}
