package import Primitives

/// CHANNEL_NOTICE: what a rendezvous says about a channel (docs/protocol/channels.md §2):
///
///     channel 32 · kind 1 · fields
package struct ChannelNotice: Hashable, Sendable {
  package enum Content: Hashable, Sendable {
    case welcome(ChannelWelcome)
    case result(ChannelResult)
    case head(epoch: UInt64, revision: UInt64)
    case changes(RosterChanges)
    case roster(RosterPage)
    case gone(stay: UInt64, Departure)
    /// The token that a member has shown last; empty in an open channel.
    case proven(uid: UInt32, joinNumber: UInt64, token: [UInt8])
    case relay(ChannelRelayGrant)
  }

  package var channel: Bytes32
  package var content: Content

  package init(channel: Bytes32, _ content: Content) {
    self.channel = channel
    self.content = content
  }

  @_lifetime(reader: copy reader)
  init(fields reader: inout ByteReader) throws(WireError) {
    channel = try Bytes32(parsing: &reader, "channel")
    let at = reader.offset
    switch try reader.readUInt8("kind of notice") {
    case 1: content = .welcome(try ChannelWelcome(parsing: &reader))
    case 2: content = .result(try ChannelResult(parsing: &reader))
    case 3:
      content = .head(
        epoch: try reader.readUInt64("epoch"), revision: try reader.readUInt64("revision"))
    case 4: content = .changes(try RosterChanges(parsing: &reader))
    case 5: content = .roster(try RosterPage(parsing: &reader))
    case 6: content = .gone(stay: try reader.readUInt64("stay"), try reader.readDeparture())
    case 7:
      content = .proven(
        uid: try reader.readUID(), joinNumber: try reader.readUInt64("join number"),
        token: try reader.readToken())
    case 8: content = .relay(try ChannelRelayGrant(parsing: &reader))
    default: throw .invalid("kind of notice", at: at)
    }
  }

  func writeFields(to bytes: inout [UInt8]) {
    bytes.append(contentsOf: channel.bytes)
    switch content {
    case .welcome(let welcome):
      bytes.append(1)
      welcome.write(to: &bytes)
    case .result(let result):
      bytes.append(2)
      result.write(to: &bytes)
    case .head(let epoch, let revision):
      bytes.append(3)
      bytes.append(littleEndian: epoch)
      bytes.append(littleEndian: revision)
    case .changes(let changes):
      bytes.append(4)
      changes.write(to: &bytes)
    case .roster(let page):
      bytes.append(5)
      page.write(to: &bytes)
    case .gone(let stay, let departure):
      bytes.append(6)
      bytes.append(littleEndian: stay)
      bytes.append(departure.rawValue)
    case .proven(let uid, let joinNumber, let token):
      bytes.append(7)
      bytes.append(littleEndian: uid)
      bytes.append(littleEndian: joinNumber)
      bytes.append(token: token)
    case .relay(let grant):
      bytes.append(8)
      grant.write(to: &bytes)
    }
  }
}

/// WELCOME: the stay is a member.
///
///     stay 8 · request 4 · uid 4 · role 1 · join number 8 · epoch 8 · period 2 · token's life 4
package struct ChannelWelcome: Hashable, Sendable {
  package var stay: UInt64
  package var number: UInt32
  package var uid: UInt32
  package var role: MemberRole
  package var joinNumber: UInt64
  package var epoch: UInt64
  /// Milliseconds from one SYNC to the next; not zero.
  package var period: UInt16
  /// Milliseconds; `unlimited` = no end is known.
  package var tokenLife: UInt32

  package static let unlimited = UInt32.max

  package init(
    stay: UInt64, number: UInt32, uid: UInt32, role: MemberRole, joinNumber: UInt64,
    epoch: UInt64, period: UInt16, tokenLife: UInt32 = unlimited
  ) {
    self.stay = stay
    self.number = number
    self.uid = uid
    self.role = role
    self.joinNumber = joinNumber
    self.epoch = epoch
    self.period = period
    self.tokenLife = tokenLife
  }

  @_lifetime(reader: copy reader)
  init(parsing reader: inout ByteReader) throws(WireError) {
    stay = try reader.readUInt64("stay")
    number = try reader.readUInt32("request")
    uid = try reader.readUID()
    role = try reader.readRole()
    joinNumber = try reader.readUInt64("join number")
    epoch = try reader.readUInt64("epoch")
    let at = reader.offset
    period = try reader.readUInt16("period")
    guard period > 0 else { throw .invalid("period", at: at) }
    tokenLife = try reader.readUInt32("token life")
  }

  func write(to bytes: inout [UInt8]) {
    bytes.append(littleEndian: stay)
    bytes.append(littleEndian: number)
    bytes.append(littleEndian: uid)
    bytes.append(role.rawValue)
    bytes.append(littleEndian: joinNumber)
    bytes.append(littleEndian: epoch)
    bytes.append(littleEndian: period)
    bytes.append(littleEndian: tokenLife)
  }
}

