package import Primitives

/// A member as a roster states it (docs/protocol/channels.md §2):
///
///     uid 4 · role 1 · join number 8 · ID 32
package struct ChannelMember: Hashable, Sendable {
  /// Not zero; scoped by the channel.
  package var uid: UInt32
  package var role: MemberRole
  /// That of a later stay in the channel is higher.
  package var joinNumber: UInt64
  package var id: PeerID

  package init(uid: UInt32, role: MemberRole, joinNumber: UInt64, id: PeerID) {
    self.uid = uid
    self.role = role
    self.joinNumber = joinNumber
    self.id = id
  }

  @_lifetime(reader: copy reader)
  init(parsing reader: inout ByteReader) throws(WireError) {
    uid = try reader.readUID()
    role = try reader.readRole()
    joinNumber = try reader.readUInt64("join number")
    id = try PeerID(parsing: &reader)
  }

  func write(to bytes: inout [UInt8]) {
    bytes.append(littleEndian: uid)
    bytes.append(role.rawValue)
    bytes.append(littleEndian: joinNumber)
    id.write(to: &bytes)
  }
}

/// One step of a roster (docs/protocol/channels.md §2).
package enum RosterChange: Hashable, Sendable {
  /// The member is there, or is now so.
  case present(ChannelMember)
  case gone(uid: UInt32, Departure)

  package var uid: UInt32 {
    switch self {
    case .present(let member): member.uid
    case .gone(let uid, _): uid
    }
  }

  @_lifetime(reader: copy reader)
  init(parsing reader: inout ByteReader) throws(WireError) {
    let at = reader.offset
    switch try reader.readUInt8("kind of change") {
    case 1: self = .present(try ChannelMember(parsing: &reader))
    case 2: self = .gone(uid: try reader.readUID(), try reader.readDeparture())
    default: throw .invalid("kind of change", at: at)
    }
  }

  func write(to bytes: inout [UInt8]) {
    switch self {
    case .present(let member):
      bytes.append(1)
      member.write(to: &bytes)
    case .gone(let uid, let departure):
      bytes.append(2)
      bytes.append(littleEndian: uid)
      bytes.append(departure.rawValue)
    }
  }
}

extension ByteReader {
  @_lifetime(self: copy self)
  mutating func readUID() throws(WireError) -> UInt32 {
    let at = offset
    let uid = try readUInt32("uid")
    guard uid != 0 else { throw .invalid("uid", at: at) }
    return uid
  }

  @_lifetime(self: copy self)
  mutating func readRole() throws(WireError) -> MemberRole {
    let at = offset
    guard let role = MemberRole(rawValue: try readUInt8("role")) else {
      throw .invalid("role", at: at)
    }
    return role
  }

  @_lifetime(self: copy self)
  mutating func readDeparture() throws(WireError) -> Departure {
    let at = offset
    guard let departure = Departure(rawValue: try readUInt8("reason")) else {
      throw .invalid("reason", at: at)
    }
    return departure
  }

  /// Text of a token with its length before it; empty for none.
  @_lifetime(self: copy self)
  mutating func readToken() throws(WireError) -> [UInt8] {
    let at = offset
    let length = Int(try readUInt16("token length"))
    guard length <= InitPayload.maximumTokenByteCount else {
      throw WireError(.tooLong, "token", at: at)
    }
    return try readBytes(length, "token")
  }
}

extension [UInt8] {
  mutating func append(token: [UInt8]) {
    append(littleEndian: UInt16(clamping: token.count))
    append(contentsOf: token)
  }
}
