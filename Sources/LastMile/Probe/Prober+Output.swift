package import Primitives
import Wire

/// What a prober sends.
extension Prober {
  /// Writes the frames of the next packet behind the header that is there; `false` when nothing is
  /// due. `tagByteCount` bytes will follow.
  @_lifetime(packet: copy packet)
  package mutating func writeFrames(
    into packet: inout OutputSpan<UInt8>, tagByteCount: Int, now: Instant
  ) -> Bool {
    guard ending == nil else { return writeFarewell(into: &packet, tagByteCount, now: now) }
    if bytes.isSpent { trains.stopSending() }
    let isRequestDue = requests.due <= now
    if trains.pacer.isDue(now: now) {
      // A request rides in the train, so that it takes nothing of the line's rate.
      if isRequestDue { writeRequest(into: &packet, now: now) }
      writeTrainPacket(into: &packet, tagByteCount, now: now)
      return true
    }
    if isRequestDue, phase == .asking {
      writeRequest(into: &packet, now: now)
      bytes.countSent(packet.count + tagByteCount)
      return true
    }
    guard (isRequestDue && trains.pacer.remaining == 0) || echoes.isDue(now: now) else {
      return false
    }
    if isRequestDue { writeRequest(into: &packet, now: now) }
    writeEcho(into: &packet, tagByteCount, now: now)
    echoes.advance(now: now)
    return true
  }

  @_lifetime(packet: copy packet)
  private mutating func writeTrainPacket(
    into packet: inout OutputSpan<UInt8>, _ tagByteCount: Int, now: Instant
  ) {
    line.appendLateness(trains.countSent(now: now))
    writePacket(
      into: &packet, length: trains.pacer.payloadByteCount - tagByteCount,
      part: line.up.train?.part ?? .ramp, train: line.up.train?.id ?? 0, isEcho: false,
      tagByteCount, now: now)
  }

  @_lifetime(packet: copy packet)
  private mutating func writeEcho(
    into packet: inout OutputSpan<UInt8>, _ tagByteCount: Int, now: Instant
  ) {
    // While trains go up, a small packet among them would count as one of them.
    let isSecond = echoes.isSecondOfPair
    if phase == .idle, !isSecond { line.trips.countSent() }
    writePacket(
      into: &packet, length: Self.echoByteCount - tagByteCount,
      part: isSecond ? .ramp : echoPart, train: 0,
      isEcho: true, tagByteCount, now: now)
  }

  @_lifetime(packet: copy packet)
  private mutating func writePacket(
    into packet: inout OutputSpan<UInt8>, length: Int, part: TestPackets.Part, train: UInt8,
    isEcho: Bool, _ tagByteCount: Int, now: Instant
  ) {
    var frame = ProbePacketFrame(
      run: run, sequence: UInt32(clamping: line.up.packets.entries.count),
      sent: UInt32(truncatingIfNeeded: now.nanoseconds / 1000))
    frame.isEcho = isEcho
    frame.train = train
    frame.write(to: &packet, filling: length)
    bytes.countSent(packet.count + tagByteCount)
    line.up.packets.append(
      TestPackets.Entry(
        sent: Int64(clamping: now.nanoseconds),
        byteCount: UInt16(clamping: packet.count + tagByteCount + bytes.overhead), part: part,
        train: train))
  }

  @_lifetime(packet: copy packet)
  private mutating func writeRequest(into packet: inout OutputSpan<UInt8>, now: Instant) {
    nextRequest().write(to: &packet)
    requests.scheduleNext(
      in: phase, hasTrain: line.down.train != nil, sentCount: line.up.packets.entries.count,
      now: now)
  }

  @_lifetime(packet: copy packet)
  private mutating func writeFarewell(
    into packet: inout OutputSpan<UInt8>, _ tagByteCount: Int, now: Instant
  ) -> Bool {
    guard requests.farewells > 0, requests.due <= now else { return false }
    nextRequest().write(to: &packet)
    requests.countFarewell(now: now)
    bytes.countSent(packet.count + tagByteCount)
    return true
  }

  private mutating func nextRequest() -> ProbeRequestFrame {
    requests.next(
      run: run, byteBudget: bytes.downlinkLimit, down: line.down, up: line.up.train,
      phase: phase, isNarrow: echoes.isSlow, isOver: ending != nil)
  }
}
