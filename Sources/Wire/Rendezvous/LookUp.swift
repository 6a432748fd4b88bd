package import Primitives

/// LOOKUP: who has this name, or is this ID online? (docs/protocol/rendezvous.md §3)
///
///     type 1 = 1 · request 4 · kind 1 (1 name, 2 ID) · length 1 + name, or ID 32
package struct LookUp: Hashable, Sendable {
  package enum Target: Hashable, Sendable {
    case name(PeerName)
    case id(PeerID)
  }

  /// Chosen by the client; the answer carries it back.
  package var request: UInt32
  package var target: Target

  package init(request: UInt32, target: Target) {
    self.request = request
    self.target = target
  }

  @_lifetime(reader: copy reader)
  init(fields reader: inout ByteReader) throws(WireError) {
    request = try reader.readUInt32("request")
    let start = reader.offset
    switch try reader.readUInt8("kind of look-up") {
    case Kind.name:
      let length = Int(try reader.readUInt8("name length"))
      guard length <= PeerName.maximumByteCount else { throw .invalid("name", at: start) }
      guard let name = PeerName(try reader.readText(length, "name")) else {
        throw .invalid("name", at: start)
      }
      target = .name(name)
    case Kind.id: target = .id(try PeerID(parsing: &reader))
    default: throw .invalid("kind of look-up", at: start)
    }
  }

  func writeFields(to bytes: inout [UInt8]) {
    bytes.append(littleEndian: request)
    switch target {
    case .name(let name):
      bytes.append(Kind.name)
      bytes.append(UInt8(clamping: name.description.utf8.count))
      bytes.append(contentsOf: name.description.utf8)
    case .id(let id):
      bytes.append(Kind.id)
      id.write(to: &bytes)
    }
  }

  private enum Kind {
    static let name: UInt8 = 1
    static let id: UInt8 = 2
  }
}

/// LOOKUP_RESULT: the card of whoever was asked for (docs/protocol/rendezvous.md §3).
///
///     type 1 = 2 · request 4 · status 1 · length 2 + card (length 0 for status 2, 3)
package struct LookUpResult: Hashable, Sendable {
  package enum Status: UInt8, Sendable {
    case online = 0
    /// Known, and not online now; the card is the last one seen.
    case offline = 1
    case unknown = 2
    case tooManyRequests = 3
    /// One of several nodes, which cannot tell now: it does not reach the memory that all share.
    case unavailable = 4

    package var hasCard: Bool { self == .online || self == .offline }
    /// Whether it says something of whoever was looked for.
    package var isKnown: Bool { self != .tooManyRequests && self != .unavailable }
  }

  package var request: UInt32
  package var status: Status
  /// The encoded contact card, which the receiver checks; empty when the status has none.
  package var card: [UInt8]

  /// The longest contact card (docs/protocol/README.md §4).
  package static let maximumCardByteCount = 330

  package init(request: UInt32, status: Status, card: [UInt8] = []) {
    self.request = request
    self.status = status
    self.card = card
  }

  @_lifetime(reader: copy reader)
  init(fields reader: inout ByteReader) throws(WireError) {
    request = try reader.readUInt32("request")
    let start = reader.offset
    guard let status = Status(rawValue: try reader.readUInt8("status")) else {
      throw .invalid("status", at: start)
    }
    self.status = status
    let length = Int(try reader.readUInt16("card length"))
    guard length <= Self.maximumCardByteCount, (length > 0) == status.hasCard else {
      throw .invalid("card length", at: start)
    }
    card = try reader.readBytes(length, "card")
  }

  func writeFields(to bytes: inout [UInt8]) {
    bytes.append(littleEndian: request)
    bytes.append(status.rawValue)
    bytes.append(littleEndian: UInt16(clamping: card.count))
    bytes.append(contentsOf: card)
  }
}
