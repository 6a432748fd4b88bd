package import Primitives

/// What became of a body at the node to which it was handed (docs/protocol/cluster.md §4).
///
///     type 1 = 3 · number 8 · node 8 · count 1
package struct BodyTaken: Equatable, Sendable {
  /// Of the message.
  package var number: UInt64
  /// The node that says it, by the first 8 bytes of its ID.
  package var node: UInt64
  /// To how many programs it was passed on.
  package var count: UInt8

  package init(number: UInt64, node: UInt64, count: UInt8) {
    self.number = number
    self.node = node
    self.count = count
  }

  package init(parsing bytes: Span<UInt8>) throws(WireError) {
    var reader = ByteReader(bytes)
    guard try reader.readUInt8("type") == Self.type else { throw .invalid("type", at: 0) }
    number = try reader.readUInt64("number")
    node = try reader.readUInt64("node")
    count = try reader.readUInt8("count")
    try reader.expectEnd("body taken")
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = [Self.type]
    bytes.append(littleEndian: number)
    bytes.append(littleEndian: node)
    bytes.append(count)
    return bytes
  }

  static let type: UInt8 = 3
}
