internal import Audio
internal import Peer
internal import Primitives
internal import Reactor
internal import Wire

/// Audio between the machine on the loop and the pipeline on its thread. Nothing here allocates
/// once a call runs, unless somebody captures media.
extension Endpoint {
  func startAudio(_ callID: Wire.CallID) {
    guard let record = calls[callID], record.audio == nil else { return }
    do {
      let wake = try LoopWake()
      let audio = try CallAudio(record.options, wake: wake)
      record.audioWatch = try wake.attach(to: loop) { self.sendAudio(callID) }
      record.audio = audio
      audio.setRemoteMuted(record.isRemoteAudioMuted)
      audio.setUnwanted(record.isRemoteAudioUnwanted)
      statisticsSchedule.begin(callID, now: SystemClock.now)
      takeAudio(callID)
      startVideo(callID, record, audio.rings)
    } catch {
      publish(.callProgress(CallID(callID), .audioFailed("\(error)")))
    }
    updateStatisticsTimer()
  }

  /// Stops or resumes the own audio. Without a source there is none to resume.
  func setAudioMuted(_ id: CallID, _ isMuted: Bool) throws(EarshotError) {
    let callID = resolve(id)
    guard let record = calls[callID] else { throw .callState("There is no such call.") }
    guard isMuted || record.options.source != nil else {
      throw .callState("The call has no audio source.")
    }
    try command { machine, now throws(PeerRefusal) in
      try machine.setAudioMuted(callID, isMuted, now: now)
    }
    record.audio?.setMuted(isMuted)
    record.options.startsMuted = isMuted
  }

  /// Neither sent nor played.
  func setAudioEnabled(_ id: CallID, _ isEnabled: Bool) throws(EarshotError) {
    let hasSource = calls[resolve(id)]?.options.source != nil
    if hasSource || !isEnabled { try setAudioMuted(id, !isEnabled) }
    try setRemoteAudioMuted(id, !isEnabled)
  }

  /// The call is over, and its record is given up after this: sinks whose thread never began are
  /// finished here.
  func finishMedia(_ record: CallRecord) {
    stopAudio(record)
    if record.audio == nil {
      record.options.sink?.finish()
      record.options.arrivals?.finish()
    }
    if record.video == nil { record.options.videoSink?.finish() }
  }

  /// Ends the thread, finishes the sinks, and gives the loop its place back. Harmless when
  /// repeated, and when no audio was begun.
  func stopAudio(_ record: CallRecord) {
    stopVideo(record)
    record.audio?.stop()
    if let watch = record.audioWatch.take() { loop.unwatch(watch) }
  }

  /// The pipeline has encoded something.
  private func sendAudio(_ callID: Wire.CallID) {
    guard let audio = calls[callID]?.audio else { return }
    sampleNetwork(callID)
    let isCapturing = capture != nil
    driver.withMachine { machine, now in
      let remote = isCapturing ? machine.statistics(of: callID)?.remote : nil
      if let heard = machine.lastHeard(of: callID) { audio.rings.peerHeard.set(heard.nanoseconds) }
      var isThere = true
      while isThere {
        isThere =
          audio.rings.toSend.pop { payload, packed in
            let header = AudioLabel(packed).header
            _ = machine.sendAudio(payload, header, on: callID, now: now)
            if let remote, header.kind == .frame {
              self.capture(payload, header.frame, from: remote, age: nil)
            }
            return true
          } ?? false
      }
    }
    tellQuality(callID, audio)
  }

  private func tellQuality(_ callID: Wire.CallID, _ audio: CallAudio) {
    guard let change = audio.rings.qualityChange.withLock({ $0.take() }) else { return }
    let jitter = Double(audio.statistics.playout.jitterNanoseconds) / 1e6
    publish(.audioQualityChanged(CallID(callID), AudioQualityChange(change, jitterMs: jitter)))
  }

  /// Something came in: on to the pipeline, which looks when it next plays.
  func takeAudio(_ callID: Wire.CallID) {
    // Until the own audio has begun, what comes waits in the machine.
    guard let audio = calls[callID]?.audio else { return }
    driver.withMachine { machine, _ in takeAudio(callID, audio, &machine) }
  }

  private func takeAudio(
    _ callID: Wire.CallID, _ audio: CallAudio, _ machine: inout PeerMachine
  ) {
    let conditions = PathConditions(
      roundTrip: machine.roundTrip(of: callID), allowance: machine.audioAllowance(of: callID))
    let remote = capture == nil ? nil : machine.statistics(of: callID)?.remote
    var isThere = true
    while isThere {
      isThere =
        machine.pollAudio(of: callID) { body, received in
          _ = audio.rings.received.push(body, AudioLabel(received, conditions).packed)
          if let remote, received.header.kind == .frame {
            let age = SystemClock.now.nanoseconds(since: received.arrival)
            self.capture(body, received.header.frame, from: remote, age: age)
          }
          return true
        } ?? false
    }
  }

  // MARK: - Capture

  /// The frame's own Opus packet, without copies: what RTP would carry.
  private static func primary(of body: Span<UInt8>, hasCopies: Bool) -> [UInt8] {
    var bytes: [UInt8] = []
    do throws(WireError) {
      let range = try AudioBody(body, hasCopies: hasCopies).primary
      bytes.reserveCapacity(range.count)
      for index in range.range { bytes.append(body[index]) }
    } catch {
      return []  // Checked when its packet was read, and counted there.
    }
    return bytes
  }

  /// - Parameters:
  ///   - remote: where it came from or goes to.
  ///   - age: how long ago it came, in nanoseconds; `nil` for what is sent.
  private func capture(
    _ body: Span<UInt8>, _ frame: AudioMediaFrame, from remote: SocketAddress, age: UInt64?
  ) {
    guard let capture else { return }
    let payload = Self.primary(of: body, hasCopies: frame.hasCopies)
    guard !payload.isEmpty else { return }
    capture.capture(
      CapturedFrame(
        isOutgoing: age == nil, local: localAddress(toward: remote), remote: remote,
        mediaTime: frame.mediaTime, isMarked: frame.isMarked,
        wallNanoseconds: SystemClock.wallNanoseconds &- (age ?? 0)),
      payload: payload)
  }
}
