package import Primitives

/// What a program asks of a channel, passed to the node that has it (docs/protocol/cluster.md §8).
///
///     type 1 = 6 · node 8 · number 8 · time 8 · join number 8 · ID 32 · presence 8 · address 19
///     · request
package struct PassedRequest: Equatable, Sendable {
  /// Where the program's session is, by the first 8 bytes of the node's ID.
  package var node: UInt64
  /// Random: what comes again is known by it.
  package var number: UInt64
  /// When it was passed on, in ms since 1970.
  package var unixMilliseconds: UInt64
  /// The highest that the passing node has heard of.
  package var joinNumber: UInt64
  package var id: PeerID
  package var presence: PresenceID
  /// Where the program is, for the limits of the node that has the channel.
  package var address: SocketAddress
  package var request: ChannelRequest

  package init(
    node: UInt64, number: UInt64, unixMilliseconds: UInt64, joinNumber: UInt64, id: PeerID,
    presence: PresenceID, address: SocketAddress, request: ChannelRequest
  ) {
    self.node = node
    self.number = number
    self.unixMilliseconds = unixMilliseconds
    self.joinNumber = joinNumber
    self.id = id
    self.presence = presence
    self.address = address
    self.request = request
  }

  package init(parsing bytes: Span<UInt8>) throws(WireError) {
    var reader = ByteReader(bytes)
    guard try reader.readUInt8("type") == Self.type else { throw .invalid("type", at: 0) }
    node = try reader.readUInt64("node")
    number = try reader.readUInt64("number")
    unixMilliseconds = try reader.readUInt64("time")
    joinNumber = try reader.readUInt64("join number")
    id = try PeerID(parsing: &reader)
    presence = try PresenceID(parsing: &reader)
    address = try SocketAddress(parsing: &reader)
    request = try ChannelRequest(fields: &reader)
    try reader.expectEnd("passed request")
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = [Self.type]
    bytes.append(littleEndian: node)
    bytes.append(littleEndian: number)
    bytes.append(littleEndian: unixMilliseconds)
    bytes.append(littleEndian: joinNumber)
    id.write(to: &bytes)
    presence.write(to: &bytes)
    address.write(to: &bytes)
    request.writeFields(to: &bytes)
    return bytes
  }

  static let type: UInt8 = 6
}

/// What the node that has a channel says to programs of another node (docs/protocol/cluster.md §8).
///
///     type 1 = 7 · node 8 · number 8 · count 1 · count × (ID 32 · presence 8) · notice
package struct PassedNotice: Equatable, Sendable {
  /// Whom it is for.
  package struct Program: Equatable, Sendable {
    package var id: PeerID
    package var presence: PresenceID

    package init(id: PeerID, presence: PresenceID) {
      self.id = id
      self.presence = presence
    }
  }

  /// The most programs of one message.
  package static let limit = 64

  /// Who says it, by the first 8 bytes of the node's ID.
  package var node: UInt64
  /// Random: what comes again is known by it.
  package var number: UInt64
  /// 1...`limit`.
  package var programs: [Program]
  package var notice: ChannelNotice

  package init(node: UInt64, number: UInt64, programs: [Program], notice: ChannelNotice) {
    self.node = node
    self.number = number
    self.programs = programs
    self.notice = notice
  }

  package init(parsing bytes: Span<UInt8>) throws(WireError) {
    var reader = ByteReader(bytes)
    guard try reader.readUInt8("type") == Self.type else { throw .invalid("type", at: 0) }
    node = try reader.readUInt64("node")
    number = try reader.readUInt64("number")
    let place = reader.offset
    let count = Int(try reader.readUInt8("count"))
    guard (1...Self.limit).contains(count) else { throw .invalid("count", at: place) }
    programs = []
    for _ in 0..<count {
      let id = try PeerID(parsing: &reader)
      programs.append(Program(id: id, presence: try PresenceID(parsing: &reader)))
    }
    notice = try ChannelNotice(fields: &reader)
    try reader.expectEnd("passed notice")
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = [Self.type]
    bytes.append(littleEndian: node)
    bytes.append(littleEndian: number)
    bytes.append(UInt8(clamping: programs.count))
    for program in programs {
      program.id.write(to: &bytes)
      program.presence.write(to: &bytes)
    }
    notice.writeFields(to: &bytes)
    return bytes
  }

  static let type: UInt8 = 7
}
