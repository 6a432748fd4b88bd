package import Primitives

/// What one node says to others (docs/protocol/cluster.md §4).
package enum NodeWord: Equatable, Sendable {
  case message(NodeMessage)
  case superseded(SupersededKey)
  case taken(BodyTaken)
  case moved(ProgramMoved)
  case banned(MemberBanned)
  case asked(PassedRequest)
  case noticed(PassedNotice)
  case relays(RelaysOfNode)
  case wished(GrantWish)
  case silent(RelaySilent)
  case ended(SeatsEnded)
  case nameMoved(NameMoved)

  package init(parsing bytes: Span<UInt8>) throws(WireError) {
    switch bytes.count > 0 ? bytes[0] : 0 {
    case SupersededKey.type: self = .superseded(try SupersededKey(parsing: bytes))
    case BodyTaken.type: self = .taken(try BodyTaken(parsing: bytes))
    case ProgramMoved.type: self = .moved(try ProgramMoved(parsing: bytes))
    case MemberBanned.type: self = .banned(try MemberBanned(parsing: bytes))
    case PassedRequest.type: self = .asked(try PassedRequest(parsing: bytes))
    case PassedNotice.type: self = .noticed(try PassedNotice(parsing: bytes))
    case RelaysOfNode.type: self = .relays(try RelaysOfNode(parsing: bytes))
    case GrantWish.type, GrantWish.lossType: self = .wished(try GrantWish(parsing: bytes))
    case RelaySilent.type: self = .silent(try RelaySilent(parsing: bytes))
    case SeatsEnded.type: self = .ended(try SeatsEnded(parsing: bytes))
    case NameMoved.type: self = .nameMoved(try NameMoved(parsing: bytes))
    default: self = .message(try NodeMessage(parsing: bytes))
    }
  }

  package var bytes: [UInt8] {
    switch self {
    case .message(let message): message.bytes
    case .superseded(let key): key.bytes
    case .taken(let taken): taken.bytes
    case .moved(let program): program.bytes
    case .banned(let member): member.bytes
    case .asked(let request): request.bytes
    case .noticed(let notice): notice.bytes
    case .relays(let relays): relays.bytes
    case .wished(let wish): wish.bytes
    case .silent(let word): word.bytes
    case .ended(let seats): seats.bytes
    case .nameMoved(let name): name.bytes
    }
  }
}

/// An identity has registered with another device key in place of one that its owner gave up.
///
///     type 1 = 2 · node 8 · unix seconds 8 · ID 32
package struct SupersededKey: Equatable, Sendable {
  /// The node that saw it, by the first 8 bytes of its ID.
  package var node: UInt64
  package var unixSeconds: UInt64
  package var id: PeerID

  package init(node: UInt64, unixSeconds: UInt64, id: PeerID) {
    self.node = node
    self.unixSeconds = unixSeconds
    self.id = id
  }

  package init(parsing bytes: Span<UInt8>) throws(WireError) {
    var reader = ByteReader(bytes)
    guard try reader.readUInt8("type") == Self.type else { throw .invalid("type", at: 0) }
    node = try reader.readUInt64("node")
    unixSeconds = try reader.readUInt64("unix seconds")
    id = try PeerID(parsing: &reader)
    try reader.expectEnd("superseded key")
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = [Self.type]
    bytes.append(littleEndian: node)
    bytes.append(littleEndian: unixSeconds)
    id.write(to: &bytes)
    return bytes
  }

  static let type: UInt8 = 2
}
