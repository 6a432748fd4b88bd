package import Primitives

/// Which program of an identity: 8 random bytes of its start (docs/protocol/rendezvous.md §2).
///
/// Several programs of one identity stand beside each other at a rendezvous; one that registers
/// anew keeps its ID, and so its place.
package struct PresenceID: Hashable, Comparable, Sendable, BitwiseCopyable {
  /// Addresses every program that may be called; as a program's own ID: it has none.
  package static let every = PresenceID(rawValue: 0)
  /// Addresses one program that answers calls, of the rendezvous' choice.
  package static let anyOne = PresenceID(rawValue: .max)

  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Random, and neither of the two that address others.
  package init(random: inout RandomSource) {
    var value: UInt64 = 0
    while value == 0 || value == .max { value = random.next() }
    rawValue = value
  }

  @_lifetime(reader: copy reader)
  package init(parsing reader: inout ByteReader) throws(WireError) {
    rawValue = try reader.readUInt64("presence ID")
  }

  package func write(to bytes: inout [UInt8]) { bytes.append(littleEndian: rawValue) }

  package static func < (left: PresenceID, right: PresenceID) -> Bool {
    left.rawValue < right.rawValue
  }
}

/// What a program is registered for.
package enum PresenceKind: UInt8, CaseIterable, Sendable {
  /// Calls nobody and is not called: a probe.
  case guest = 0
  /// Answers calls.
  case answering = 1
  /// Makes a call. It is invited too, because the one that it calls may call it at the same time;
  /// anybody else hears from it that it is busy.
  case calling = 2

  /// Whether an invitation for every program goes to it.
  package var isInvited: Bool { self != .guest }
}

/// TLV presence of INIT: presence ID 8 · kind 1 (docs/protocol/session.md §2).
package struct Presence: Hashable, Sendable {
  /// Of a program that says nothing of itself.
  package static let unnamed = Presence(.every, .answering)

  package var id: PresenceID
  package var kind: PresenceKind

  package init(_ id: PresenceID, _ kind: PresenceKind) {
    self.id = id
    self.kind = kind
  }

  init(_ bytes: [UInt8]) throws(WireError) {
    var reader = ByteReader(bytes.span)
    id = try PresenceID(parsing: &reader)
    guard id != .every, id != .anyOne,
      let kind = PresenceKind(rawValue: try reader.readUInt8("kind"))
    else { throw .invalid("presence", at: 0) }
    self.kind = kind
    try reader.expectEnd("presence")
  }

  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    id.write(to: &bytes)
    bytes.append(kind.rawValue)
    return bytes
  }
}

/// A presence as rendezvous nodes tell each other of it: everything that another node needs to find
/// the program, and nothing else (docs/protocol/rendezvous.md §4).
///
///     version 1 = 1 · identity 32 · presence ID 8 · node 8 · kind 1 · expiry 8 · serial 8
package struct PresenceRecord: Hashable, Sendable {
  package static let byteCount = 66
  static let version: UInt8 = 1

  package var identity: PeerID
  package var presence: Presence
  /// The node that has the session: the first 8 bytes of its ID.
  package var node: UInt64
  /// When it is gone unless it was renewed, in ms since 1970 UTC.
  package var expiryMilliseconds: UInt64
  /// Of the same presence the record with the highest serial is true: the time of its INIT.
  package var serial: UInt64

  package init(
    identity: PeerID, presence: Presence, node: UInt64, expiryMilliseconds: UInt64, serial: UInt64
  ) {
    self.identity = identity
    self.presence = presence
    self.node = node
    self.expiryMilliseconds = expiryMilliseconds
    self.serial = serial
  }

  package init(parsing bytes: Span<UInt8>) throws(WireError) {
    var reader = ByteReader(bytes)
    guard try reader.readUInt8("record version") == Self.version else {
      throw .invalid("record version", at: 0)
    }
    identity = try PeerID(parsing: &reader)
    let id = try PresenceID(parsing: &reader)
    node = try reader.readUInt64("node")
    let start = reader.offset
    guard let kind = PresenceKind(rawValue: try reader.readUInt8("kind")) else {
      throw .invalid("kind", at: start)
    }
    presence = Presence(id, kind)
    expiryMilliseconds = try reader.readUInt64("expiry")
    serial = try reader.readUInt64("serial")
    try reader.expectEnd("presence record")
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = [Self.version]
    identity.write(to: &bytes)
    presence.id.write(to: &bytes)
    bytes.append(littleEndian: node)
    bytes.append(presence.kind.rawValue)
    bytes.append(littleEndian: expiryMilliseconds)
    bytes.append(littleEndian: serial)
    return bytes
  }
}
