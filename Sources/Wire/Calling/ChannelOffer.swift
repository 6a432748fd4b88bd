package import Primitives

/// A channel that the other side of a call is to join, and its token there
/// (docs/protocol/calling.md §5, CHANNEL). Whether they are good is for the reader of both to say.
package struct ChannelOffer: Equatable, Sendable {
  /// `NAME@k4.public.…`, 1...`longestRoom` bytes.
  package let room: [UInt8]
  /// 1...`longestToken` bytes.
  package let token: [UInt8]

  /// `nil` where one of them is empty, or too long.
  package init?(room: [UInt8], token: [UInt8]) {
    guard (1...Self.longestRoom).contains(room.count),
      (1...Self.longestToken).contains(token.count)
    else { return nil }
    self.room = room
    self.token = token
  }

  @_lifetime(reader: copy reader)
  package init(parsing reader: inout ByteReader) throws(WireError) {
    let start = reader.offset
    let room = try reader.readBytes(Int(try reader.readUInt8("length of room")), "room")
    let token = try reader.readBytes(Int(try reader.readUInt16("length of token")), "token")
    guard let offer = ChannelOffer(room: room, token: token) else {
      throw .invalid("channel offer", at: start)
    }
    self = offer
  }

  package var bytes: [UInt8] {
    var bytes = [UInt8(room.count)] + room
    bytes.append(littleEndian: UInt16(token.count))
    return bytes + token
  }

  /// A name of 63 bytes, "@", and a key as text, with some to spare.
  package static let longestRoom = 127
  /// As a rendezvous takes them (docs/protocol/channels.md §2).
  package static let longestToken = 512
}
