internal import Primitives

/// RELAYS: TURN servers that a rendezvous has for its client, with credentials that lapse
/// (docs/protocol/rendezvous.md §3). Those of the last RELAYS count.
package struct RelayOffer: Hashable, Sendable {
  /// A TURN server and how it knows the client.
  package struct Server: Hashable, Sendable {
    /// `turn:` or `turns:` (RFC 7065).
    package var uri: String
    package var user: String
    package var password: String

    package init(uri: String, user: String, password: String) {
      self.uri = uri
      self.user = user
      self.password = password
    }
  }

  /// The most servers that one message names.
  package static let serverLimit = 4
  /// The longest URI, user or password, in bytes.
  package static let textByteLimit = 255

  /// Seconds for which the credentials are good, from when the message was made.
  package var lifeSeconds: UInt32
  /// 1...`serverLimit`, the preferred one first.
  package var servers: [Server]

  package init(lifeSeconds: UInt32, servers: [Server]) {
    self.lifeSeconds = lifeSeconds
    self.servers = servers
  }

  @_lifetime(reader: copy reader)
  init(fields reader: inout ByteReader) throws(WireError) {
    lifeSeconds = try reader.readUInt32("life of credentials")
    let start = reader.offset
    let count = Int(try reader.readUInt8("count of relays"))
    guard (1...Self.serverLimit).contains(count) else {
      throw .invalid("count of relays", at: start)
    }
    servers = []
    for _ in 0..<count {
      servers.append(
        Server(
          uri: try Self.text(&reader), user: try Self.text(&reader),
          password: try Self.text(&reader)))
    }
  }

  /// Printable ASCII without spaces, which is all that these texts hold.
  @_lifetime(reader: copy reader)
  private static func text(_ reader: inout ByteReader) throws(WireError) -> String {
    let start = reader.offset
    let bytes = try reader.readBytes(Int(try reader.readUInt8("length of text")), "text")
    guard isText(bytes) else { throw .invalid("text of a relay", at: start) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Whether RELAYS can carry the text: 1 to 255 printable ASCII letters without spaces.
  package static func isText(_ bytes: some Collection<UInt8>) -> Bool {
    (1...textByteLimit).contains(bytes.count) && bytes.allSatisfy { (0x21...0x7E).contains($0) }
  }

  func writeFields(to bytes: inout [UInt8]) {
    bytes.append(littleEndian: lifeSeconds)
    bytes.append(UInt8(servers.count))
    for server in servers {
      for text in [server.uri, server.user, server.password] {
        bytes.append(UInt8(text.utf8.count))
        bytes.append(contentsOf: text.utf8)
      }
    }
  }
}
