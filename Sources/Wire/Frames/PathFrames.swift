package import Primitives

/// PATH_CHALLENGE: does this path carry packets, and whose is it? (docs/protocol/calling.md §4)
package struct PathChallengeFrame: Equatable, Sendable, BitwiseCopyable {
  package static let byteCount = 9

  /// Random; whoever sends it back has received it.
  package var token: UInt64

  package init(token: UInt64) { self.token = token }

  package init(parsing reader: inout ByteReader) throws(WireError) {
    token = try reader.readUInt64("challenge token")
  }

  @_lifetime(packet: copy packet)
  package func write(to packet: inout OutputSpan<UInt8>) {
    packet.append(FrameType.pathChallenge)
    packet.append(littleEndian: token)
  }
}

/// PATH_RESPONSE: the answer, with the address that the challenge came from.
package struct PathResponseFrame: Equatable, Sendable, BitwiseCopyable {
  package static let byteCount = 9 + SocketAddress.wireByteCount

  package var token: UInt64
  package var observed: SocketAddress

  package init(token: UInt64, observed: SocketAddress) {
    self.token = token
    self.observed = observed
  }

  package init(parsing reader: inout ByteReader) throws(WireError) {
    token = try reader.readUInt64("response token")
    observed = try SocketAddress(parsing: &reader)
  }

  @_lifetime(packet: copy packet)
  package func write(to packet: inout OutputSpan<UInt8>) {
    packet.append(FrameType.pathResponse)
    packet.append(littleEndian: token)
    observed.write(to: &packet)
  }
}
