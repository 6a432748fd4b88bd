package import Primitives

/// A program has a newer session at another node (docs/protocol/cluster.md §4).
///
///     type 1 = 4 · ID 32 · presence 8 · serial 8
package struct ProgramMoved: Equatable, Sendable {
  package var id: PeerID
  package var presence: PresenceID
  /// Of the newer session: those with a lower one are over.
  package var serial: UInt64

  package init(id: PeerID, presence: PresenceID, serial: UInt64) {
    self.id = id
    self.presence = presence
    self.serial = serial
  }

  package init(parsing bytes: Span<UInt8>) throws(WireError) {
    var reader = ByteReader(bytes)
    guard try reader.readUInt8("type") == Self.type else { throw .invalid("type", at: 0) }
    id = try PeerID(parsing: &reader)
    presence = try PresenceID(parsing: &reader)
    serial = try reader.readUInt64("serial")
    try reader.expectEnd("program moved")
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = [Self.type]
    id.write(to: &bytes)
    presence.write(to: &bytes)
    bytes.append(littleEndian: serial)
    return bytes
  }

  static let type: UInt8 = 4
}
