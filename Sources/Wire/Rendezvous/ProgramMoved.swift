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

/// A name has another owner from now on, or none (docs/protocol/cluster.md §4).
///
///     type 1 = 11 · ID 32, zero for nobody · name 1 + length
package struct NameMoved: Equatable, Sendable {
  package var name: PeerName
  /// Who has it; `nil` = nobody.
  package var owner: PeerID?

  package init(name: PeerName, owner: PeerID?) {
    self.name = name
    self.owner = owner
  }

  package init(parsing bytes: Span<UInt8>) throws(WireError) {
    var reader = ByteReader(bytes)
    guard try reader.readUInt8("type") == Self.type else { throw .invalid("type", at: 0) }
    let id = try PeerID(parsing: &reader)
    owner = id == .zero ? nil : id
    let at = reader.offset
    let length = Int(try reader.readUInt8("name length"))
    guard let name = PeerName(bytes: try reader.readBytes(length, "name")) else {
      throw .invalid("name", at: at)
    }
    self.name = name
    try reader.expectEnd("name moved")
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = [Self.type]
    (owner ?? .zero).write(to: &bytes)
    bytes.append(UInt8(clamping: name.bytes.count))
    bytes.append(contentsOf: name.bytes)
    return bytes
  }

  static let type: UInt8 = 11
}
