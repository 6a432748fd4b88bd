internal import Congestion
internal import Peer
internal import Primitives
internal import Reactor
internal import Video
internal import Wire

/// Video between the machine on the loop and the two threads of a call.
extension Endpoint {
  /// What the application wants of video; `nil` for a call with audio alone.
  static func videoSettings(_ options: CallOptions) -> VideoSettings? {
    guard options.videoSource != nil || options.videoSink != nil else { return nil }
    var settings = VideoSettings()
    settings.sends = options.videoSource != nil && !options.startsVideoMuted
    settings.audioBitsPerSecond = options.bitrate
    settings.audioFrameMilliseconds = options.frameMilliseconds
    settings.take(options)
    settings.priorRate = options.knownUplinkBitrate.map(Double.init)
    return settings
  }

  /// Begins with the audio, whose media time it keeps to.
  func startVideo(_ callID: Wire.CallID, _ record: CallRecord, _ audio: AudioRings) {
    guard record.video == nil,
      record.options.videoSource != nil || record.options.videoSink != nil
    else { return }
    do throws(ReactorError) {
      let wake = try LoopWake()
      let video = try CallVideo(
        record.options, audio: audio, turns: record.news.turns, wake: wake)
      record.videoWatch = try wake.attach(to: loop) { self.serveVideo(callID) }
      record.video = video
      serveVideo(callID)
    } catch {
      publish(.callProgress(CallID(callID), .videoFailed("\(error)")))
    }
  }

  /// Ends the threads and closes the sink's file. Harmless when repeated.
  func stopVideo(_ record: CallRecord) {
    record.video?.stop()
    if let watch = record.videoWatch.take() { loop.unwatch(watch) }
  }

  /// A thread has put something down: frames to send, room for more, something to tell.
  func serveVideo(_ callID: Wire.CallID) {
    guard let record = calls[callID], let video = record.video else { return }
    if video.isSending { sendVideo(callID, record, video) }
    takeVideo(callID)
    for note in video.rings.takeNotes() { take(note, of: callID, record) }
  }

  // MARK: - Out

  private func sendVideo(_ callID: Wire.CallID, _ record: CallRecord, _ video: CallVideo) {
    var bytes: [UInt8] = []
    swap(&bytes, &record.videoBytes)
    var hasSent = false
    driver.withMachine { machine, now in
      let tap = tap(callID, machine)
      while case .outgoing(let frame, let mediaTime)? = video.pop(into: &bytes) {
        // Sending takes the bytes.
        let kept = tap == nil ? [] : bytes
        let number = machine.sendVideo(
          frame, bytes: &bytes, mediaTime: mediaTime, on: callID, now: now)
        guard let number else { continue }
        hasSent = true
        tap?.show(frame, number, mediaTime, kept)
      }
      tap?.showRequests(callID, record, &machine)
      video.rings.setDemand(
        machine.videoDemand(of: callID, now: now, ahead: video.pictureInterval))
    }
    swap(&bytes, &record.videoBytes)
    if hasSent, record.streams.awaitsVideoFrame {
      publish(record.streams.handleVideoSent(now: SystemClock.now), of: callID)
    }
  }

  // MARK: - In

  /// Frames wait in the machine: on to the decoder, as many as it has room for.
  func takeVideo(_ callID: Wire.CallID) {
    // Until the own video has begun, what comes waits in the machine.
    guard let record = calls[callID], let video = record.video else { return }
    var bytes: [UInt8] = []
    swap(&bytes, &record.videoBytes)
    let isWanted = video.isReceiving && !record.switches.video.isUnwanted
    var count = 0
    driver.withMachine { machine, now in
      let tap = tap(callID, machine)
      while !isWanted || video.rings.inbox.withLock({ !$0.isFull }),
        let frame = machine.pollVideo(of: callID, into: &bytes, now: now)
      {
        guard isWanted else { continue }
        tap?.show(frame, bytes)
        video.push(frame, &bytes)
        count += 1
      }
      tap?.showRequests(callID, record, &machine)
    }
    swap(&bytes, &record.videoBytes)
    guard count > 0 else { return }
    video.signalArrival()
    changeRemoteVideo(callID, record) { $0.handleArrival() }
  }

  // MARK: - What is told

