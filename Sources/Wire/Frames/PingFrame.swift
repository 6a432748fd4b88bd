package import Primitives

/// PING: keeps mappings open and asks for a PONG (docs/protocol/frames.md §6).
package struct PingFrame: Equatable, Sendable, BitwiseCopyable {
  package static let byteCount = 9

  /// Comes back in the PONG.
  package var token: UInt64

  package init(token: UInt64) { self.token = token }

  package init(parsing reader: inout ByteReader) throws(WireError) {
    token = try reader.readUInt64("ping token")
  }

  @_lifetime(packet: copy packet)
  package func write(to packet: inout OutputSpan<UInt8>) {
    packet.append(FrameType.ping)
    packet.append(littleEndian: token)
  }
}

/// PONG: the answer, with the address that the PING came from (docs/protocol/frames.md §6).
package struct PongFrame: Equatable, Sendable, BitwiseCopyable {
  package static let byteCount = 9 + SocketAddress.wireByteCount

  package var token: UInt64
  package var observed: SocketAddress

  package init(token: UInt64, observed: SocketAddress) {
    self.token = token
    self.observed = observed
  }

  package init(parsing reader: inout ByteReader) throws(WireError) {
    token = try reader.readUInt64("pong token")
    observed = try SocketAddress(parsing: &reader)
  }

  @_lifetime(packet: copy packet)
  package func write(to packet: inout OutputSpan<UInt8>) {
    packet.append(FrameType.pong)
    packet.append(littleEndian: token)
    observed.write(to: &packet)
  }
}
