package import Congestion
package import Primitives
import SecureSession
package import Video
import Wire

/// Video's packets: in at once, out when the gate is open (docs/protocol/frames.md §10, §11).
extension CallMedia {
  // MARK: - In

  /// A packet has opened, whatever is in it.
  package func handlePacket(byteCount: Int, now: Instant) {
    video?.path.recordPacket(byteCount: byteCount, now: now)
  }

  /// - Returns: Whether it was part of a picture.
  func handleVideo(
    _ frame: Frame, in packet: Span<UInt8>, on association: Association, now: Instant
  ) -> Bool {
    switch frame {
    case .video(let fragment, let payload) where fragment.stream == 0:
      video?.path.notePicture(fragment.mediaTime, now: now)
      video?.assembler.handle(fragment, packet.bytes(at: payload), now: now)
      return true
    case .videoNack(let nack) where nack.stream == 0:
      let roundTrip = smoothedRoundTrip(association)
      video?.sender.handle(nack, in: packet, roundTrip: roundTrip, now: now)
      return false
    default: return false
    }
  }

  private func smoothedRoundTrip(_ association: Association) -> Duration {
    let estimator = association.history.roundTrip
    guard estimator.hasSample else { return .milliseconds(100) }
    return .nanoseconds(Int64(clamping: estimator.smoothed))
  }

  /// Every 100 ms: whether the path still carries video, or carries it again.
  ///
  /// - Returns: the changes, for the owner to tell.
  package func checkVideo(
    on association: Association, now: Instant
  ) -> (publishing: FallbackMachine.Change?, subscribing: FallbackMachine.Change?) {
    guard let video, mayStart, now >= video.nextCheck else { return (nil, nil) }
    video.nextCheck = now + Uplink.checkInterval
    video.assembler.roundTrip = smoothedRoundTrip(association)
    association.checkUplink(now: now)
    let longest = longestFragment(association)
    if longest != video.longestFragment {
      video.longestFragment = longest
      video.sender.limitFragments(to: longest)
    }
    association.uplink?.setElastic(
      video.isElastic(now: now), isLimited: !video.isPublishing)
    association.uplink?.setFilled(video.isPublishing && video.fill.isOpen)
    if let losses = association.uplink?.estimator.losses, video.settings.protects {
      video.sender.parity.update(
        ParityPolicy.Line(
          loss: losses.share, run: losses.run, roundTrip: video.assembler.roundTrip))
    }
    var sighting = association.uplink?.estimator.sighting(now: now)
    if let known = sighting?.estimate {
      sighting?.estimate = min(known, association.uplink?.share ?? .infinity)
    }
    return video.update(sighting, association.recorder.arrivals, now: now)
  }

  // MARK: - Out

  /// What is missing, at once; then what was missing there, new fragments.
  @_lifetime(packet: copy packet)
  func writeVideo(
    into packet: inout OutputSpan<UInt8>, on association: Association, now: Instant
  ) -> SendClass? {
    guard let video, mayStart, association.maySendMedia(now: now) else { return nil }
    if let deadline = video.requestDeadline, deadline <= now {
      video.recordRequest(now: now)
      Session.beginPacket(&packet)
      if video.assembler.pollRequest(into: &packet, now: now) {
        return seal(&packet, .feedback, on: association, now: now)
      }
      packet.removeAll()
    }
    if video.sender.hasRetransmission, association.admits(.retransmission, now: now) {
      Session.beginPacket(&packet)
      if video.sender.pollRetransmission(into: &packet, now: now) {
        return seal(&packet, .retransmission, on: association, now: now)
      }
      packet.removeAll()
    }
    if video.sender.hasFragment, association.admits(.video, now: now) {
      // Where pictures fill the line, padding never has its turn.
      if association.writeSizeTrial(into: &packet, as: .video, now: now) {
        video.fill.noteTrial(byteCount: packet.count)
        return .video
      }
      packet.removeAll()
      Session.beginPacket(&packet)
      if video.sender.pollFragment(into: &packet, now: now) {
        let rate = association.uplink?.allowance ?? 0
        video.fill.noteMedia(byteCount: packet.count, rate: rate)
        association.packetSize.noteMedia(byteCount: packet.count, now: now)
        return seal(&packet, .video, on: association, now: now)
      }
      packet.removeAll()
    }
    return nil
  }

  /// What fills the path beside all that.
  @_lifetime(packet: copy packet)
  func writePadding(
    into packet: inout OutputSpan<UInt8>, on association: Association, now: Instant
  ) -> SendClass? {
    guard let video, mayStart, association.maySendMedia(now: now) else { return nil }
    if association.writeSizeTrial(into: &packet, as: .padding, now: now) {
      video.fill.noteTrial(byteCount: packet.count)
      return .padding
    }
    return writeFill(into: &packet, video, association, now: now) ? .padding : nil
  }

