import Calling
import Connectivity
import Primitives
import SecureSession
import Wire

/// What goes out next, in this order: path checks, signals on the path, audio, the rest. Station 7
/// of the house tour; next is `SecureSession/Session/Session.swift`.
extension CallLink {
  @_lifetime(packet: copy packet)
  func pollTransmit(
    into packet: inout OutputSpan<UInt8>, random: inout RandomSource, now: Instant
  ) -> SocketAddress? {
    if let destination = writeCheck(into: &packet, now: now) { return destination }
    if let destination = writeSignal(into: &packet, now: now) { return destination }
    guard let destination = agent.selected else { return nil }
    if writeAudio(into: &packet, now: now) { return destination }
    if association?.writePacket(into: &packet, random: &random, now: now) == true {
      return destination
    }
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
    guard mayStartMedia, let head = outgoingAudio.head,
      association?.maySendMedia(now: now) == true
    else { return false }
    Session.beginPacket(&packet)
    let frame = AudioMediaFrame(
      length: AudioMediaFrame.Length(rawValue: head.lengthCode) ?? .milliseconds20,
      isMarked: head.isMarked, mediaTime: head.mediaTime)
    frame.writeHeader(to: &packet)
    guard outgoingAudio.pop(into: &packet) != nil,
      association?.seal(&packet, elicits: true, hasMessages: false, now: now) == true
    else {
      packet.removeAll()
      return false
    }
    counters.packetsSent &+= 1
    counters.payloadBytesSent &+= UInt64(head.byteCount)
    counters.wireBytesSent &+= UInt64(packet.count)
    if counters.firstSent == nil { counters.firstSent = now }
    return true
  }

  /// What is left of 1200 bytes after header, tag and the frame's own three.
  private static let maximumSignalByteCount =
    Datagram.maximumByteCount - SealedPacket.minimumByteCount - 3
}