  private func take(_ note: VideoNote, of callID: Wire.CallID, _ record: CallRecord) {
    let now = SystemClock.now
    switch note {
    case .rotated(let rotation, let mediaTime):
      driver.withMachine { machine, now in
        machine.say(.videoRotation(rotation, mediaTime: mediaTime), on: callID, now: now)
      }
      publish(.callProgress(CallID(callID), .localVideoRotated(VideoRotation(rotation))))
    case .shownRotated(let rotation):
      publish(.callProgress(CallID(callID), .remoteVideoRotated(VideoRotation(rotation))))
    case .sourceEnded:
      changeMedia(callID) { media, _ in media.setVideo(sends: false) }
      publish(record.streams.handleVideoSourceEnd(now: now), of: callID)
    case .captured(let size): publish(record.streams.handleCapture(size, now: now), of: callID)
    case .capture(let fault): publish(record.streams.handle(fault, now: now), of: callID)
    case .encodeFailed(let text):
      publish(record.streams.handleVideoFailure(text, now: now), of: callID)
    case .decodeFailed:
      driver.withMachine { machine, now in machine.videoDecodeFailed(of: callID, now: now) }
    case .noDecoder(let text):
      publish(.callProgress(CallID(callID), .videoFailed(text)))
      changeRemoteVideo(callID, record) { $0.handleFailure() }
    case .shown(let picture): changeRemoteVideo(callID, record) { $0.handle(picture) }
    case .frozen: changeRemoteVideo(callID, record) { $0.handleFreeze() }
    }
  }

  func publish(_ steps: [CallProgress], of callID: Wire.CallID) {
    for step in steps { publish(.callProgress(CallID(callID), step)) }
  }

  private func changeRemoteVideo(
    _ callID: Wire.CallID, _ record: CallRecord,
    _ body: (inout RemoteVideo) -> [RemoteVideoStep]
  ) {
    publish(record.streams.changeRemoteVideo(now: SystemClock.now, body), of: callID)
    record.video?.expectation.set(record.streams.expectsPictures)
    record.video?.signalArrival()
  }

  /// The other side says what it sends.
  func take(_ media: MediaState, of callID: Wire.CallID) {
    guard let record = calls[callID] else { return }
    publish(record.news.take(media), of: callID)
    let isMuted = !media.contains(.audio)
    record.audio?.setRemoteMuted(isMuted)
    publish(record.streams.setRemoteAudioMuted(isMuted, now: SystemClock.now), of: callID)
    guard record.options.videoSink != nil else { return }
    changeRemoteVideo(callID, record) {
      $0.handle(sends: media.contains(.video), isPaused: media.contains(.videoPaused))
    }
  }

  /// Fallback to audio alone, and return.
  func take(
    _ change: FallbackMachine.Change, _ direction: FallbackChange.Direction,
    isSmall: Bool = false, of callID: Wire.CallID
  ) {
    guard let record = calls[callID] else { return }
    let at = Int(SystemClock.now.nanoseconds(since: record.began) / 1_000_000)
    var told = FallbackChange(change, direction, atMs: at)
    told.isLowStream = isSmall
    if record.fallbacks.count < CallRecord.mostFallbacks { record.fallbacks.append(told) }
    publish(.callProgress(CallID(callID), .fallback(told)))
    switch direction {
    case .publish:
      publish(
        record.streams.setVideoPaused(told.isAudioOnly, now: SystemClock.now), of: callID)
    case .subscribe:
      changeRemoteVideo(callID, record) { $0.handle(subscribesAudioOnly: told.isAudioOnly) }
    }
  }

  // MARK: - Commands

  /// Changes what the network side does; before it is there, the options hold when it is made.
  func changeMedia(_ callID: Wire.CallID, _ body: (CallMedia, Instant) -> Void) {
    do throws(EarshotError) {
      try command { machine, now throws(PeerRefusal) in
        try machine.change(callID, now: now) { body($0, now) }
      }
    } catch {
      // There is nobody to tell yet, or any more.
    }
  }
}

extension FallbackChange {
  init(_ change: FallbackMachine.Change, _ direction: Direction, atMs: Int) {
    let reason: Reason =
      switch change.reason {
      case .rate: .rate
      case .loss: .loss
      case .delay: .delay
      case .silence: .silence
      case .recovered: .recovered
      }
    self.init(
      direction, isAudioOnly: change.mode == .audioOnly, reason: reason,
      estimateBps: change.estimate, neededBps: change.needed, loss: change.loss, atMs: atMs)
  }
}

extension CallVideo {
  func pop(into bytes: inout [UInt8]) -> HandedFrame? {
    rings.outbox.withLock { $0.pop(into: &bytes) }
  }

  func push(_ frame: AssembledFrame, _ bytes: inout [UInt8]) {
    // There is room, and nobody else puts anything there.
    _ = rings.inbox.withLock { $0.push(.incoming(frame), &bytes) }
  }
}
