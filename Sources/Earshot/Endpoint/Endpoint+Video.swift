internal import Congestion
internal import Peer
internal import Primitives
internal import Reactor
internal import Video
internal import Wire

/// Video between the machine on the loop and the two threads of a call.
extension Endpoint {
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
    let hasSent = video.isSending && sendVideo(callID, record, video)
    takeVideo(callID)
    // What the threads noted, they noted before they handed over the frame that it is about.
    for note in video.rings.takeNotes() { handleNote(note, of: callID, record) }
    if hasSent, record.streams.awaitsVideoFrame {
      publish(record.streams.handleVideoSent(now: SystemClock.now), of: callID)
    }
  }

  // MARK: - Out

  /// - Returns: whether a frame has left.
  private func sendVideo(
    _ callID: Wire.CallID, _ record: CallRecord, _ video: CallVideo
  ) -> Bool {
    driver.withMachine { machine, now in
      let tap = tap(callID, machine)
      let hasSent = video.rings.send(
        on: callID, &machine, &record.videoBytes, tap: tap, now: now)
      tap?.showRequests(callID, record, &machine)
      video.rings.setDemand(
        machine.videoDemand(of: callID, now: now, ahead: video.pictureInterval))
      return hasSent
    }
  }

  // MARK: - In

  /// Frames wait in the machine: on to the decoder, as many as it has room for.
  func takeVideo(_ callID: Wire.CallID) {
    // Until the own video has begun, what comes waits in the machine.
    guard let record = calls[callID], let video = record.video else { return }
    let isWanted = video.isReceiving && !record.switches.video.isUnwanted
    let count = driver.withMachine { machine, now in
      let tap = tap(callID, machine)
      let count = video.rings.receive(
        of: callID, &machine, &record.videoBytes, isWanted: isWanted, tap: tap, now: now)
      tap?.showRequests(callID, record, &machine)
      return count
    }
    guard count > 0 else { return }
    publish(record.changeRemoteVideo(now: SystemClock.now) { $0.handleArrival() }, of: callID)
  }

  // MARK: - What is told

  private func handleNote(_ note: VideoNote, of callID: Wire.CallID, _ record: CallRecord) {
    driver.withMachine { machine, now in note.inform(&machine, of: callID, now: now) }
    publish(record.handle(note, now: SystemClock.now), of: callID)
  }

  func publish(_ steps: [CallProgress], of callID: Wire.CallID) {
    for step in steps { publish(.callProgress(CallID(callID), step)) }
  }

  /// The other side says what it sends.
  func handleMediaState(_ media: MediaState, of callID: Wire.CallID) {
    guard let record = calls[callID] else { return }
    publish(record.handleMediaState(media, now: SystemClock.now), of: callID)
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

extension VideoSettings {
  /// What the application wants of video; `nil` for a call with audio alone.
  init?(_ options: CallOptions) {
    guard options.videoSource != nil || options.videoSink != nil else { return nil }
    self.init()
    sends = options.videoSource != nil && !options.startsVideoMuted
    audioBitsPerSecond = options.bitrate
    audioFrameMilliseconds = options.frameMilliseconds
    applyOptions(options)
    priorRate = options.knownUplinkBitrate.map(Double.init)
  }
}

extension InviteOptions {
  init(_ options: CallOptions) {
    self.init()
    ringTimeout = options.ringTimeout
    userExtension = options.userExtension
    video = VideoSettings(options)
    sendsAudio = options.sendsAudio
    uplinkWeight = options.uplinkWeight
    absence = options.rejoin ?? .zero
    if options.followsChannels { abilities.insert(.channels) }
  }
}

extension AnswerOptions {
  init(_ options: CallOptions) {
    self.init()
    video = VideoSettings(options)
    sendsAudio = options.sendsAudio
    uplinkWeight = options.uplinkWeight
    absence = options.rejoin ?? .zero
    if options.followsChannels { abilities.insert(.channels) }
    userExtension = options.userExtension
  }
}
