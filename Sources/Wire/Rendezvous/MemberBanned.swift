package import Primitives

/// An identity is kept out of a channel until a moment (docs/protocol/cluster.md §4).
///
///     type 1 = 5 · channel 32 · ID 32 · until 8, ms since 1970
package struct MemberBanned: Equatable, Sendable {
  package var channel: Bytes32
  package var id: PeerID
  package var until: UInt64

  package init(channel: Bytes32, id: PeerID, until: UInt64) {
    self.channel = channel
    self.id = id
    self.until = until
  }

  package init(parsing bytes: Span<UInt8>) throws(WireError) {
    var reader = ByteReader(bytes)
    guard try reader.readUInt8("type") == Self.type else { throw .invalid("type", at: 0) }
    channel = try Bytes32(parsing: &reader, "channel")
    id = try PeerID(parsing: &reader)
    until = try reader.readUInt64("until")
    try reader.expectEnd("member banned")
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = [Self.type]
    bytes += channel.bytes
    id.write(to: &bytes)
    bytes.append(littleEndian: until)
    return bytes
  }

  static let type: UInt8 = 5
}
