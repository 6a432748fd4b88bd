internal import Peer
internal import Primitives
internal import Reactor
internal import Wire

/// Pictures: the own ones to the relay while somebody wants them, those of hosts to their sinks.
extension ChannelRelay {
  /// What happens from now on where the line to the relay does not carry the own pictures.
  public func setPublishFallback(_ fallback: CallOptions.VideoFallback) {
    options.fallback = fallback
    driver?.withMachine { machine, _ in machine.pictures?.setFallsBack(fallback == .audioOnly) }
  }

  func handlePictureEvent(_ event: ChannelRelayEvent) {
    switch event {
    case .firstPicture(let uid):
      options.onStep(.firstPicture(uid: uid, elapsed: SystemClock.now - streams.began))
    case .pictureViewChanged(let most):
      emit(streams.handleView(PictureFallback(most), now: SystemClock.now))
      view.apply(streams)
    case .pictureArrived(let uid): takePictures(uid)
    case .picturesTurned(let uid, let turn, let time): view.handle(turn, mediaTime: time, of: uid)
    case .publishFallback(let change):
      let now = SystemClock.now
      let told = FallbackChange(change, .publish, atMs: streams.milliseconds(at: now))
      numbers.append(told)
      options.onStep(.publishFallback(told))
      emit(streams.changeOwn { $0.setVideoPaused(told.isAudioOnly, now: now) })
    case .picturesPaused(let uid, let isPaused):
      emit(streams.changeVideo(of: uid) { $0.handle(sends: !isPaused, isPaused: false) })
      view.apply(streams)
    default: break
    }
  }

  func beginSendingPictures() {
    guard let source = options.makeVideoSource?(), let audio = sound.sendingRings else { return }
    do {
      try view.beginSending(source, audio: audio, on: loop) { self.sendPictures() }
    } catch {
      options.onStep(.videoFailed("\(error)"))
    }
  }

  func sendPictures() {
    guard
      let found = driver?.withMachine({ machine, now in
        view.sendFrames(by: &machine, now: now)
      })
    else { return }
    emit(streams.handleOwn(found.notes, hasSent: found.count > 0, now: SystemClock.now))
  }

  func takePictures(_ uid: UInt32) {
    do {
      if !view.shows(uid), let sink = options.makeVideoSink?(uid) {
        // Pictures keep to the media time of the sound.
        try beginPlaying(uid)
        guard let audio = sound.playingRings(of: uid) else { return }
        try view.beginShowing(uid, sink, audio: audio, on: loop) { self.takePictures(uid) }
        view.apply(streams)
      }
    } catch {
      return options.onStep(.videoFailed("\(error)"))
    }
    guard
      let found = driver?.withMachine({ machine, now in
        view.showFrames(of: uid, by: &machine, now: now)
      })
    else { return }
    if found.count > 0 { emit(streams.changeVideo(of: uid) { $0.handleArrival() }) }
    guard !found.notes.isEmpty else { return }
    emit(streams.handle(found.notes, of: uid, now: SystemClock.now))
    view.apply(streams)
  }
}

extension ChannelRelay.Options {
  func soundSettings(_ source: any AudioSource) -> CallOptions {
    var settings = CallOptions(source: source, sink: nil)
    settings.bitrate = bitrate
    return settings
  }

  /// What the machine of a seat is told of pictures; `nil` = there are none.
  var pictureSettings: ChannelRelayMachine.PictureSettings? {
    guard makeVideoSource != nil || makeVideoSink != nil else { return nil }
    var video = VideoSettings()
    video.sends = makeVideoSource != nil
    video.mostBitsPerSecond = maxVideoBitrate
    video.small = lowVideoStream.map(SmallVideo.init)
    video.audioBitsPerSecond = bitrate
    video.fallsBack = fallback == .audioOnly
    return ChannelRelayMachine.PictureSettings(video, receives: makeVideoSink != nil)
  }
}
