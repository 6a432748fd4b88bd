import Congestion
import Messaging
package import Primitives
import SecureSession
package import Wire

/// Audio's packets: queued by the pipeline, sent at once; received ones wait for it.
extension CallMedia {
  // MARK: - In

  /// Queues an encoded frame; the oldest gives way where the queue is full.
  ///
  /// - Returns: `false` if it is longer than an Opus packet can be.
  package func queueAudio(
    _ body: Span<UInt8>, _ frame: AudioMediaFrame, now: Instant
  ) -> Bool {
    if outgoingAudio.isFull { countUnsentAudio() }
    return outgoingAudio.push(
      body,
      AudioFrameQueue.Entry(
        mediaTime: frame.mediaTime, lengthCode: frame.length.rawValue, isMarked: frame.isMarked,
        hasCopies: frame.hasCopies, time: now))
  }

  /// Queues a report or a request of the pipeline in the same way.
  package func queueAudioControl(_ body: Span<UInt8>, _ kind: AudioKind, now: Instant) -> Bool {
    if outgoingAudio.isFull { countUnsentAudio() }
    return outgoingAudio.push(body, AudioFrameQueue.Entry(kind: kind, time: now))
  }

  /// An AUDIO frame has come.
  func handleAudio(
    _ audio: AudioMediaFrame, _ body: Span<UInt8>, on association: Association, now: Instant
  ) {
    guard audio.stream == 0 else { return }
    counters.packetsReceived &+= 1
    counters.payloadBytesReceived &+= UInt64(body.count)
    if counters.firstReceived == nil { counters.firstReceived = now }
    counters.lastReceived = now
    video?.path.noteSound(end: audio.mediaTime &+ audio.length.mediaTimeSteps, now: now)
    incomingAudio.deliver(
      body,
      AudioFrameQueue.Entry(
        mediaTime: audio.mediaTime, lengthCode: audio.length.rawValue, isMarked: audio.isMarked,
        hasCopies: audio.hasCopies, time: now),
      on: association, allowance: audioAllowance(on: association))
  }

  /// An AUDIO_REPORT or AUDIO_REQUEST has come: for the pipeline.
  func handleAudioControl(
    _ frame: Frame, _ body: Span<UInt8>, on association: Association, now: Instant
  ) {
    var entry = AudioFrameQueue.Entry(kind: .request, time: now)
    if case .audioReport = frame { entry.kind = .report }
    incomingAudio.deliver(
      body, entry, on: association, allowance: audioAllowance(on: association))
  }

  /// Shows the oldest received body to `take`, in place, and then removes it.
  package func pollAudio<Result>(_ take: (Span<UInt8>, ReceivedAudio) -> Result) -> Result? {
    incomingAudio.pop(take)
  }

  // MARK: - Out

  /// What audio may take of the line at the moment; `nil` while no media goes out.
  package func audioAllowance(on association: Association) -> Int? {
    association.uplink?.audioAllowance(beside: video)
  }

  /// - Parameter takesRiders: CONFIRM goes along until it is acknowledged.
  @_lifetime(packet: copy packet)
  func writeAudio(
    into packet: inout OutputSpan<UInt8>, on association: Association, takesRiders: Bool = true,
    now: Instant
  ) -> Bool {
    guard mayStart else { return false }
    guard association.maySendMedia(now: now) else {
      dropAudio()
      return false
    }
    guard hasAudioToSend(on: association, now: now) else { return false }
    Session.beginPacket(&packet)
    var controls = writeAudioControls(into: &packet)
    let riderStart = packet.count
    let hasRiders =
      takesRiders && outgoingAudio.head?.leavesRiderRoom == true
      && association.messages.writeRiders(into: &packet, room: Self.riderRoom)
    controls += packet.count - riderStart
    let frame = writeAudioFrame(into: &packet)
    guard controls > 0 || frame != nil,
      association.seal(&packet, elicits: frame != nil, hasMessages: hasRiders, now: now)
    else {
      packet.removeAll()
      return false
    }
    counters.controlBytesSent &+= UInt64(controls)
    guard let frame else { return true }
    counters.packetsSent &+= 1
    unsent.countSent(isHeard: association.isHeard(now: now))
    counters.payloadBytesSent &+= UInt64(frame.byteCount)
    counters.wireBytesSent &+= UInt64(packet.count - controls)
    if counters.firstSent == nil { counters.firstSent = now }
    association.uplink?.recordAudio(byteCount: packet.count, now: now)
    association.checkUplink(now: now)
    return true
  }

  /// What waits would be old by the time that media starts again.
  private func dropAudio() {
    while outgoingAudio.head != nil { holdBackAudio() }
  }

  private func holdBackAudio() {
    countUnsentAudio()
    outgoingAudio.removeFirst()
    counters.packetsHeldBack &+= 1
  }

  /// The oldest frame that waits is not sent. Before the first one that was, nobody misses it.
  private func countUnsentAudio() {
    if counters.firstSent != nil, outgoingAudio.isHeadFrame { unsent.countUnsent() }
  }

  /// Whether audio may leave now; in an outage what would come too late gives way (decision 0022).
  private func hasAudioToSend(on association: Association, now: Instant) -> Bool {
    guard let hold = association.uplink?.hold else { return !outgoingAudio.isEmpty }
    while let head = outgoingAudio.head {
      switch hold.verdict(queued: head.time, now: now) {
      case .send: return true
      case .wait: return false
      case .drop: holdBackAudio()
      }
    }
    return false
  }

  /// What the pipeline says to the other one goes with the next frame, if one waits as well.
  ///
  /// - Returns: how many bytes it took.
  @_lifetime(packet: copy packet)
  private func writeAudioControls(into packet: inout OutputSpan<UInt8>) -> Int {
    let start = packet.count
    while let head = outgoingAudio.head, head.kind != .frame,
      packet.count - start + head.byteCount < Self.audioControlRoom
    {
      packet.append(head.kind == .report ? FrameType.audioReport : FrameType.audioRequest)
      _ = outgoingAudio.pop(into: &packet)
    }
    return packet.count - start
  }

  /// The oldest frame, if it is the turn of one and the packet has room for it.
  @_lifetime(packet: copy packet)
  private func writeAudioFrame(
    into packet: inout OutputSpan<UInt8>
  ) -> AudioFrameQueue.Entry? {
    guard let head = outgoingAudio.head, head.kind == .frame else { return nil }
    let room =
      Datagram.maximumByteCount - SealedPacket.tagByteCount - AudioMediaFrame.headerByteCount
    let headerEnd = unsent.isDue ? outgoingAudio.headerEnd : nil
    let extra = headerEnd == nil ? 0 : AudioBody.unsentCountCost
    guard packet.count + head.byteCount + extra <= room else {
      // By itself it has its packet next time; if it never fits it gives way.
      if packet.count == SealedPacket.headerByteCount { holdBackAudio() }
      return nil
    }
    let frame = AudioMediaFrame(
      length: AudioMediaFrame.Length(rawValue: head.lengthCode) ?? .milliseconds20,
      isMarked: head.isMarked, hasCopies: head.hasCopies || headerEnd != nil,
      mediaTime: head.mediaTime)
    frame.writeHeader(to: &packet)
    guard let headerEnd else { return outgoingAudio.pop(into: &packet) }
    return outgoingAudio.pop(into: &packet, saying: unsent.count, behind: headerEnd)
  }

  /// Reports and requests of one packet, in bytes.
  private static let audioControlRoom = 64
  /// CONFIRM as MSG, 43 bytes.
  private static let riderRoom = 64
}
