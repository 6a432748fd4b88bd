internal import Peer
internal import Primitives
internal import Reactor
internal import Wire

/// Volumes of all calls, and pictures on request.
extension Endpoint {
  /// Tells how loud this side and the others are (`EndpointEvent.volumes`), and who speaks most
  /// (`EndpointEvent.activeSpeakerChanged`); `nil` stops it. Off unless asked for.
  ///
  /// - Throws: `invalidArgument` outside `VolumeIndication.intervals` and `smoothings`.
  public func setVolumeIndication(_ indication: VolumeIndication?) throws(EarshotError) {
    guard !isClosed else { throw .closed }
    if let indication { try indication.check() }
    volumes.set(indication)
    for record in calls.values { record.audio?.setPitch(wanted: indication?.reportsPitch == true) }
    do throws(ReactorError) {
      if volumes.timer == nil {
        volumes.timer = try loop.addTimer { now in self.tellVolumes(now: now) }
      }
    } catch {
      throw .systemFailure("measuring volumes", detail: "\(error)")
    }
    guard let volumeTimer = volumes.timer else { return }
    loop.setDeadline(volumeTimer, indication.map { SystemClock.now + $0.interval })
  }

  private func tellVolumes(now: Instant) {
    guard let indication = volumes.options, let volumeTimer = volumes.timer else { return }
    let sources = calls.keys.sorted().compactMap { calls[$0]?.volumeSource(CallID($0)) }
    if !sources.isEmpty {
      let told = volumes.report(sources, now: now)
      for report in told.reports { publish(.volumes(report)) }
      if let speaker = told.speaker?.call { publish(.activeSpeakerChanged(speaker)) }
    }
    loop.setDeadline(volumeTimer, now + indication.interval)
  }

  /// Carries out what is changed in a call while it runs.
  func change<Result: Sendable>(
    _ id: CallID, _ body: @Sendable (CallRecord) throws(EarshotError) -> Result
  ) throws(EarshotError) -> Result {
    guard let record = calls[resolve(id)] else { throw .callState("There is no such call.") }
    return try body(record)
  }

  /// A copy of the next picture that is shown.
  func snapshot(_ id: CallID) async throws(EarshotError) -> VideoPicture {
    let rings = try change(id) { record throws(EarshotError) in
      guard let video = record.video, video.isReceiving else {
        throw .callState("The call has no video sink.")
      }
      return video.rings
    }
    let number = rings.wantSnapshot()
    defer { rings.endSnapshot() }
    let deadline = SystemClock.now + .seconds(1)
    while SystemClock.now < deadline, !isClosed {
      if let picture = rings.snapshot(number) { return picture }
      await rest(.milliseconds(10))
    }
    throw isClosed ? .closed : .noPicture()
  }

  /// Stops or resumes playing the audio of all calls' other sides (`Call.setRemoteAudioMuted`).
  public func setAllRemoteAudioMuted(_ isMuted: Bool) {
    for callID in calls.keys.sorted() {
      // It fails only where the call has ended.
      try? Call.switchMedia(self, CallID(callID)) { $0.audio.isRemoteMuted = isMuted }
    }
  }

  /// The same of the video of those calls that show some (`Call.setRemoteVideoMuted`).
  public func setAllRemoteVideoMuted(_ isMuted: Bool) {
    for callID in calls.keys.sorted() {
      // It fails where the call has ended, or has no video sink.
      try? Call.switchMedia(self, CallID(callID)) { $0.video.isRemoteMuted = isMuted }
    }
  }

  /// How often each call's numbers are told from now on, 0.2 to 10 s; 2 s unless set.
  ///
  /// - Throws: `invalidArgument` outside that range.
  public func setStatisticsInterval(_ interval: Duration) throws(EarshotError) {
    guard Configuration.statisticsIntervals.contains(interval) else {
      throw .invalidArgument(
        "Statistics each \(interval) are out of range.", advice: "Use 0.2 to 10 seconds.")
    }
    statisticsSchedule.setInterval(interval, now: SystemClock.now)
    updateStatisticsTimer()
  }
}

extension VolumeIndication {
  func check() throws(EarshotError) {
    guard Self.intervals.contains(interval) else {
      throw .invalidArgument(
        "Volumes each \(interval) are out of range.", advice: "Use 10 ms to 10 s.")
    }
    guard Self.smoothings.contains(smoothing) else {
      throw .invalidArgument("A smoothing of \(smoothing) is none.", advice: "Use 0 to 10.")
    }
  }
}
