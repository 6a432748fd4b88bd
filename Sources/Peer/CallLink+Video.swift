import Congestion
import Connectivity
import Primitives
import SecureSession
import Video
import Wire

/// Video's packets: in at once, out when the gate is open (docs/protocol/frames.md §10, §11).
extension CallLink {
  // MARK: - In

  func takeVideo(_ frame: Frame, in packet: Span<UInt8>, now: Instant) -> Findings {
    switch frame {
    case .video(let fragment, let payload) where fragment.stream == 0:
      video?.path.notePicture(fragment.mediaTime, now: now)
      video?.assembler.handle(fragment, packet.bytes(at: payload), now: now)
      return .video
    case .videoNack(let nack) where nack.stream == 0:
      video?.sender.handle(nack, in: packet, roundTrip: smoothedRoundTrip, now: now)
      return []
    default: return []
    }
  }

  private var smoothedRoundTrip: Duration {
    guard let estimator = association?.history.roundTrip, estimator.hasSample else {
      return .milliseconds(100)
    }
    return .nanoseconds(Int64(clamping: estimator.smoothed))
  }

  /// Every 100 ms: whether the path still carries video, or carries it again.
  ///
  /// - Returns: the changes, for the owner to tell.
  func checkVideo(
    now: Instant
  ) -> (publishing: FallbackMachine.Change?, subscribing: FallbackMachine.Change?) {
    guard let video, let association, mayStartMedia, now >= video.nextCheck else {
      return (nil, nil)
    }
    video.nextCheck = now + Uplink.checkInterval
    video.assembler.roundTrip = smoothedRoundTrip
    association.checkUplink(now: now)
    let longest = longestFragment(association)
    if longest != video.longestFragment {
      video.longestFragment = longest
      video.sender.limitFragments(to: longest)
    }
    association.uplink?.setElastic(video.isPublishing)
    association.uplink?.setFilled(video.isPublishing && video.fill.isOpen)
    if let losses = association.uplink?.losses, video.settings.protects {
      video.sender.parity.update(
        ParityPolicy.Line(
          loss: losses.share, run: losses.run, roundTrip: video.assembler.roundTrip))
    }
    var sighting = association.uplink?.estimator.sighting(now: now)
    if let known = sighting?.estimate {
      sighting?.estimate = min(known, association.uplink?.share ?? .infinity)
    }
    return video.update(sighting, now: now)
  }

  // MARK: - Out

  /// What is missing, at once; then what was missing there, new fragments, padding.
  @_lifetime(packet: copy packet)
  func writeVideo(into packet: inout OutputSpan<UInt8>, now: Instant) -> Bool {
    guard let video, let association, mayStartMedia, association.maySendMedia(now: now) else {
      return false
    }
    if let deadline = video.requestDeadline, deadline <= now {
      video.noteRequest(now: now)
      Session.beginPacket(&packet)
      if video.assembler.pollRequest(into: &packet, now: now) {
        return association.seal(&packet, elicits: false, hasMessages: false, now: now)
      }
      packet.removeAll()
    }
    if video.sender.hasRetransmission, association.admits(.retransmission, now: now) {
      Session.beginPacket(&packet)
      if video.sender.pollRetransmission(into: &packet, now: now) {
        return association.seal(&packet, elicits: true, hasMessages: false, now: now)
      }
      packet.removeAll()
    }
    if video.sender.hasFragment, association.admits(.video, now: now) {
      Session.beginPacket(&packet)
      if video.sender.pollFragment(into: &packet, now: now) {
        let rate = association.uplink?.allowance ?? 0
        video.fill.noteMedia(byteCount: packet.count, rate: rate)
        association.packetSize.noteMedia(byteCount: packet.count, now: now)
        return association.seal(&packet, elicits: true, hasMessages: false, now: now)
      }
      packet.removeAll()
    }
    if writeSizeTrial(into: &packet, association, now: now) { return true }
    return writeFill(into: &packet, video, association, now: now)
  }

