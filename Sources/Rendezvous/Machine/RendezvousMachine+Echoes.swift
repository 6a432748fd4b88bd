import Primitives
import Wire

/// Echoes (docs/protocol/frames.md §12): what a client asks for to learn what gets in to it.
///
/// An echo goes to the proven address of a session and nowhere else, that session is of the asking
/// identity, and all that the requests of a packet draw together is no longer than it.
extension RendezvousMachine {
  /// Always `true`: the session goes on.
  mutating func answer(
    _ request: EchoRequestFrame, of packet: inout InboundPacket, now: Instant
  ) -> Bool {
    let slot = packet.slot
    let isPlain = request.presence == .every && request.source == .usual
    let drawn = Int(request.payloadByteCount) + (isPlain ? 0 : AnswerTerms.notice)
    guard packet.isProven, packet.echoByteCount >= drawn else {
      counters.echoesRefused &+= 1
      return true
    }
    packet.echoByteCount -= drawn
    let status = send(request, of: slot, now: now)
    if status == .sent { counters.echoes &+= 1 } else { counters.echoesRefused &+= 1 }
    if status != .sent || !isPlain {
      let notice = EchoFrame(token: request.token, status: status)
      send(notice, AnswerTerms.notice, to: slot, on: registry[slot].path)
    }
    return true
  }

  /// Sends the echo; `sent`, or why it was not.
  private mutating func send(
    _ request: EchoRequestFrame, of slot: UInt32, now: Instant
  ) -> EchoFrame.Status {
    guard limiter.takeEcho(of: registry[slot].address, now: now) else { return .tooMany }
    let isOwn = request.presence == .every || request.presence == registry[slot].presence.id
    let found = isOwn ? slot : registry.find(registry[slot].id, request.presence)
    guard let target = found, registry[target].isHeard else { return .noSession }
    var path = registry[target].path
    switch request.source {
    case .usual: break
    case .otherPort:
      guard hasOtherPort else { return .noOtherPort }
      path.local = path.local.atOtherPort
    case .asker:
      let own = registry[slot].ownAddress
      let isSameFamily = registry[slot].address.family == path.remote.family
      guard own != path.local, !own.isUnspecified, isSameFamily else { return .sameAddress }
      path.local = own
    }
    let echo = EchoFrame(token: request.token, status: .echo)
    send(echo, Int(request.payloadByteCount), to: target, on: path)
    return .sent
  }

  /// Seals one packet of `byteCount` bytes of UDP payload for a session.
  private mutating func send(
    _ frame: EchoFrame, _ byteCount: Int, to slot: UInt32, on path: DatagramPath
  ) {
    guard registry[slot].sendNumber <= Self.lastNumber else { return }
    var bytes: [UInt8] = []
    bytes.append(addingCapacity: Datagram.maximumByteCount) { packet in
      packet.append(zeros: SealedPacket.headerByteCount)
      frame.write(to: &packet)
      packet.append(zeros: max(0, byteCount - SealedPacket.tagByteCount - packet.count))
      _ = registry.seal(&packet, for: slot)
    }
    guard !bytes.isEmpty else { return }
    if !answers.append(Answer(bytes: bytes, path: path)) { counters.answersDropped &+= 1 }
  }
}
