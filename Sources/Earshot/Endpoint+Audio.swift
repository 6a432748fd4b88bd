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
      takeAudio(callID)
      changeMedia(callID) { media, now in
        record.apply(record.switches, to: media, now: now)
        media.take(record.options)
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
    var hasSentFrame = false
    driver.withMachine { machine, now in
      let tap = tap(callID, machine)
      if let heard = machine.lastHeard(of: callID) { audio.rings.peerHeard.set(heard.nanoseconds) }
      var isThere = true
      while isThere {
        isThere =
          audio.rings.toSend.pop { payload, packed in
            let header = AudioLabel(packed).header
            let isSent = machine.sendAudio(payload, header, on: callID, now: now)
            hasSentFrame = hasSentFrame || (isSent && header.kind == .frame)
            if let tap, header.kind == .frame { tap.show(payload, header.frame, age: nil) }
            return true
          } ?? false
      }
    }
    if hasSentFrame, record.streams.awaitsAudioFrame {
      publish(record.streams.handleAudioSent(now: SystemClock.now), of: callID)
    }
    tellQuality(callID, audio)
    for note in audio.rings.notes.withLock({ $0.drain() }) { handle(note, of: callID) }
    for note in audio.rings.takeMixing() {
      publish(.callProgress(CallID(callID), CallProgress(note)))
      guard let told = note.told else { continue }
      driver.withMachine { machine, now in machine.say(told, on: callID, now: now) }
    }
  }

  private func handle(_ note: AudioNote, of callID: Wire.CallID) {
    guard let record = calls[callID] else { return }
    let now = SystemClock.now
    switch note {
    case .sourceEnded: publish(record.streams.handleAudioSourceEnd(now: now), of: callID)
    case .playing(let isAfterSilence):
      publish(
        record.streams.handleAudioPlaying(isAfterSilence: isAfterSilence, now: now), of: callID)
    case .frozen: publish(record.streams.handleAudioFreeze(now: now), of: callID)
    }
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
    let tap = tap(callID, machine)
    var isThere = true
    while isThere {
      isThere =
        machine.pollAudio(of: callID) { body, received in
          _ = audio.rings.received.push(body, AudioLabel(received, conditions).packed)
          if let tap, received.header.kind == .frame {
            let age = SystemClock.now.nanoseconds(since: received.arrival)
            tap.show(body, received.header.frame, age: age)
          }
          return true
        } ?? false
    }
  }
}