  /// Padding, to see whether a packet so long arrives.
  @_lifetime(packet: copy packet)
  private func writeSizeTrial(
    into packet: inout OutputSpan<UInt8>, _ association: Association, now: Instant
  ) -> Bool {
    guard association.admits(.padding, now: now),
      let byteCount = association.packetSize.pollTrial(now: now)
    else { return false }
    Session.beginPacket(&packet)
    packet.append(zeros: byteCount - SealedPacket.tagByteCount - packet.count)
    return association.seal(&packet, elicits: true, hasMessages: false, now: now)
  }

  var videoDeadline: Instant? {
    guard let video, let association, mayStartMedia, association.carriesProbes() else { return nil }
    // Nothing is sent then, and what is due stays due.
    guard association.maySendMedia(now: video.nextCheck) else { return video.nextCheck }
    var deadline = earliest(video.nextCheck, video.requestDeadline)
    guard agent.selected != nil else { return deadline }
    if let trial = association.packetSize.nextDeadline {
      deadline = earliest(deadline, max(trial, association.admission(of: .padding)))
    }
    if video.sender.hasRetransmission {
      deadline = earliest(deadline, association.admission(of: .retransmission))
    }
    if video.sender.hasFragment { deadline = earliest(deadline, association.admission(of: .video)) }
    // Reckoned as of the next check: a probe lasts seconds.
    if fillRate(video, association, now: video.nextCheck) != nil {
      deadline = earliest(deadline, max(video.nextPadding, association.admission(of: .padding)))
    }
    return deadline
  }

  /// What the encoder is to do with its next picture; see `PeerMachine.videoDemand`.
  func videoDemand(now: Instant, ahead: Duration) -> VideoDemand? {
    guard let video, video.isPublishing, mayStartMedia, hasCommonVideo,
      let uplink = association?.uplink
    else { return nil }
    let all = uplink.gate.duration(video.sender.queuedByteCount)
    let waiting = all - min(all, UInt64(max(0, ahead.nanoseconds)))
    guard waiting < 2 * Self.frameTime else { return nil }
    let payload = Double(fragmentByteCount(uplink))
    let share = payload / (payload + Self.fragmentOverhead)
    let free = share * (1 - video.sender.parity.share)
    let room = (uplink.allowance - uplink.audioRate) * free
    let supported =
      min(video.supportedRate(uplink.estimator, now: now), uplink.share) - uplink.audioRate
    let correction = 1 - 0.5 * Double(waiting) / Double(Self.frameTime)
    let within = { (bits: Double) -> Int in
      let settings = video.settings
      return Int(
        min(max(bits, Double(settings.leastBitsPerSecond)), Double(settings.mostBitsPerSecond)))
    }
    return VideoDemand(
      bitsPerSecond: within(room * correction), steadyBitsPerSecond: within(supported * free),
      needsKeyFrame: video.sender.pollKeyFrame(now: now))
  }

  /// Small fragments where one of 1200 bytes would hold up the audio for more than 12 ms.
  func fragmentByteCount(_ uplink: Uplink) -> Int {
    return min(
      video?.longestFragment ?? VideoMediaFrame.payloadByteCounts.upperBound,
      max(300, Int(min(uplink.estimator.estimate, 1e9) * 0.012 / 8)))
  }

  private func longestFragment(_ association: Association) -> Int {
    VideoMediaFrame.payloadByteCounts.upperBound
      - (Datagram.maximumByteCount - association.packetSize.limit)
  }

  /// Both sides have said that they can.
  var hasCommonVideo: Bool { ownMedia.shares(.vp8, with: remoteMedia) }

  /// IP and UDP, DATA header and tag, and the VIDEO frame's own.
  private static let fragmentOverhead = 28.0 + 25 + 10
  /// In nanoseconds, at 30 pictures a second.
  private static let frameTime: UInt64 = 33_000_000
}
