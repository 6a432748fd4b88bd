internal import Primitives
internal import Reactor

extension ChannelRelay {
  /// Tells how loud this side and the hosts that are heard by the relay are
  /// (`ChannelRelayStep.volumes`), and who of them speaks most
  /// (`ChannelRelayStep.activeSpeakerChanged`), as `Endpoint.setVolumeIndication` does of calls;
  /// `nil` stops it. Off unless asked for.
  ///
  /// - Throws: `invalidArgument` outside `VolumeIndication.intervals` and `smoothings`; `closed`
  ///   after `stop`.
  public func setVolumeIndication(_ indication: VolumeIndication?) throws(EarshotError) {
    guard !isStopped else { throw .closed }
    if let indication { try indication.check() }
    sound.volumes.set(indication)
    sound.updatePitch()
    do throws(ReactorError) {
      if sound.volumes.timer == nil {
        sound.volumes.timer = try loop.addTimer { now in self.tellVolumes(now: now) }
      }
    } catch {
      throw .systemFailure("measuring volumes", detail: "\(error)")
    }
    guard let timer = sound.volumes.timer else { return }
    loop.setDeadline(timer, indication.map { SystemClock.now + $0.interval })
  }

  private func tellVolumes(now: Instant) {
    guard let indication = sound.volumes.options, let timer = sound.volumes.timer else { return }
    // Without a seat there is nothing to hear.
    if driver != nil {
      let told = sound.reportVolumes(now: now)
      for report in told.reports { options.onStep(.volumes(report)) }
      if let uid = told.speaker?.uid { options.onStep(.activeSpeakerChanged(uid: uid)) }
    }
    loop.setDeadline(timer, now + indication.interval)
  }
}
