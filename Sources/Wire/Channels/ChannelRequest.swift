package import Primitives

/// CHANNEL: what a client asks of a rendezvous about a channel (docs/protocol/channels.md §2):
///
///     channel 32 · stay 8 · request 4 · kind 1 · fields
package struct ChannelRequest: Hashable, Sendable {
  package enum Content: Hashable, Sendable {
    case join(ChannelJoin)
    case leave
    case sync(RosterPosition)
    case role(MemberRole)
    /// Text of a newer token.
    case renew([UInt8])
    /// - Parameter banSeconds: How long its identity is kept out; 0 = not at all.
    case remove(uid: UInt32, banSeconds: UInt32)
    case proof(uid: UInt32)
    /// A grant for a relay.
    case relay
    /// The same, of a member that hears nothing of the one that it was granted.
    case relayLost(PeerID)
  }

  package var channel: Bytes32
  /// Random, drawn by a program when it is told to join.
  package var stay: UInt64
  /// Counts up from 1 in a stay; the answer carries it back.
  package var number: UInt32
  package var content: Content

  package init(channel: Bytes32, stay: UInt64, number: UInt32, _ content: Content) {
    self.channel = channel
    self.stay = stay
    self.number = number
    self.content = content
  }

  /// Whether the answer takes a signature, made or checked.
  package var costsSignature: Bool {
    switch content {
    case .join, .renew, .relay, .relayLost: true
    case .leave, .sync, .role, .remove, .proof: false
    }
  }

  @_lifetime(reader: copy reader)
  init(fields reader: inout ByteReader) throws(WireError) {
    channel = try Bytes32(parsing: &reader, "channel")
    stay = try reader.readUInt64("stay")
    number = try reader.readUInt32("request")
    let at = reader.offset
    switch try reader.readUInt8("kind of request") {
    case 1: content = .join(try ChannelJoin(parsing: &reader))
    case 2: content = .leave
    case 3: content = .sync(try RosterPosition(parsing: &reader))
    case 4: content = .role(try reader.readRole())
    case 5: content = .renew(try reader.readToken())
    case 6:
      content = .remove(
        uid: try reader.readUID(), banSeconds: try reader.readUInt32("seconds of a ban"))
    case 7: content = .proof(uid: try reader.readUID())
    case 8: content = .relay
    case 9: content = .relayLost(try PeerID(parsing: &reader))
    default: throw .invalid("kind of request", at: at)
    }
  }

  func writeFields(to bytes: inout [UInt8]) {
    bytes.append(contentsOf: channel.bytes)
    bytes.append(littleEndian: stay)
    bytes.append(littleEndian: number)
    switch content {
    case .join(let join):
      bytes.append(1)
      join.write(to: &bytes)
    case .leave: bytes.append(2)
    case .sync(let position):
      bytes.append(3)
      position.write(to: &bytes)
    case .role(let role):
      bytes.append(4)
      bytes.append(role.rawValue)
    case .renew(let token):
      bytes.append(5)
      bytes.append(token: token)
    case .remove(let uid, let banSeconds):
      bytes.append(6)
      bytes.append(littleEndian: uid)
      bytes.append(littleEndian: banSeconds)
    case .proof(let uid):
      bytes.append(7)
      bytes.append(littleEndian: uid)
    case .relay: bytes.append(8)
    case .relayLost(let relay):
      bytes.append(9)
      relay.write(to: &bytes)
    }
  }
}

/// How far a client knows a roster.
package struct RosterPosition: Hashable, Sendable {
  /// Which life of the channel; 0 = none is known.
  package var epoch: UInt64
  package var revision: UInt64
  /// The last uid of the pages that it has; 0 = none of them.
  package var after: UInt32

  package init(epoch: UInt64 = 0, revision: UInt64 = 0, after: UInt32 = 0) {
    self.epoch = epoch
    self.revision = revision
    self.after = after
  }

  @_lifetime(reader: copy reader)
  init(parsing reader: inout ByteReader) throws(WireError) {
    epoch = try reader.readUInt64("epoch")
    revision = try reader.readUInt64("revision")
    after = try reader.readUInt32("uid")
  }

  func write(to bytes: inout [UInt8]) {
    bytes.append(littleEndian: epoch)
    bytes.append(littleEndian: revision)
    bytes.append(littleEndian: after)
  }
}

/// What a client says of itself when it joins, or comes back (docs/protocol/channels.md §3):
///
///     role 1 · uid 4 · epoch 8 · revision 8 · length 1 + key · length 1 + name · length 2 + token
package struct ChannelJoin: Hashable, Sendable {
  package var role: MemberRole
  /// 0 = any.
  package var uid: UInt32
  /// What it knows of the roster; zeros = nothing.
  package var epoch: UInt64
  package var revision: UInt64
  /// The channel key; `nil` in an open channel.
  package var key: Bytes32?
  /// Spelled as a peer's name.
  package var name: PeerName
  /// Empty for none.
  package var token: [UInt8]

  package init(
    role: MemberRole, uid: UInt32, epoch: UInt64 = 0, revision: UInt64 = 0, key: Bytes32? = nil,
    name: PeerName, token: [UInt8] = []
  ) {
    self.role = role
    self.uid = uid
    self.epoch = epoch
    self.revision = revision
    self.key = key
    self.name = name
    self.token = token
  }

  @_lifetime(reader: copy reader)
  init(parsing reader: inout ByteReader) throws(WireError) {
    role = try reader.readRole()
    uid = try reader.readUInt32("uid")
    epoch = try reader.readUInt64("epoch")
    revision = try reader.readUInt64("revision")
    let at = reader.offset
    switch try reader.readUInt8("key length") {
    case 0: key = nil
    case 32: key = try Bytes32(parsing: &reader, "channel key")
    default: throw .invalid("key length", at: at)
    }
    let start = reader.offset
    let length = Int(try reader.readUInt8("name length"))
    guard let name = PeerName(bytes: try reader.readBytes(length, "name")) else {
      throw .invalid("name", at: start)
    }
    self.name = name
    token = try reader.readToken()
  }

  func write(to bytes: inout [UInt8]) {
    bytes.append(role.rawValue)
    bytes.append(littleEndian: uid)
    bytes.append(littleEndian: epoch)
    bytes.append(littleEndian: revision)
    bytes.append(key == nil ? 0 : 32)
    if let key { bytes.append(contentsOf: key.bytes) }
    bytes.append(UInt8(clamping: name.bytes.count))
    bytes.append(contentsOf: name.bytes)
    bytes.append(token: token)
  }
}
