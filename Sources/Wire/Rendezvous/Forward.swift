package import Primitives

/// Which forwarded message this is: 16 random bytes of the sender's choice.
package struct ForwardID: Hashable, Sendable, BitwiseCopyable {
  package var low: UInt64
  package var high: UInt64

  package init(low: UInt64, high: UInt64) {
    self.low = low
    self.high = high
  }

  package init(random: inout RandomSource) {
    self.init(low: random.next(), high: random.next())
  }

  package init(parsing reader: inout ByteReader) throws(WireError) {
    low = try reader.readUInt64("message ID")
    high = try reader.readUInt64("message ID")
  }

  func write(to bytes: inout [UInt8]) {
    bytes.append(littleEndian: low)
    bytes.append(littleEndian: high)
  }
}

/// FORWARD: please hand this sealed body to that identity (docs/protocol/rendezvous.md §3).
///
///     type 1 = 3 · message ID 16 · to ID 32 · to presence 8 · life 2 (s) · length 2 + body
///
/// A body beyond `maximumBodyByteCount` still parses, so that the server can say what is wrong.
package struct Forward: Hashable, Sendable {
  package var id: ForwardID
  package var to: PeerID
  /// Which of the identity's programs.
  package var presence: PresenceID
  /// How long the server tries to deliver it, in seconds.
  package var lifeSeconds: UInt16
  package var body: [UInt8]

  /// An invitation with its extension (docs/protocol/session.md §9).
  package static let maximumBodyByteCount = 4096

  package init(
    id: ForwardID, to: PeerID, presence: PresenceID = .every, lifeSeconds: UInt16, body: [UInt8]
  ) {
    self.id = id
    self.to = to
    self.presence = presence
    self.lifeSeconds = lifeSeconds
    self.body = body
  }

  @_lifetime(reader: copy reader)
  init(fields reader: inout ByteReader) throws(WireError) {
    id = try ForwardID(parsing: &reader)
    to = try PeerID(parsing: &reader)
    presence = try PresenceID(parsing: &reader)
    lifeSeconds = try reader.readUInt16("life")
    body = try reader.readBytes(Int(try reader.readUInt16("body length")), "body")
  }

  func writeFields(to bytes: inout [UInt8]) {
    id.write(to: &bytes)
    to.write(to: &bytes)
    presence.write(to: &bytes)
    bytes.append(littleEndian: lifeSeconds)
    bytes.append(littleEndian: UInt16(clamping: body.count))
    bytes.append(contentsOf: body)
  }
}

/// FORWARDED: somebody's sealed body, and who it is from (docs/protocol/rendezvous.md §3).
///
///     type 1 = 4 · message ID 16 · from ID 32 · from presence 8 · life 2 (s) · length 2 + body
///     · nothing, or length 1 + name
package struct Forwarded: Hashable, Sendable {
  package var id: ForwardID
  /// The sender's ID, proven to the server by the handshake.
  package var from: PeerID
  /// The sender's program, by which an answer reaches it.
  package var presence: PresenceID
  package var lifeSeconds: UInt16
  package var body: [UInt8]
  /// The name that the sender's session was granted; only for clients that understand it.
  package var name: PeerName?

  package init(
    _ forward: consuming Forward, from: PeerID, presence: PresenceID = .every,
    name: PeerName? = nil
  ) {
    id = forward.id
    self.from = from
    self.presence = presence
    lifeSeconds = forward.lifeSeconds
    body = forward.body
    self.name = name
  }

  @_lifetime(reader: copy reader)
  init(fields reader: inout ByteReader) throws(WireError) {
    id = try ForwardID(parsing: &reader)
    from = try PeerID(parsing: &reader)
    presence = try PresenceID(parsing: &reader)
    lifeSeconds = try reader.readUInt16("life")
    let start = reader.offset
    let length = Int(try reader.readUInt16("body length"))
    guard length <= Forward.maximumBodyByteCount else {
      throw WireError(.tooLong, "body", at: start)
    }
    body = try reader.readBytes(length, "body")
    name = nil
    guard !reader.isAtEnd else { return }
    let at = reader.offset
    let nameLength = Int(try reader.readUInt8("name length"))
    guard let name = PeerName(bytes: try reader.readBytes(nameLength, "name")) else {
      throw .invalid("name", at: at)
    }
    self.name = name
  }

  func writeFields(to bytes: inout [UInt8]) {
    id.write(to: &bytes)
    from.write(to: &bytes)
    presence.write(to: &bytes)
    bytes.append(littleEndian: lifeSeconds)
    bytes.append(littleEndian: UInt16(clamping: body.count))
    bytes.append(contentsOf: body)
    if let name {
      bytes.append(UInt8(clamping: name.bytes.count))
      bytes.append(contentsOf: name.bytes)
    }
  }
}

/// FORWARD_RESULT: what became of a FORWARD (docs/protocol/rendezvous.md §3).
///
///     type 1 = 5 · message ID 16 · status 1 · count 1
package struct ForwardResult: Hashable, Sendable {
  package enum Status: UInt8, Sendable {
    /// On its way; whether it arrived is the receiver's to say.
    case forwarded = 0
    case notOnline = 1
    case tooMany = 2
    case bodyTooLong = 3
    case notAllowed = 4
    /// One of several nodes, which cannot tell now whether the callee is online at another one.
    case unavailable = 5
  }

  package var id: ForwardID
  package var status: Status
  /// How many programs it was passed on to; 0 unless it was forwarded.
  package var count: UInt8

  package init(id: ForwardID, status: Status, count: UInt8 = 0) {
    self.id = id
    self.status = status
    self.count = count
  }

  @_lifetime(reader: copy reader)
  init(fields reader: inout ByteReader) throws(WireError) {
    id = try ForwardID(parsing: &reader)
    let start = reader.offset
    guard let status = Status(rawValue: try reader.readUInt8("status")) else {
      throw .invalid("status", at: start)
    }
    self.status = status
    let at = reader.offset
    count = try reader.readUInt8("count")
    guard (count > 0) == (status == .forwarded) else { throw .invalid("count", at: at) }
  }

  func writeFields(to bytes: inout [UInt8]) {
    id.write(to: &bytes)
    bytes.append(status.rawValue)
    bytes.append(count)
  }
}
