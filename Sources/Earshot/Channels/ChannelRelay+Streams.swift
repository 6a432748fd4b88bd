internal import Audio
internal import Peer
internal import Primitives
internal import Reactor

/// What becomes of streams, and what is told of them.
extension ChannelRelay {
  func emit(_ steps: [ChannelRelayStep]) { for step in steps { options.onStep(step) } }

  func beginPlaying(_ uid: UInt32) throws {
    try sound.beginPlaying(
      uid, isUnwanted: streams.mutes.audio.covers(uid), on: loop, options.makeSink
    ) { audio in self.handleSound(audio, of: uid) }
  }

  /// The pipeline of a host has noted something.
  private func handleSound(_ audio: CallAudio, of uid: UInt32) {
    let now = SystemClock.now
    for note in audio.rings.notes.withLock({ $0.drain() }) {
      emit(streams.change(uid, now: now) { $0.handle(note, now: now) })
      if note == .frozen { driver?.withMachine { sound.handleFrozen(uid, by: $0, now: $1) } }
    }
    if let new = audio.takeQualityChange() { options.onStep(.audioQualityChanged(uid: uid, new)) }
  }

  /// The own pipeline has encoded or noted something.
  func handleOwnSound(hasSent: Bool) {
    let now = SystemClock.now
    if hasSent, streams.isPublishingAudio {
      emit(streams.changeOwn { $0.handleAudioSent(now: now) })
    }
    if let driver { numbers.sampleNetwork(driver, now: now) }
    guard let rings = sound.sendingRings else { return }
    for note in rings.notes.withLock({ $0.drain() }) {
      emit(streams.changeOwn { $0.handle(note, now: now) })
    }
    for note in sound.takeMixing() { options.onStep(.progress(uid: nil, CallProgress(note))) }
  }

  func handleFirstFrame(of uid: UInt32) {
    let now = SystemClock.now
    emit(streams.change(uid, now: now) { $0.handleAudioArrival(now: now) + [.firstFrameReceived] })
  }

  func handleRemoteMute(_ uid: UInt32, _ isMuted: Bool) {
    sound.setSilent(isMuted, uid)
    let now = SystemClock.now
    emit(streams.change(uid, now: now) { $0.setRemoteAudioMuted(isMuted, now: now) })
  }

  func removeHost(_ uid: UInt32) {
    emit(streams.remove(uid, now: SystemClock.now))
    sound.remove(uid, on: loop)
    view.remove(uid, on: loop)
    driver?.withMachine { machine, _ in machine.forgetMedia(of: uid) }
  }

  /// The numbers of the seat so far; `nil` without one. Grades are those of the last 2 s.
  public var statistics: RelayStatistics? {
    driver.flatMap { numbers.read($0, sound, view, now: SystemClock.now) }
  }

  func tellStatistics(now: Instant) {
    guard let driver, let timer = numbers.timer else { return }
    let limit = options.maxVideoBitrate
    if let all = numbers.turn(driver, sound, view, streams, maxVideoBitrate: limit, now: now) {
      options.onStep(.statistics(all))
    }
    loop.setDeadline(timer, now + RelayedNumbers.interval)
  }

  /// The seat is given up. Sound and pictures may go on with another one.
  func tellEnd() {
    guard let driver else { return }
    if let timer = numbers.timer { loop.setDeadline(timer, nil) }
    if let all = numbers.end(driver, sound, view, now: SystemClock.now) {
      options.onStep(.ended(all))
    }
  }
}
