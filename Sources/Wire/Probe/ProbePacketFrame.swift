package import Primitives

/// PROBE_PACKET: a packet whose passage is what is measured (docs/protocol/probe.md §1), without
/// the zeros that fill it.
package struct ProbePacketFrame: Equatable, Sendable, BitwiseCopyable {
  package static let headerByteCount = 23
  /// UDP payloads that a train may have; the least is an echo.
  package static let payloadByteCounts = 72...Datagram.maximumByteCount

  package var run: UInt32
  /// From 0, each way by itself.
  package var sequence: UInt32
  /// When it was sent, in µs of the sender's clock, wraps.
  package var sent: UInt32
  /// A prober wants an answer; or a reflector gives one.
  package var isEcho = false
  package var train: UInt8 = 0
  /// What a reflector answers.
  package var answered: UInt32 = 0
  /// µs from the arrival of what is answered until this was made.
  package var delay: UInt32 = 0

  package init(run: UInt32, sequence: UInt32, sent: UInt32) {
    self.run = run
    self.sequence = sequence
    self.sent = sent
  }

  @_lifetime(reader: copy reader)
  package init(parsing reader: inout ByteReader) throws(WireError) {
    let start = reader.offset
    run = try reader.readUInt32("probe run")
    sequence = try reader.readUInt32("probe sequence")
    sent = try reader.readUInt32("probe time")
    let flags = try reader.readUInt8("probe packet flags")
    isEcho = flags & 1 != 0
    train = try reader.readUInt8("probe train")
    answered = try reader.readUInt32("probe answered")
    delay = try reader.readUInt32("probe delay")
    guard run != 0, flags & ~1 == 0 else { throw .invalid("probe packet", at: start) }
    // What fills it is not looked at: it is sealed, and no part of any decision.
    _ = try reader.readRange(reader.remaining, "probe filling")
  }

  /// Writes the frame and zeros, so that `packet` has `length` bytes; it must be the last frame.
  @_lifetime(packet: copy packet)
  package func write(to packet: inout OutputSpan<UInt8>, filling length: Int) {
    packet.append(FrameType.probePacket)
    packet.append(littleEndian: run)
    packet.append(littleEndian: sequence)
    packet.append(littleEndian: sent)
    packet.append(isEcho ? 1 : 0)
    packet.append(train)
    packet.append(littleEndian: answered)
    packet.append(littleEndian: delay)
    packet.append(zeros: min(max(0, length - packet.count), packet.freeCapacity))
  }
}
