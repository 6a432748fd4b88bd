package import Primitives

/// What a channel with a key is joined by: its name, its key, and the token of one member
/// (docs/protocol/channels.md §10). Sent in call control, under the keys of the two.
package struct ChannelPass: Equatable, Sendable {
  /// The key that signs the channel's tokens; not zero.
  package let key: Bytes32
  package let name: PeerName
  /// As text; not checked here.
  package let token: [UInt8]

  /// `nil` unless the token has 1 to 512 bytes and the key is one.
  package init?(key: Bytes32, name: PeerName, token: [UInt8]) {
    guard key != .zero, (1...Self.maximumTokenByteCount).contains(token.count) else { return nil }
    self.key = key
    self.name = name
    self.token = token
  }

  @_lifetime(reader: copy reader)
  init(parsing reader: inout ByteReader) throws(WireError) {
    let start = reader.offset
    let key = Bytes32(try reader.readBytes(32, "channel key"))
    let length = Int(try reader.readUInt8("name length"))
    let name = PeerName(bytes: try reader.readBytes(length, "name"))
    let count = Int(try reader.readUInt16("token length"))
    guard count <= Self.maximumTokenByteCount else { throw .invalid("token length", at: start) }
    let token = try reader.readBytes(count, "token")
    guard let key, let name, let pass = ChannelPass(key: key, name: name, token: token) else {
      throw .invalid("channel pass", at: start)
    }
    self = pass
  }

  package var bytes: [UInt8] {
    var bytes = key.bytes
    bytes.append(UInt8(clamping: name.bytes.count))
    bytes.append(contentsOf: name.bytes)
    bytes.append(littleEndian: UInt16(clamping: token.count))
    bytes.append(contentsOf: token)
    return bytes
  }

  /// As a rendezvous accepts it (docs/protocol/channels.md §2).
  static let maximumTokenByteCount = 512
}