  /// Only what asks for something to be sent again wants no report.
  @_lifetime(packet: copy packet)
  private func seal(
    _ packet: inout OutputSpan<UInt8>, _ sendClass: SendClass, on association: Association,
    now: Instant
  ) -> SendClass? {
    let isSealed = association.seal(
      &packet, elicits: sendClass != .feedback, hasMessages: false, now: now)
    return isSealed ? sendClass : nil
  }

  /// When `checkVideo` or `writePacket` next has something to do.
  ///
  /// - Parameter hasPath: Whether pictures can go out.
  package func deadline(on association: Association, hasPath: Bool = true) -> Instant? {
    guard mayStart, association.carriesProbes() else { return nil }
    let bulk = association.bulkDeadline(canSend: hasPath)
    guard let video else { return bulk }
    // Nothing is sent then, and what is due stays due.
    guard association.maySendMedia(now: video.nextCheck) else {
      return earliest(bulk, video.nextCheck)
    }
    var deadline = earliest(bulk, earliest(video.nextCheck, video.requestDeadline))
    guard hasPath else { return deadline }
    if let trial = association.packetSize.nextDeadline {
      let sendClass: SendClass = video.sender.hasFragment ? .video : .padding
      deadline = earliest(deadline, max(trial, association.admission(of: sendClass)))
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
  ///
  /// - Parameter beside: Bit/s of another stream of pictures that goes the same way.
  package func videoDemand(
    on association: Association, now: Instant, ahead: Duration = .zero, beside: Double = 0
  ) -> VideoDemand? {
    guard let video, video.isPublishing, mayStart, let uplink = association.uplink else {
      return nil
    }
    let all = uplink.gate.duration(video.sender.queuedByteCount)
    let waiting = all - min(all, UInt64(max(0, ahead.nanoseconds)))
    guard waiting < 2 * Self.frameTime else { return nil }
    let payload = Double(fragmentByteCount(uplink))
    let share = payload / (payload + Self.fragmentOverhead)
    let free = share * (1 - video.sender.parity.share)
    let room = (uplink.allowance - uplink.audioRate - beside) * free
    let supported =
      min(video.supportedRate(uplink.estimator, now: now), uplink.share) - uplink.audioRate - beside
    let correction = 1 - 0.5 * Double(waiting) / Double(Self.frameTime)
    let within = { (bits: Double) -> Int in
      return Int(
        min(
          max(bits, Double(video.settings.leastBitsPerSecond)), Double(video.mostBitsPerSecond)))
    }
    var demand = VideoDemand(
      bitsPerSecond: within(room * correction), steadyBitsPerSecond: within(supported * free),
      needsKeyFrame: video.sender.pollKeyFrame(now: now))
    video.limit(&demand)
    return demand
  }

  /// Queues one encoded frame; see `PeerMachine.sendVideo`.
  package func sendVideo(
    _ frame: EncodedFrame, bytes: inout [UInt8], mediaTime: UInt32, on association: Association,
    now: Instant
  ) -> UInt16? {
    guard let video, video.isPublishing, mayStart, let uplink = association.uplink else {
      return nil
    }
    video.sender.mostFragmentByteCount = fragmentByteCount(uplink)
    return video.sender.handle(frame, bytes: &bytes, mediaTime: mediaTime, now: now)
  }

  /// Small fragments where one of 1200 bytes would hold up the audio for more than 12 ms.
  private func fragmentByteCount(_ uplink: Uplink) -> Int {
    min(
      video?.longestFragment ?? VideoMediaFrame.payloadByteCounts.upperBound,
      max(300, Int(min(uplink.estimator.estimate, 1e9) * 0.012 / 8)))
  }

  private func longestFragment(_ association: Association) -> Int {
    VideoMediaFrame.payloadByteCounts.upperBound
      - (Datagram.maximumByteCount - association.packetSize.limit)
  }

  /// IP and UDP, DATA header and tag, and the VIDEO frame's own.
  private static let fragmentOverhead = 28.0 + 25 + 10
  /// In nanoseconds, at 30 pictures a second.
  private static let frameTime: UInt64 = 33_000_000
}

extension Association {
  /// Padding, to see whether a packet so long arrives; seven times a second at most.
  @_lifetime(packet: copy packet)
  func writeSizeTrial(
    into packet: inout OutputSpan<UInt8>, as sendClass: SendClass, now: Instant
  ) -> Bool {
    guard admits(sendClass, now: now),
      let byteCount = packetSize.pollTrial(now: now)
    else { return false }
    Session.beginPacket(&packet)
    packet.append(zeros: byteCount - SealedPacket.tagByteCount - packet.count)
    return seal(&packet, elicits: true, hasMessages: false, now: now)
  }
}
