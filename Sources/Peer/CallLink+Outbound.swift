import Calling
import Congestion
import Connectivity
import Primitives
import SecureSession
import Wire

/// What goes out next, in this order: path checks, signals on the path, audio, reports and
/// messages, video, probes. Station 7 of the house tour; next is
/// `SecureSession/Session/Session.swift`.
extension CallLink {
  @_lifetime(packet: copy packet)
  func pollTransmit(
    into packet: inout OutputSpan<UInt8>, random: inout RandomSource, now: Instant
  ) -> DatagramPath? {
    if let path = writeCheck(into: &packet, now: now) { return path }
    if let path = writeBranchCheck(into: &packet, now: now) { return path }
    if let path = writeSignal(into: &packet, now: now) { return path }
    guard let path = agent.selectedPath else {
      return writeProvisionally(into: &packet, random: &random, now: now)
    }
    if writeAudio(into: &packet, now: now) { return path }
    if association?.writePacket(into: &packet, random: &random, now: now) == true {
      return path
    }
    if writeVideo(into: &packet, now: now) { return path }
    return writeProbe(into: &packet, now: now) ? path : nil
  }

  /// Audio and what is short, to where the peer was heard from, until an address is proven
  /// (docs/protocol/calling.md §4).
  @_lifetime(packet: copy packet)
  private func writeProvisionally(
    into packet: inout OutputSpan<UInt8>, random: inout RandomSource, now: Instant
  ) -> DatagramPath? {
    guard hasDestination, let (path, allowed) = agent.provisional else { return nil }
    let audio = (outgoingAudio.head?.byteCount ?? 0) + Self.audioPacketOverhead
    let isWritten =
      audio <= allowed && writeAudio(into: &packet, now: now)
      || association?.writePacket(
        into: &packet, limit: min(allowed, Datagram.maximumByteCount), random: &random, now: now)
        == true
    guard isWritten else { return nil }
    agent.noteSentProvisionally(byteCount: packet.count)
    return path
  }

  /// Checks go under the session's keys as soon as the other side has shown that it has them;
  /// until then under the ring keys (calling.md §4).
  @_lifetime(packet: copy packet)
  private func writeCheck(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    guard isFindingPath else { return nil }
    guard canSealChecks else { return nil }
    // Without RINGING (both called each other, or it got lost) there are no ring keys to use.
    let underSession = association != nil && (isSessionConfirmed || ringSession == nil)
    let path: DatagramPath
    if let response = agent.pollResponse() {
      Session.beginPacket(&packet)
      PathResponseFrame(token: response.token, observed: response.address).write(to: &packet)
      path = response.path
    } else if let check = agent.pollCheck(now: now) {
      Session.beginPacket(&packet)
      PathChallengeFrame(token: check.token).write(to: &packet)
      path = check.path
    } else {
      return nil
    }
    let isSealed =
      underSession
      ? association?.seal(&packet, elicits: false, hasMessages: false, now: now) ?? false
      : sealRing(&packet)
    return isSealed ? path : nil
  }

  @_lifetime(packet: copy packet)
  private func sealRing(_ packet: inout OutputSpan<UInt8>) -> Bool {
    do throws(SessionError) {
      return try ringSession?.seal(&packet) != nil
    } catch {
      packet.removeAll()
      return false
    }
  }

  /// ACCEPT on the path itself reaches the caller half a round trip earlier than by the rendezvous;
  /// what ends a call that rings arrives although the rendezvous is away.
  @_lifetime(packet: copy packet)
  private func writeSignal(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    guard ringSession != nil, let path = agent.selectedPath,
      let signal = pathSignals.removeFirst()
    else { return nil }
    Session.beginPacket(&packet)
    SignalFrame.write(signal.span, to: &packet)
    return sealRing(&packet) ? path : nil
  }

  @_lifetime(packet: copy packet)
  private func writeAudio(into packet: inout OutputSpan<UInt8>, now: Instant) -> Bool {
    guard mayStartMedia, let association else { return false }
    guard association.maySendMedia(now: now) else {
      dropAudio()
      return false
    }
    guard hasAudioToSend(now: now) else { return false }
    Session.beginPacket(&packet)
    let controls = writeAudioControls(into: &packet)
    let frame = writeAudioFrame(into: &packet)
    guard controls > 0 || frame != nil,
      association.seal(&packet, elicits: frame != nil, hasMessages: false, now: now) == true
    else {
      packet.removeAll()
      return false
    }
    counters.controlBytesSent &+= UInt64(controls)
    guard let frame else { return true }
    counters.packetsSent &+= 1
    unsent.noteSent(isHeard: association.isHeard(now: now))
    counters.payloadBytesSent &+= UInt64(frame.byteCount)
    counters.wireBytesSent &+= UInt64(packet.count - controls)
    if counters.firstSent == nil { counters.firstSent = now }
    association.uplink?.noteAudio(byteCount: packet.count, now: now)
    association.checkUplink(now: now)
    return true
  }

  /// What waits would be old by the time that media starts again.
  private func dropAudio() {
    while outgoingAudio.head != nil { holdBackAudio() }
  }

  private func holdBackAudio() {
    noteUnsentAudio()
    outgoingAudio.removeFirst()
    counters.packetsHeldBack &+= 1
  }

  /// The oldest frame that waits is not sent. Before the first one that was, nobody misses it.
  func noteUnsentAudio() {
    if counters.firstSent != nil, outgoingAudio.isHeadFrame { unsent.noteUnsent() }
  }

  /// Whether audio may leave now; in an outage what would come too late gives way (decision 0022).
  private func hasAudioToSend(now: Instant) -> Bool {
    guard let hold = association?.uplink?.hold else { return !outgoingAudio.isEmpty }
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

  /// Header, tag, reports and requests of the pipeline, and the frame's own header, at most.
  private static let audioPacketOverhead = 160
  /// The least packet with CONFIRM in it, and a report.
  static let leastProvisionalByteCount = 128
  /// Reports and requests of one packet, in bytes.
  private static let audioControlRoom = 64
}