/// RESULT: what became of a request.
///
///     stay 8 · request 4 · status 1 · token's life 4
package struct ChannelResult: Hashable, Sendable {
  package var stay: UInt64
  package var number: UInt32
  package var status: ChannelStatus
  /// Milliseconds; 0 unless a newer token was accepted.
  package var tokenLife: UInt32

  package init(stay: UInt64, number: UInt32, status: ChannelStatus, tokenLife: UInt32 = 0) {
    self.stay = stay
    self.number = number
    self.status = status
    self.tokenLife = tokenLife
  }

  @_lifetime(reader: copy reader)
  init(parsing reader: inout ByteReader) throws(WireError) {
    stay = try reader.readUInt64("stay")
    number = try reader.readUInt32("request")
    let at = reader.offset
    guard let status = ChannelStatus(rawValue: try reader.readUInt8("status")) else {
      throw .invalid("status", at: at)
    }
    self.status = status
    tokenLife = try reader.readUInt32("token life")
    guard tokenLife == 0 || status == .done else { throw .invalid("token life", at: at + 1) }
  }

  func write(to bytes: inout [UInt8]) {
    bytes.append(littleEndian: stay)
    bytes.append(littleEndian: number)
    bytes.append(status.rawValue)
    bytes.append(littleEndian: tokenLife)
  }
}

/// CHANGES: steps of the roster with consecutive revisions.
///
///     epoch 8 · latest revision 8 · first revision 8 · count 1 · count × change
package struct RosterChanges: Hashable, Sendable {
  /// In one message.
  package static let limit = 64

  package var epoch: UInt64
  /// That of the roster when the message was made.
  package var latest: UInt64
  /// Revision of the first change.
  package var first: UInt64
  /// 1...`limit`.
  package var changes: [RosterChange]

  package init(epoch: UInt64, latest: UInt64, first: UInt64, changes: [RosterChange]) {
    self.epoch = epoch
    self.latest = latest
    self.first = first
    self.changes = changes
  }

  @_lifetime(reader: copy reader)
  init(parsing reader: inout ByteReader) throws(WireError) {
    epoch = try reader.readUInt64("epoch")
    latest = try reader.readUInt64("revision")
    let start = reader.offset
    first = try reader.readUInt64("revision")
    guard (1...UInt64(1) << 62).contains(first) else { throw .invalid("revision", at: start) }
    let at = reader.offset
    let count = Int(try reader.readUInt8("count of changes"))
    guard (1...Self.limit).contains(count) else { throw .invalid("count of changes", at: at) }
    changes = []
    for _ in 0..<count { changes.append(try RosterChange(parsing: &reader)) }
  }

  func write(to bytes: inout [UInt8]) {
    bytes.append(littleEndian: epoch)
    bytes.append(littleEndian: latest)
    bytes.append(littleEndian: first)
    bytes.append(UInt8(clamping: changes.count))
    for change in changes { change.write(to: &bytes) }
  }
}

/// ROSTER: some of the members, by rising uid.
///
///     epoch 8 · revision 8 · after 4 · last 1 · count 1 · count × member
package struct RosterPage: Hashable, Sendable {
  /// In one message.
  package static let limit = 64

  package var epoch: UInt64
  package var revision: UInt64
  /// All uids of the page are above it.
  package var after: UInt32
  package var isLast: Bool
  package var members: [ChannelMember]

  package init(
    epoch: UInt64, revision: UInt64, after: UInt32, isLast: Bool, members: [ChannelMember]
  ) {
    self.epoch = epoch
    self.revision = revision
    self.after = after
    self.isLast = isLast
    self.members = members
  }

  @_lifetime(reader: copy reader)
  init(parsing reader: inout ByteReader) throws(WireError) {
    epoch = try reader.readUInt64("epoch")
    revision = try reader.readUInt64("revision")
    guard revision <= 1 << 62 else { throw .invalid("revision", at: reader.offset) }
    after = try reader.readUInt32("uid")
    let at = reader.offset
    switch try reader.readUInt8("last page") {
    case 0: isLast = false
    case 1: isLast = true
    default: throw .invalid("last page", at: at)
    }
    let count = Int(try reader.readUInt8("count of members"))
    guard count <= Self.limit, isLast || count > 0 else {
      throw .invalid("count of members", at: at + 1)
    }
    members = []
    var last = after
    for _ in 0..<count {
      let start = reader.offset
      let member = try ChannelMember(parsing: &reader)
      guard member.uid > last else { throw .invalid("uid", at: start) }
      last = member.uid
      members.append(member)
    }
  }

  func write(to bytes: inout [UInt8]) {
    bytes.append(littleEndian: epoch)
    bytes.append(littleEndian: revision)
    bytes.append(littleEndian: after)
    bytes.append(isLast ? 1 : 0)
    bytes.append(UInt8(clamping: members.count))
    for member in members { member.write(to: &bytes) }
  }
}
