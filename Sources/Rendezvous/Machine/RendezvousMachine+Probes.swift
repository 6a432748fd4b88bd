import LastMile
import Primitives
import Wire

/// The server as a reflector of its clients' probes (docs/protocol/probe.md §3). It never probes.
extension RendezvousMachine {
  /// Only what comes from the proven address counts, and everything goes there. Always `true`: the
  /// session goes on.
  mutating func reflect(_ frame: Frame, of packet: InboundPacket, now: Instant) -> Bool {
    guard packet.isProven else { return true }
    switch frame {
    case .probeRequest(let request):
      let address = registry[packet.slot].address
      reflector.handle(
        request,
        from: Reflector.Client(
          session: packet.slot, identity: registry[packet.slot].id,
          prefix: address.limitPrefix, overhead: address.headerByteCount), now: now)
    case .probePacket(let test):
      reflector.handle(
        test, from: packet.slot, ecn: packet.marks.ecn, now: now)
    default: break
    }
    return true
  }

  @_lifetime(packet: copy packet)
  mutating func writeReflection(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    while let slot = reflector.nextSession(now: now) {
      guard registry.isUsed(slot), registry[slot].sendNumber <= Self.lastNumber else {
        reflector.drop(slot)
        continue
      }
      packet.append(zeros: SealedPacket.headerByteCount)
      guard
        reflector.writeFrames(
          to: slot, into: &packet, tagByteCount: SealedPacket.tagByteCount, now: now),
        registry.seal(&packet, for: slot) != nil
      else {
        packet.removeAll()
        reflector.drop(slot)
        continue
      }
      return registry[slot].path
    }
    return nil
  }
}
