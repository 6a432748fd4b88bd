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
  ) -> SocketAddress? {
    if let destination = writeCheck(into: &packet, now: now) { return destination }
    if let destination = writeBranchCheck(into: &packet, now: now) { return destination }
    if let destination = writeSignal(into: &packet, now: now) { return destination }
    guard let destination = agent.selected else { return nil }
    if writeAudio(into: &packet, now: now) { return destination }
    if association?.writePacket(into: &packet, random: &random, now: now) == true {
      return destination
    }
    if writeVideo(into: &packet, now: now) { return destination }
    return writeProbe(into: &packet, now: now) ? destination : nil
  }

  /// Checks go under the session's keys as soon as the other side has shown that it has them;
  /// until then under the ring keys (calling.md §4).
  @_lifetime(packet: copy packet)
  private func writeCheck(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> SocketAddress? {
    guard isFindingPath else { return nil }
    guard canSealChecks else { return nil }
    // Without RINGING (both called each other, or it got lost) there are no ring keys to use.
    let underSession = association != nil && (isSessionConfirmed || ringSession == nil)
    let destination: SocketAddress
    if let response = agent.pollResponse() {
      Session.beginPacket(&packet)
      PathResponseFrame(token: response.token, observed: response.address).write(to: &packet)
      destination = response.address
    } else if let check = agent.pollCheck(now: now) {
      Session.beginPacket(&packet)
      PathChallengeFrame(token: check.token).write(to: &packet)
      destination = check.address
    } else {
      return nil
    }
    let isSealed =
      underSession
      ? association?.seal(&packet, elicits: false, hasMessages: false, now: now) ?? false
      : sealRing(&packet)
    return isSealed ? destination : nil
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

  /// ACCEPT on the path itself reaches the caller half a round trip earlier than by the rendezvous.
  @_lifetime(packet: copy packet)
  private func writeSignal(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> SocketAddress? {
    guard !pathSignal.isEmpty, ringSession != nil, let destination = agent.selected else {
      return nil
    }
    let signal = pathSignal
    pathSignal = []
    // A body that does not fit goes by the rendezvous alone.
    guard signal.count <= Self.maximumSignalByteCount else { return nil }
    Session.beginPacket(&packet)
    SignalFrame.write(signal.span, to: &packet)
    return sealRing(&packet) ? destination : nil
  }

  @_lifetime(packet: copy packet)
  private func writeAudio(into packet: inout OutputSpan<UInt8>, now: Instant) -> Bool {
    guard mayStartMedia, hasAudioToSend(now: now), association?.maySendMedia(now: now) == true
    else { return false }
    Session.beginPacket(&packet)
    let controls = writeAudioControls(into: &packet)
    let frame = writeAudioFrame(into: &packet)
    guard controls > 0 || frame != nil,
      association?.seal(&packet, elicits: frame != nil, hasMessages: false, now: now) == true
    else {
      packet.removeAll()
      return false
    }
    counters.controlBytesSent &+= UInt64(controls)
    guard let frame else { return true }
    counters.packetsSent &+= 1
    counters.payloadBytesSent &+= UInt64(frame.byteCount)
    counters.wireBytesSent &+= UInt64(packet.count - controls)
    if counters.firstSent == nil { counters.firstSent = now }
    association?.uplink?.noteAudio(byteCount: packet.count, now: now)
    association?.checkUplink(now: now)
    return true
  }

  /// Whether audio may leave now; in an outage what would come too late gives way (decision 0022).
  private func hasAudioToSend(now: Instant) -> Bool {
    guard let hold = association?.uplink?.hold else { return !outgoingAudio.isEmpty }
    while let head = outgoingAudio.head {
      switch hold.verdict(queued: head.time, now: now) {
      case .send: return true
      case .wait: return false
      case .drop:
        outgoingAudio.removeFirst()
        counters.packetsHeldBack &+= 1
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
    guard packet.count + head.byteCount <= room else {
      // By itself it has its packet next time; if it never fits it gives way.
      if packet.count == SealedPacket.headerByteCount { outgoingAudio.removeFirst() }
      return nil
    }
    let frame = AudioMediaFrame(
      length: AudioMediaFrame.Length(rawValue: head.lengthCode) ?? .milliseconds20,
      isMarked: head.isMarked, hasCopies: head.hasCopies, mediaTime: head.mediaTime)
    frame.writeHeader(to: &packet)
    return outgoingAudio.pop(into: &packet)
  }

  /// Reports and requests of one packet, in bytes.
  private static let audioControlRoom = 64
  /// What is left of 1200 bytes after header, tag and the frame's own three.
  private static let maximumSignalByteCount =
    Datagram.maximumByteCount - SealedPacket.minimumByteCount - 3
}
