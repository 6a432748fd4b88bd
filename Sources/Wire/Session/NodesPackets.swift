package import Primitives

/// NODES_REQUEST, 0xCA (docs/protocol/session.md §4): type, version, zero 2, nonce 8, root's ID 32,
/// zero to 1200, so that no answer is longer.
package struct NodesRequestPacket: Equatable, Sendable {
  package static let byteCount = Datagram.maximumByteCount

  package var nonce: UInt64
  package var root: PeerID

  package init(nonce: UInt64, root: PeerID) {
    self.nonce = nonce
    self.root = root
  }

  @_lifetime(reader: copy reader)
  package init(parsing reader: inout ByteReader) throws(WireError) {
    let preamble = try PacketPreamble(
      parsing: &reader, type: .nodesRequest, byteCount: Self.byteCount)
    try preamble.expectOfCard()
    nonce = try reader.readUInt64("nonce")
    root = try PeerID(parsing: &reader, "root's ID")
    try reader.readZeros(reader.remaining, "end of NODES_REQUEST")
  }

  package func write(to bytes: inout [UInt8]) {
    let start = bytes.count
    PacketPreamble(suite: 0).write(to: &bytes, type: .nodesRequest)
    bytes.append(littleEndian: nonce)
    root.write(to: &bytes)
    bytes.append(zeros: start + Self.byteCount - bytes.count)
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    write(to: &bytes)
    return bytes
  }
}

/// NODES, 0xCB (docs/protocol/session.md §4): type, version, zero 2, the request's nonce 8,
/// length 2, list.
package struct NodesPacket: Equatable, Sendable {
  static let headByteCount = 14
  package static let byteCounts =
    (headByteCount + NodeList.minimumByteCount)...(headByteCount + NodeList.maximumByteCount)

  package var nonce: UInt64
  package var list: NodeList

  package init(nonce: UInt64, list: NodeList) {
    self.nonce = nonce
    self.list = list
  }

  @_lifetime(reader: copy reader)
  package init(parsing reader: inout ByteReader) throws(WireError) {
    let preamble = try PacketPreamble(
      parsing: &reader, type: .nodes, byteCount: reader.remaining)
    try preamble.expectOfCard()
    nonce = try reader.readUInt64("nonce")
    list = try NodeList(fields: &reader)
    try reader.expectEnd("NODES")
  }

  package func write(to bytes: inout [UInt8]) {
    PacketPreamble(suite: 0).write(to: &bytes, type: .nodes)
    bytes.append(littleEndian: nonce)
    list.writeFields(to: &bytes)
  }
}
