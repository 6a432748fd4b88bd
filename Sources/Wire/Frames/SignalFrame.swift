import Primitives

/// SIGNAL: a body of call signalling on the path itself (docs/protocol/calling.md §2, §3).
package enum SignalFrame {
  /// Type and length.
  package static let headerByteCount = 3

  @_lifetime(reader: copy reader)
  static func parse(_ reader: inout ByteReader) throws(WireError) -> PacketRange {
    let length = Int(try reader.readUInt16("signal length"))
    return PacketRange(try reader.readRange(length, "signal body"))
  }

  @_lifetime(packet: copy packet)
  package static func write(_ body: Span<UInt8>, to packet: inout OutputSpan<UInt8>) {
    packet.append(FrameType.signal)
    packet.append(littleEndian: UInt16(clamping: body.count))
    packet.append(span: body)
  }
}
