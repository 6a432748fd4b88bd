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

/// RELAY_HERE: a relay's own word to its rendezvous (docs/protocol/relay.md §1).
package struct RelayHere: Hashable, Sendable {
  /// Where it listens; unspecified = the address of the session, with this port.
  package var address: SocketAddress

  package init(address: SocketAddress) { self.address = address }
}
