internal import Peer
internal import Primitives
internal import Reactor
internal import Wire

/// Pictures: the own ones to the relay while somebody wants them, those of hosts to their sinks.
extension ChannelRelay {
  var pictureSettings: ChannelRelayMachine.PictureSettings? {
    guard options.makeVideoSource != nil || options.makeVideoSink != nil else { return nil }
    var video = VideoSettings()
    video.sends = options.makeVideoSource != nil
    video.mostBitsPerSecond = options.maxVideoBitrate
    video.small = options.lowVideoStream.map(SmallVideo.init)
    video.audioBitsPerSecond = options.bitrate
    video.fallsBack = options.fallback == .audioOnly
    return ChannelRelayMachine.PictureSettings(video, receives: options.makeVideoSink != nil)
  }

  /// What happens from now on where the line to the relay does not carry the own pictures.
  public func setPublishFallback(_ fallback: CallOptions.VideoFallback) {
    options.fallback = fallback
    driver?.withMachine { machine, _ in machine.setFallsBack(fallback == .audioOnly) }
  }

  func handlePictureEvent(_ event: ChannelRelayEvent) {
    switch event {
    case .firstPicture(let uid): options.onStep(.firstPicture(uid: uid))
    case .pictureStreamChanged(let uid, let isLow):
      options.onStep(.pictureStreamChanged(uid: uid, isLow: isLow))
    case .pictureViewChanged(let view): options.onStep(.subscribeFallback(PictureFallback(view)))
    case .pictureArrived(let uid): takePictures(uid)
    case .publishFallback(let change):
      let at = Int((SystemClock.now - began).milliseconds)
      options.onStep(.publishFallback(FallbackChange(change, .publish, atMs: at)))
    case .picturesPaused(let uid, let isPaused):
      options.onStep(.picturesPaused(uid: uid, isPaused: isPaused))
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
    let fault = driver?.withMachine { machine, now in view.sendFrames(by: &machine, now: now) }
    if let fault { options.onStep(.videoFailed(fault)) }
  }

  func takePictures(_ uid: UInt32) {
    do {
      if !view.shows(uid), let sink = options.makeVideoSink?(uid) {
        // Pictures keep to the media time of the sound.
        try sound.beginPlaying(uid, on: loop, options.makeSink)
        guard let audio = sound.playingRings(of: uid) else { return }
        try view.beginShowing(uid, sink, audio: audio, on: loop) { self.takePictures(uid) }
      }
    } catch {
      return options.onStep(.videoFailed("\(error)"))
    }
    let fault = driver?.withMachine { machine, now in
      view.showFrames(of: uid, by: &machine, now: now)
    }
    if let fault { options.onStep(.videoFailed(fault)) }
  }
}
