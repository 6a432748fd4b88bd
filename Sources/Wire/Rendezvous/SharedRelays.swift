package import Primitives

/// The relays that are registered at a node (docs/protocol/cluster.md §9).
///
///     type 1 = 8 · node 8 · count 1 · IDs 32
package struct RelaysOfNode: Equatable, Sendable {
  /// The most relays of one node that others use.
  package static let limit = 16

  /// By the first 8 bytes of its ID.
  package var node: UInt64
  /// 0...`limit`.
  package var relays: [PeerID]

  package init(node: UInt64, relays: [PeerID]) {
    self.node = node
    self.relays = relays
  }

  package init(parsing bytes: Span<UInt8>) throws(WireError) {
    var reader = ByteReader(bytes)
    guard try reader.readUInt8("type") == Self.type else { throw .invalid("type", at: 0) }
    node = try reader.readUInt64("node")
    let place = reader.offset
    let count = Int(try reader.readUInt8("count"))
    guard count <= Self.limit else { throw .invalid("count", at: place) }
    relays = []
    for _ in 0..<count { relays.append(try PeerID(parsing: &reader)) }
    try reader.expectEnd("relays of a node")
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = [Self.type]
    bytes.append(littleEndian: node)
    bytes.append(UInt8(clamping: relays.count))
    for relay in relays { relay.write(to: &bytes) }
    return bytes
  }

  static let type: UInt8 = 8
}

/// The node that has a channel asks the node of a relay to give a member a grant
/// (docs/protocol/cluster.md §9).
///
///     type 1 = 9 · number 8 · time 8 · relay 32 · node 8 · ID 32 · presence 8 · channel 32 · uid 4
///     · role 1
///
/// Of a member that hears nothing of that relay it is type 12, and the node that has the channel
/// follows: 8.
package struct GrantWish: Equatable, Sendable {
  /// Random: what comes again is known by it.
  package var number: UInt64
  /// When it was said, in ms since 1970.
  package var unixMilliseconds: UInt64
  package var relay: PeerID
  /// Where the member's session is.
  package var node: UInt64
  package var member: PassedNotice.Program
  package var channel: Bytes32
  package var uid: UInt32
  package var role: MemberRole
  /// Who is to be told if the relay does not answer, by the first 8 bytes of its ID; `nil` where
  /// nobody misses it.
  package var home: UInt64?

  package init(
    number: UInt64, unixMilliseconds: UInt64, relay: PeerID, node: UInt64,
    member: PassedNotice.Program, channel: Bytes32, uid: UInt32, role: MemberRole,
    home: UInt64? = nil
  ) {
    self.number = number
    self.unixMilliseconds = unixMilliseconds
    self.relay = relay
    self.node = node
    self.member = member
    self.channel = channel
    self.uid = uid
    self.role = role
    self.home = home
  }

  package init(parsing bytes: Span<UInt8>) throws(WireError) {
    var reader = ByteReader(bytes)
    let type = try reader.readUInt8("type")
    guard type == Self.type || type == Self.lossType else { throw .invalid("type", at: 0) }
    number = try reader.readUInt64("number")
    unixMilliseconds = try reader.readUInt64("time")
    relay = try PeerID(parsing: &reader)
    node = try reader.readUInt64("node")
    let id = try PeerID(parsing: &reader)
    member = PassedNotice.Program(id: id, presence: try PresenceID(parsing: &reader))
    channel = try Bytes32(parsing: &reader, "channel")
    uid = try reader.readUID()
    role = try reader.readRole()
    home = type == Self.lossType ? try reader.readUInt64("home") : nil
    try reader.expectEnd("wish for a grant")
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = [home == nil ? Self.type : Self.lossType]
    bytes.append(littleEndian: number)
    bytes.append(littleEndian: unixMilliseconds)
    relay.write(to: &bytes)
    bytes.append(littleEndian: node)
    member.id.write(to: &bytes)
    member.presence.write(to: &bytes)
    bytes += channel.bytes
    bytes.append(littleEndian: uid)
    bytes.append(role.rawValue)
    if let home { bytes.append(littleEndian: home) }
    return bytes
  }

  static let type: UInt8 = 9
  static let lossType: UInt8 = 12
}

/// The node of a relay tells the node of a channel that it does not hear the relay either, of which
/// a member hears nothing (docs/protocol/cluster.md §9).
///
///     type 1 = 13 · number 8 · time 8 · relay 32 · channel 32
package struct RelaySilent: Equatable, Sendable {
  /// Random: what comes again is known by it.
  package var number: UInt64
  /// When it was said, in ms since 1970.
  package var unixMilliseconds: UInt64
  package var relay: PeerID
  package var channel: Bytes32

  package init(number: UInt64, unixMilliseconds: UInt64, relay: PeerID, channel: Bytes32) {
    self.number = number
    self.unixMilliseconds = unixMilliseconds
    self.relay = relay
    self.channel = channel
  }

  package init(parsing bytes: Span<UInt8>) throws(WireError) {
    var reader = ByteReader(bytes)
    guard try reader.readUInt8("type") == Self.type else { throw .invalid("type", at: 0) }
    number = try reader.readUInt64("number")
    unixMilliseconds = try reader.readUInt64("time")
    relay = try PeerID(parsing: &reader)
    channel = try Bytes32(parsing: &reader, "channel")
    try reader.expectEnd("silent relay")
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = [Self.type]
    bytes.append(littleEndian: number)
    bytes.append(littleEndian: unixMilliseconds)
    relay.write(to: &bytes)
    bytes += channel.bytes
    return bytes
  }

  static let type: UInt8 = 13
}

extension SeatsEnded {
  /// The same between nodes (docs/protocol/cluster.md §9): type 1 = 10, then as for a relay.
  package init(parsing bytes: Span<UInt8>) throws(WireError) {
    var reader = ByteReader(bytes)
    guard try reader.readUInt8("type") == Self.type else { throw .invalid("type", at: 0) }
    self = try SeatsEnded(fields: &reader)
    try reader.expectEnd("seats ended")
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = [Self.type]
    writeFields(to: &bytes)
    return bytes
  }

  static let type: UInt8 = 10
}
