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
    if bytesSent >= Self.byteBudget - 3000 { pacer.stop() }
    let isRequestDue = nextRequest <= now
    if pacer.isDue(now: now) {
      // A request rides in the train, so that it takes nothing of the line's rate.
      if isRequestDue { writeRequest(into: &packet, now: now) }
      writeTrainPacket(into: &packet, tagByteCount, now: now)
      return true
    }
    if isRequestDue, phase == .asking {
      writeRequest(into: &packet, now: now)
      note(packet.count + tagByteCount)
      return true
    }
    let isEchoDue = nextEcho.map { $0 <= now } ?? false
    guard (isRequestDue && pacer.remaining == 0) || isEchoDue else { return false }
    if isRequestDue { writeRequest(into: &packet, now: now) }
    writeEcho(into: &packet, tagByteCount, now: now)
    if isEchoDue, let due = nextEcho { nextEcho = max(due, now - echoInterval) + echoInterval }
    return true
  }

  @_lifetime(packet: copy packet)
  private mutating func writeTrainPacket(
    into packet: inout OutputSpan<UInt8>, _ tagByteCount: Int, now: Instant
  ) {
    lateness.append(Int64(clamping: pacer.take(now: now)))
    writePacket(
      into: &packet, length: pacer.payloadByteCount - tagByteCount, part: up.train?.part ?? .ramp,
      train: up.train?.id ?? 0, isEcho: false, tagByteCount, now: now)
  }

  @_lifetime(packet: copy packet)
  private mutating func writeEcho(
    into packet: inout OutputSpan<UInt8>, _ tagByteCount: Int, now: Instant
  ) {
    // While trains go up, a small packet among them would count as one of them.
    if phase == .idle { echoesSent += 1 }
    writePacket(
      into: &packet, length: Self.echoByteCount - tagByteCount, part: echoPart, train: 0,
      isEcho: true, tagByteCount, now: now)
  }

  @_lifetime(packet: copy packet)
  private mutating func writePacket(
    into packet: inout OutputSpan<UInt8>, length: Int, part: TestPackets.Part, train: UInt8,
    isEcho: Bool, _ tagByteCount: Int, now: Instant
  ) {
    var frame = ProbePacketFrame(
      run: run, sequence: UInt32(clamping: up.packets.entries.count),
      sent: UInt32(truncatingIfNeeded: now.nanoseconds / 1000))
    frame.isEcho = isEcho
    frame.train = train
    frame.write(to: &packet, filling: length)
    note(packet.count + tagByteCount)
    up.packets.append(
      TestPackets.Entry(
        sent: Int64(clamping: now.nanoseconds),
        byteCount: UInt16(clamping: packet.count + tagByteCount + overhead), part: part,
        train: train))
  }

  @_lifetime(packet: copy packet)
  private mutating func writeRequest(into packet: inout OutputSpan<UInt8>, now: Instant) {
    makeRequest().write(to: &packet)
    wantsReport = false
    nextRequest = now + requestInterval
  }

  private mutating func makeRequest() -> ProbeRequestFrame {
    requestNumber += 1
    let train = down.train
    var request = ProbeRequestFrame(
      run: run, number: requestNumber,
      payloadByteCount: UInt16(clamping: train?.payloadByteCount ?? Self.echoByteCount),
      byteBudget: UInt32(clamping: byteLimitDown))
    request.isOver = ending != nil
    request.wantsReport = wantsReport || (phase == .finishing && ending == nil)
    if let train {
      request.rate = UInt32(clamping: Int(train.rate))
      request.train = train.id
      request.trainLimit = UInt16(clamping: train.count)
    }
    request.receivedEnd = UInt32(clamping: down.packets.entries.count)
    request.receivedCount = UInt32(clamping: down.packets.receivedCount)
    request.reportedEnd = reportedEnd
    request.reportInterval = reportInterval
    return request
  }

  private var requestInterval: Duration {
    switch phase {
    case .asking: .milliseconds(100)
    case .finishing: .milliseconds(60)
    case .idle, .ramp, .steady, .loadedDownlink, .loadedUplink, .loadedBoth:
      .milliseconds(down.train == nil ? 200 : 40)
    }
  }

  /// In 10 ms. Reports must not load the line that they are not about.
  private var reportInterval: UInt8 {
    switch phase {
    case .asking, .idle, .ramp, .loadedUplink, .loadedBoth: 5
    case .steady: 25
    case .loadedDownlink, .finishing: 0
    }
  }

  @_lifetime(packet: copy packet)
  private mutating func writeFarewell(
    into packet: inout OutputSpan<UInt8>, _ tagByteCount: Int, now: Instant
  ) -> Bool {
    guard farewells > 0, nextRequest <= now else { return false }
    farewells -= 1
    makeRequest().write(to: &packet)
    nextRequest = now + .milliseconds(50)
    note(packet.count + tagByteCount)
    return true
  }

  private mutating func note(_ payloadByteCount: Int) { bytesSent += payloadByteCount + overhead }
}
