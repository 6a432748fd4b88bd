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
    let association = association
    if let relay = pair.write(into: &packet, ids: pairIDs, now: now) { return relay }
    if let destination = path.writeCheck(
      into: &packet, on: association, isConfirmed: session.isConfirmed, now: now)
    {
      return destination
    }
    if let destination = path.writeBranchCheck(into: &packet, now: now) { return destination }
    if let destination = path.writeSignal(into: &packet) { return destination }
    guard let destination = path.agent.selectedPath else {
      return writeProvisionally(into: &packet, random: &random, now: now)
    }
    guard let association else { return nil }
    if media.writePacket(into: &packet, on: association, random: &random, now: now) != nil {
      return destination
    }
    return probe.write(into: &packet, on: association, now: now) ? destination : nil
  }

  /// Audio and what is short, to where the peer was heard from, until an address is proven
  /// (docs/protocol/calling.md §4).
  @_lifetime(packet: copy packet)
  private func writeProvisionally(
    into packet: inout OutputSpan<UInt8>, random: inout RandomSource, now: Instant
  ) -> DatagramPath? {
    guard path.hasDestination, let association,
      let (destination, allowed) = path.agent.provisional
    else {
      return nil
    }
    let audio = (media.outgoingAudio.head?.byteCount ?? 0) + Self.audioPacketOverhead
    let isWritten =
      audio <= allowed
      && media.writeAudio(into: &packet, on: association, takesRiders: false, now: now)
      || association.writePacket(
        into: &packet, limit: min(allowed, Datagram.maximumByteCount), random: &random, now: now)
    guard isWritten else { return nil }
    path.agent.noteSentProvisionally(byteCount: packet.count)
    return destination
  }

  /// Header, tag, reports and requests of the pipeline, and the frame's own header, at most.
  private static let audioPacketOverhead = 160
}
