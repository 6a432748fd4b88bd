import Primitives
import Wire

/// The packets of path checks before the session stands (docs/protocol/calling.md §4), sealed under
/// keys from `ck`. What they may hold, its owner sees to: path frames and SIGNAL, never media.
package struct RingSession: ~Copyable {
  private var stream: PacketStream

  init(_ keys: consuming PathKeys, local: ConnectionID, remote: ConnectionID) {
    stream = PacketStream(send: keys.send, receive: keys.receive, local: local, remote: remote)
  }

  /// Seals `packet`, which `Session.beginPacket` has begun.
  @_lifetime(packet: copy packet)
  package mutating func seal(_ packet: inout OutputSpan<UInt8>) throws(SessionError) {
    _ = try stream.seal(&packet)
  }

  /// Opens a packet in place; gives the place of its frames. A failure changes nothing.
  @_lifetime(bytes: copy bytes)
  package mutating func open(
    _ bytes: inout MutableSpan<UInt8>
  ) throws(SessionError) -> Range<Int> {
    try stream.open(&bytes).frames
  }
}
