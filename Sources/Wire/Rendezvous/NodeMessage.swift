package import Primitives

/// What one node passes to another for a client there (docs/protocol/cluster.md §4).
///
///     type 1 = 1 · flags 1 · node 8 · number 8 · message ID 16 · from ID 32
///     · from presence 8 · to ID 32 · life 2 · network 8 · length 1 + name
///     · count 1 + presences 8 · length 2 + body
package struct NodeMessage: Equatable, Sendable {
  package var id: ForwardID
  package var from: PeerID
  package var presence: PresenceID
  package var name: PeerName?
  package var to: PeerID
  package var lifeSeconds: UInt16
  /// The receiver had written to the sender.
  package var isAnswer: Bool
  /// Stands for the sender's network, for the limits of the receiving node.
  package var network: UInt64
  /// The programs that it is for.
  package var programs: [PresenceID]
  package var body: [UInt8]
  /// Whom to tell that it was taken.
  package var receipt = Receipt(node: 0, number: 0)

  /// What the answer says it is an answer to (`BodyTaken`).
  package struct Receipt: Equatable, Sendable {
    /// Who handed it over, by the first 8 bytes of its ID.
    package var node: UInt64
    package var number: UInt64

    package init(node: UInt64, number: UInt64) {
      self.node = node
      self.number = number
    }
  }

  package init(
    _ forward: Forward, from: PeerID, presence: PresenceID, name: PeerName?, isAnswer: Bool,
    network: UInt64, programs: [PresenceID]
  ) {
    id = forward.id
    self.from = from
    self.presence = presence
    self.name = name
    to = forward.to
    lifeSeconds = forward.lifeSeconds
    self.isAnswer = isAnswer
    self.network = network
    self.programs = programs
    body = forward.body
  }

  package init(parsing bytes: Span<UInt8>) throws(WireError) {
    var reader = ByteReader(bytes)
    guard try reader.readUInt8("type") == Self.type else { throw .invalid("type", at: 0) }
    let flags = try reader.readUInt8("flags")
    guard flags <= 1 else { throw .invalid("flags", at: 1) }
    isAnswer = flags == 1
    receipt = Receipt(
      node: try reader.readUInt64("node"), number: try reader.readUInt64("number"))
    id = try ForwardID(parsing: &reader)
    from = try PeerID(parsing: &reader)
    presence = try PresenceID(parsing: &reader)
    to = try PeerID(parsing: &reader)
    lifeSeconds = try reader.readUInt16("life")
    network = try reader.readUInt64("network")
    let start = reader.offset
    let letters = try reader.readBytes(Int(try reader.readUInt8("name length")), "name")
    name = PeerName(bytes: letters)
    guard letters.isEmpty || name != nil else { throw .invalid("name", at: start) }
    let place = reader.offset
    let count = Int(try reader.readUInt8("count"))
    guard (1...Self.programLimit).contains(count) else { throw .invalid("count", at: place) }
    programs = []
    for _ in 0..<count { programs.append(try PresenceID(parsing: &reader)) }
    let at = reader.offset
    let length = Int(try reader.readUInt16("body length"))
    guard length <= Forward.maximumBodyByteCount else { throw .invalid("body length", at: at) }
    body = try reader.readBytes(length, "body")
    try reader.expectEnd("node message")
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = [Self.type, isAnswer ? 1 : 0]
    bytes.append(littleEndian: receipt.node)
    bytes.append(littleEndian: receipt.number)
    id.write(to: &bytes)
    from.write(to: &bytes)
    presence.write(to: &bytes)
    to.write(to: &bytes)
    bytes.append(littleEndian: lifeSeconds)
    bytes.append(littleEndian: network)
    let letters = name.map { Array($0.bytes) } ?? []
    bytes.append(UInt8(clamping: letters.count))
    bytes.append(contentsOf: letters)
    bytes.append(UInt8(clamping: programs.count))
    for program in programs { program.write(to: &bytes) }
    bytes.append(littleEndian: UInt16(clamping: body.count))
    bytes.append(contentsOf: body)
    return bytes
  }

  /// The body as a client is given it.
  package var forwarded: Forwarded {
    Forwarded(
      Forward(id: id, to: to, lifeSeconds: lifeSeconds, body: body), from: from,
      presence: presence, name: name)
  }

  private static let type: UInt8 = 1
  /// The most programs of one identity, at all nodes.
  package static let programLimit = 64
}
