package import Primitives

/// PROBE_REQUEST: what a prober wants from now on, and what has arrived (docs/protocol/probe.md
/// §1).
package struct ProbeRequestFrame: Equatable, Sendable, BitwiseCopyable {
  package static let byteCount = 36

  /// Names the probe; not 0.
  package var run: UInt32
  /// Rises with each request.
  package var number: UInt32
  package var isOver = false
  package var wantsReport = false
  /// Bits of IP packets a second; 0 = no train.
  package var rate: UInt32 = 0
  /// Of each packet of the train, in bytes of UDP payload.
  package var payloadByteCount: UInt16
  package var train: UInt8 = 0
  package var trainLimit: UInt16 = 0
  /// One more than the highest sequence number received.
  package var receivedEnd: UInt32 = 0
  package var receivedCount: UInt32 = 0
  /// Every number before it was reported, and the report has come.
  package var reportedEnd: UInt32 = 0
  /// What the reflector may send in this run, in bytes of IP packets.
  package var byteBudget: UInt32
  /// From one report to the next, in 10 ms; 0 = none but those asked for.
  package var reportInterval: UInt8 = 0

  package init(run: UInt32, number: UInt32, payloadByteCount: UInt16, byteBudget: UInt32) {
    self.run = run
    self.number = number
    self.payloadByteCount = payloadByteCount
    self.byteBudget = byteBudget
  }

  package init(parsing reader: inout ByteReader) throws(WireError) {
    let start = reader.offset
    run = try reader.readUInt32("probe run")
    number = try reader.readUInt32("probe request number")
    let flags = try reader.readUInt8("probe request flags")
    isOver = flags & 1 != 0
    wantsReport = flags & 2 != 0
    rate = try reader.readUInt32("probe rate")
    payloadByteCount = try reader.readUInt16("probe packet length")
    train = try reader.readUInt8("probe train")
    trainLimit = try reader.readUInt16("probe train limit")
    receivedEnd = try reader.readUInt32("probe received end")
    receivedCount = try reader.readUInt32("probe received count")
    reportedEnd = try reader.readUInt32("probe reported end")
    byteBudget = try reader.readUInt32("probe byte budget")
    reportInterval = try reader.readUInt8("probe report interval")
    guard run != 0, flags & ~3 == 0,
      ProbePacketFrame.payloadByteCounts.contains(Int(payloadByteCount))
    else { throw .invalid("probe request", at: start) }
  }

  @_lifetime(packet: copy packet)
  package func write(to packet: inout OutputSpan<UInt8>) {
    packet.append(FrameType.probeRequest)
    packet.append(littleEndian: run)
    packet.append(littleEndian: number)
    packet.append((isOver ? 1 : 0) | (wantsReport ? 2 : 0))
    packet.append(littleEndian: rate)
    packet.append(littleEndian: payloadByteCount)
    packet.append(train)
    packet.append(littleEndian: trainLimit)
    packet.append(littleEndian: receivedEnd)
    packet.append(littleEndian: receivedCount)
    packet.append(littleEndian: reportedEnd)
    packet.append(littleEndian: byteBudget)
    packet.append(reportInterval)
  }
}

/// PROBE_ANSWER: what the reflector will do (docs/protocol/probe.md §1).
package struct ProbeAnswerFrame: Equatable, Sendable, BitwiseCopyable {
  package static let byteCount = 20

  package enum Status: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    case accepted = 0
    case busy = 1
    case notAllowed = 2
    case callInProgress = 3
    case budgetSpent = 4
    case over = 5
  }

  package var run: UInt32
  /// Of the request.
  package var number: UInt32
  package var status: Status
  /// Bits of IP packets a second.
  package var rateLimit: UInt32
  /// Bytes of IP packets.
  package var byteLimit: UInt32
  /// In steps of 100 ms.
  package var timeLimit: UInt16

  package init(
    run: UInt32, number: UInt32, status: Status, rateLimit: UInt32 = 0, byteLimit: UInt32 = 0,
    timeLimit: UInt16 = 0
  ) {
    self.run = run
    self.number = number
    self.status = status
    self.rateLimit = rateLimit
    self.byteLimit = byteLimit
    self.timeLimit = timeLimit
  }

  package init(parsing reader: inout ByteReader) throws(WireError) {
    let start = reader.offset
    run = try reader.readUInt32("probe run")
    number = try reader.readUInt32("probe request number")
    guard let status = Status(rawValue: try reader.readUInt8("probe status")), run != 0 else {
      throw .invalid("probe answer", at: start)
    }
    self.status = status
    rateLimit = try reader.readUInt32("probe rate limit")
    byteLimit = try reader.readUInt32("probe byte limit")
    timeLimit = try reader.readUInt16("probe time limit")
  }

  @_lifetime(packet: copy packet)
  package func write(to packet: inout OutputSpan<UInt8>) {
    packet.append(FrameType.probeAnswer)
    packet.append(littleEndian: run)
    packet.append(littleEndian: number)
    packet.append(status.rawValue)
    packet.append(littleEndian: rateLimit)
    packet.append(littleEndian: byteLimit)
    packet.append(littleEndian: timeLimit)
  }
}
