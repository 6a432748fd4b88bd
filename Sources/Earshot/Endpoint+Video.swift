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
    settings.mostBitsPerSecond = options.maxVideoBitrate
    settings.audioBitsPerSecond = options.bitrate
    settings.audioFrameMilliseconds = options.frameMilliseconds
    settings.fallsBack = options.fallback == .audioOnly
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
      let video = try CallVideo(record.options, audio: audio, wake: wake)
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
    let capture = self.capture
    var hasSent = false
    driver.withMachine { machine, now in
      while case .outgoing(let frame, let mediaTime)? = Self.pop(from: video, into: &bytes) {
        // Sending takes the bytes.
        let kept = capture == nil ? [] : bytes
        let number = machine.sendVideo(
          frame, bytes: &bytes, mediaTime: mediaTime, on: callID, now: now)
        guard let number else { continue }
        hasSent = true
        if let capture {
          captureVideo(frame, number, mediaTime, kept, of: callID, machine, to: capture)
        }
      }
      if let capture { captureRequests(callID, record, &machine, to: capture) }
      video.rings.setDemand(
        machine.videoDemand(of: callID, now: now, ahead: video.pictureInterval))
    }
    swap(&bytes, &record.videoBytes)
    if hasSent, !record.hasSentVideo {
      record.hasSentVideo = true
      publish(.callProgress(CallID(callID), .firstVideoFrameSent))
    }
  }

  private static func pop(from video: CallVideo, into bytes: inout [UInt8]) -> HandedFrame? {
    video.rings.outbox.withLock { $0.pop(into: &bytes) }
  }

  // MARK: - In

  /// Frames wait in the machine: on to the decoder, as many as it has room for.
  func takeVideo(_ callID: Wire.CallID) {
    // Until the own video has begun, what comes waits in the machine.
    guard let record = calls[callID], let video = record.video else { return }
    var bytes: [UInt8] = []
    swap(&bytes, &record.videoBytes)
    let capture = self.capture
    let isWanted = video.isReceiving && !record.isRemoteVideoUnwanted
    var count = 0
    driver.withMachine { machine, now in
      while !isWanted || video.rings.inbox.withLock({ !$0.isFull }),
        let frame = machine.pollVideo(of: callID, into: &bytes, now: now)
      {
        guard isWanted else { continue }
        if let capture { captureVideo(frame, bytes, of: callID, machine, to: capture) }
        Self.push(frame, &bytes, to: video)
        count += 1
      }
      if let capture { captureRequests(callID, record, &machine, to: capture) }
    }
    swap(&bytes, &record.videoBytes)
    guard count > 0 else { return }
    video.signalArrival()
    publish(record.remoteVideo.handleArrival(), of: callID)
  }

  private static func push(
    _ frame: AssembledFrame, _ bytes: inout [UInt8], to video: CallVideo
  ) {
    // There is room, and nobody else puts anything there.
    _ = video.rings.inbox.withLock { $0.push(.incoming(frame), &bytes) }
  }

  // MARK: - What is told

  private func take(_ note: VideoNote, of callID: Wire.CallID, _ record: CallRecord) {
    switch note {
    case .sourceEnded:
      record.hasVideoSourceEnded = true
      setVideo(sends: false, of: callID)
      publish(.callProgress(CallID(callID), .videoSourceEnded))
    case .encodeFailed(let text): publish(.callProgress(CallID(callID), .videoFailed(text)))
    case .decodeFailed:
      driver.withMachine { machine, now in machine.videoDecodeFailed(of: callID, now: now) }
    case .noDecoder(let text):
      publish(.callProgress(CallID(callID), .videoFailed(text)))
      publish(record.remoteVideo.handleFailure(), of: callID)
    case .shown(let picture): publish(record.remoteVideo.handle(picture), of: callID)
    case .frozen: publish(record.remoteVideo.handleFreeze(), of: callID)
    }
  }

  private func publish(_ steps: [CallProgress], of callID: Wire.CallID) {
    for step in steps { publish(.callProgress(CallID(callID), step)) }
    guard let record = calls[callID] else { return }
    record.video?.expectation.set(record.remoteVideo.isExpected)
    record.video?.signalArrival()
  }

  /// The other side says what it sends.
  func take(_ media: MediaState, of callID: Wire.CallID) {
    guard let record = calls[callID] else { return }
    let isMuted = !media.contains(.audio)
    if isMuted != record.isRemoteAudioMuted {
      record.isRemoteAudioMuted = isMuted
      record.audio?.setRemoteMuted(isMuted)
      publish(.callProgress(CallID(callID), .remoteAudioMuted(isMuted)))
    }
    guard record.options.videoSink != nil else { return }
    let steps = record.remoteVideo.handle(
      sends: media.contains(.video), isPaused: media.contains(.videoPaused))
    publish(steps, of: callID)
  }

  /// Fallback to audio alone, and return.
  func take(
    _ change: FallbackMachine.Change, _ direction: FallbackChange.Direction,
    of callID: Wire.CallID
  ) {
    guard let record = calls[callID] else { return }
    let at = Int(SystemClock.now.nanoseconds(since: record.began) / 1_000_000)
    let told = FallbackChange(change, direction, atMs: at)
    if record.fallbacks.count < CallRecord.mostFallbacks { record.fallbacks.append(told) }
    publish(.callProgress(CallID(callID), .fallback(told)))
    guard direction == .subscribe else { return }
    publish(record.remoteVideo.handle(subscribesAudioOnly: told.isAudioOnly), of: callID)
  }

  // MARK: - Commands

  func setVideoMuted(_ id: CallID, _ isMuted: Bool) throws(EarshotError) {
    let (callID, record) = try open(id)
    guard record.options.videoSource != nil else {
      throw .callState("The call has no video source.")
    }
    guard isMuted || !record.hasVideoSourceEnded else {
      throw .callState("The video source has no more pictures.")
    }
    record.options.startsVideoMuted = isMuted
    setVideo(sends: !isMuted, of: callID)
  }

  /// Silence instead of the other side's sound, or the sound again.
  func setRemoteAudioMuted(_ id: CallID, _ isMuted: Bool) throws(EarshotError) {
    let (_, record) = try open(id)
    record.isRemoteAudioUnwanted = isMuted
    record.audio?.setUnwanted(isMuted)
  }

  /// Neither sent nor shown.
  func setVideoEnabled(_ id: CallID, _ isEnabled: Bool) throws(EarshotError) {
    let (_, record) = try open(id)
    guard record.options.videoSource != nil || record.options.videoSink != nil else {
      throw .callState("The call has no video.")
    }
    let canSend = record.options.videoSource != nil && !record.hasVideoSourceEnded
    if canSend { try setVideoMuted(id, !isEnabled) }
    if record.options.videoSink != nil { try setRemoteVideoMuted(id, !isEnabled) }
  }

  private func setVideo(sends: Bool, of callID: Wire.CallID) {
    do throws(EarshotError) {
      try command { machine, now throws(PeerRefusal) in
        try machine.setVideo(sends: sends, of: callID, now: now)
      }
    } catch {
      // The call has no video any more: the other side wanted none, or it is over.
    }
  }

  func setRemoteVideoMuted(_ id: CallID, _ isMuted: Bool) throws(EarshotError) {
    let (callID, record) = try open(id)
    guard record.options.videoSink != nil else {
      throw .callState("The call has no video sink.")
    }
    guard isMuted != record.isRemoteVideoUnwanted else { return }
    record.isRemoteVideoUnwanted = isMuted
    driver.withMachine { machine, now in
      machine.setWantsVideo(!isMuted, of: callID, now: now)
    }
    publish(record.remoteVideo.handle(isUnwanted: isMuted), of: callID)
  }

  private func open(_ id: CallID) throws(EarshotError) -> (Wire.CallID, CallRecord) {
    let callID = resolve(id)
    guard let record = calls[callID] else { throw .callState("There is no such call.") }
    return (callID, record)
  }

  func checkVideo(_ options: CallOptions) throws(EarshotError) {
    guard CallOptions.videoBitrates.contains(options.maxVideoBitrate) else {
      throw .invalidArgument(
        "\(options.maxVideoBitrate) bit/s of video is out of range.",
        advice: "Use 30000 to 20000000.")
    }
    guard let source = options.videoSource else { return }
    guard (1...60).contains(source.framesPerSecond) else {
      throw .invalidArgument(
        "\(source.framesPerSecond) pictures a second are out of range.", advice: "Use 1 to 60.")
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
