import Calling
import Congestion
import Connectivity
import Primitives
import SecureSession
import Wire

/// What goes out next, in this order: path checks, signals on the path, media with reports and
/// messages (`CallMedia`), probes. Station 7 of the house tour; next is
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
    if let association,
      media.writePacket(into: &packet, on: association, random: &random, now: now) != nil
    {
      return path
    }
    return writeProbe(into: &packet, now: now) ? path : nil
  }

  /// Audio and what is short, to where the peer was heard from, until an address is proven
  /// (docs/protocol/calling.md §4).
  @_lifetime(packet: copy packet)
  private func writeProvisionally(
    into packet: inout OutputSpan<UInt8>, random: inout RandomSource, now: Instant
  ) -> DatagramPath? {
    guard hasDestination, let association, let (path, allowed) = agent.provisional else {
      return nil
    }
    let audio = (media.outgoingAudio.head?.byteCount ?? 0) + Self.audioPacketOverhead
    let isWritten =
      audio <= allowed && media.writeAudio(into: &packet, on: association, now: now)
      || association.writePacket(
        into: &packet, limit: min(allowed, Datagram.maximumByteCount), random: &random, now: now)
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

  /// Header, tag, reports and requests of the pipeline, and the frame's own header, at most.
  private static let audioPacketOverhead = 160
  /// The least packet with CONFIRM in it, and a report.
  static let leastProvisionalByteCount = 128
}
