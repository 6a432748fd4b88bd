package import Primitives

/// RELAY: where a relay is, and what opens a seat there (docs/protocol/relay.md §2):
///
///     relay's ID 32 · address 19 · grant: length 2 + ≤ 512
package struct ChannelRelayGrant: Hashable, Sendable {
  package var relay: PeerID
  package var address: SocketAddress
  /// A token of the rendezvous for the relay.
  package var token: [UInt8]

  package init(relay: PeerID, address: SocketAddress, token: [UInt8]) {
    self.relay = relay
    self.address = address
    self.token = token
  }

  @_lifetime(reader: copy reader)
  init(parsing reader: inout ByteReader) throws(WireError) {
    relay = try PeerID(parsing: &reader)
    address = try SocketAddress(parsing: &reader)
    token = try reader.readToken()
  }

  func write(to bytes: inout [UInt8]) {
    relay.write(to: &bytes)
    address.write(to: &bytes)
    bytes.append(token: token)
  }
}

/// A seat at a relay whose member has lost the right to it, as far as its grant ends by a moment:
///
///     channel 32 · uid 4 · until 8
package struct EndedSeat: Hashable, Sendable {
  package var channel: Bytes32
  package var uid: UInt32
  /// Milliseconds since 1970: later grants of the same uid are another member's, or a later stay's.
  package var until: UInt64

  package init(channel: Bytes32, uid: UInt32, until: UInt64) {
    self.channel = channel
    self.uid = uid
    self.until = until
  }

  /// The ID that stands for a channel where a member may keep its seat, and is no host any more:
  /// each bit inverted. To a relay that does not know it, it is a channel that is not there.
  package static func hosts(of channel: Bytes32) -> Bytes32 {
    Bytes32(InlineArray { index in ~channel.storage[index] })
  }

  @_lifetime(reader: copy reader)
  init(parsing reader: inout ByteReader) throws(WireError) {
    channel = try Bytes32(parsing: &reader, "channel")
    uid = try reader.readUID()
    until = try reader.readUInt64("end of grants")
  }

  func write(to bytes: inout [UInt8]) {
    bytes.append(contentsOf: channel.bytes)
    bytes.append(littleEndian: uid)
    bytes.append(littleEndian: until)
  }
}

/// SEATS_ENDED: a rendezvous' word to its relays (docs/protocol/relay.md §2):
///
///     count 1 (1..16) · count × seat
package struct SeatsEnded: Hashable, Sendable {
  /// In one message.
  package static let limit = 16

  package var seats: [EndedSeat]

  package init(_ seats: [EndedSeat]) { self.seats = seats }

  @_lifetime(reader: copy reader)
  init(fields reader: inout ByteReader) throws(WireError) {
    let at = reader.offset
    let count = Int(try reader.readUInt8("count of seats"))
    guard (1...Self.limit).contains(count) else { throw .invalid("count of seats", at: at) }
    seats = []
    for _ in 0..<count { seats.append(try EndedSeat(parsing: &reader)) }
  }

  func writeFields(to bytes: inout [UInt8]) {
    bytes.append(UInt8(clamping: seats.count))
    for seat in seats { seat.write(to: &bytes) }
  }
}

/// RELAY_HERE: a relay's own word to its rendezvous (docs/protocol/relay.md §1).
package struct RelayHere: Hashable, Sendable {
  /// Where it listens; unspecified = the address of the session, with this port.
  package var address: SocketAddress

  package init(address: SocketAddress) { self.address = address }
}
