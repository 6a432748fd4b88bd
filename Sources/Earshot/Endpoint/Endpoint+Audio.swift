internal import Audio
internal import Peer
internal import Primitives
internal import Reactor
internal import Wire

/// Audio between the machine on the loop and the pipeline on its thread. Nothing here allocates
/// once a call runs, unless somebody captures media.
extension Endpoint {
  func startAudio(_ callID: Wire.CallID) {
    guard let record = calls[callID] else { return }
    if let audio = record.audio { return setAudioIntake(callID, audio) }
    publish(record.streams.begin(record.options.streams, now: SystemClock.now), of: callID)
    do {
      let wake = try LoopWake()
      let audio = try CallAudio(record.options, wake: wake)
      record.audioWatch = try wake.attach(to: loop) { self.sendAudio(callID) }
      record.audio = audio
      audio.setRemoteMuted(record.streams.isRemoteAudioMuted)
      audio.setUnwanted(record.streams.isRemoteAudioUnwanted)
      audio.setVolume(capture: record.volumes.capture, playback: record.volumes.playback)
      audio.setPitch(wanted: volumes.options?.reportsPitch == true)
      statisticsSchedule.begin(callID, now: SystemClock.now)
      setAudioIntake(callID, audio)
      changeMedia(callID) { media, now in
        record.apply(record.switches, to: media, now: now)
        media.applyOptions(record.options)
      }
      startVideo(callID, record, audio.rings)
    } catch {
      publish(record.streams.handleAudioFailure(now: SystemClock.now), of: callID)
      publish(.callProgress(CallID(callID), .audioFailed("\(error)")))
    }
    updateStatisticsTimer()
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
    guard let record = calls[callID], let audio = record.audio else { return }
    sampleNetwork(callID)
    let hasSentFrame = driver.withMachine { machine, now in
      audio.rings.send(on: callID, &machine, tap: tap(callID, machine), now: now)
    }
    if hasSentFrame, record.streams.awaitsAudioFrame {
      publish(record.streams.handleAudioSent(now: SystemClock.now), of: callID)
    }
    tellQuality(callID, audio)
    for note in audio.rings.notes.withLock({ $0.drain() }) {
      publish(record.handle(note, now: SystemClock.now), of: callID)
    }
    for note in audio.rings.takeMixing() {
      publish(.callProgress(CallID(callID), CallProgress(note)))
      guard let told = note.told else { continue }
      driver.withMachine { machine, now in machine.say(told, on: callID, now: now) }
    }
  }

  private func tellQuality(_ callID: Wire.CallID, _ audio: CallAudio) {
    guard let change = audio.takeQualityChange() else { return }
    publish(.audioQualityChanged(CallID(callID), change))
  }

  /// From now on what comes goes from its packet into the pipeline's ring; only where media is
  /// captured it comes by here.
  func setAudioIntake(_ callID: Wire.CallID, _ audio: CallAudio) {
    takeAudio(callID)
    let isCaptured = capture != nil
    driver.withMachine { machine, _ in
      machine.setAudioIntake(isCaptured ? nil : audio.rings, of: callID)
    }
  }

  /// Something came in: on to the pipeline, which looks when it next plays.
  func takeAudio(_ callID: Wire.CallID) {
    // Until the own audio has begun, what comes waits in the machine.
    guard let audio = calls[callID]?.audio else { return }
    driver.withMachine { machine, _ in
      audio.rings.receive(of: callID, &machine, tap: tap(callID, machine))
    }
  }
}
