package import Primitives

/// The nodes of one service, signed by its root (docs/protocol/cluster.md §7).
///
/// A value of this type is well formed. Whether to believe it is another question, which
/// `SecureSession` answers: the signature and the dates are not checked here.
package struct NodeList: Hashable, Sendable {
  package static let minimumByteCount =
    headByteCount + Node.minimumByteCount + signatureByteCount
  /// What fits into NODES.
  package static let maximumByteCount = Datagram.maximumByteCount - NodesPacket.headByteCount
  package static let signatureByteCount = 64
  /// The most nodes of one service.
  package static let limit = 16
  /// The longest time from "not before" to "not after", in seconds.
  package static let maximumLife: UInt64 = 400 * 86_400
  private static let headByteCount = 63

  /// One rendezvous of the service.
  package struct Node: Hashable, Sendable {
    package static let weights = 0...100
    /// One in each family.
    package static let addressLimit = 2
    static let minimumByteCount = PeerID.byteCount + 2 + SocketAddress.wireByteCount

    package var id: PeerID
    /// Its part of the clients, against the weights of the others; 0 = only when no other answers.
    package var weight: Int
    package var addresses: [SocketAddress]

    package init(id: PeerID, weight: Int, addresses: [SocketAddress]) {
      self.id = id
      self.weight = weight
      self.addresses = addresses
    }
  }

  /// What a list says, before it is signed.
  package struct Content: Hashable, Sendable {
    package var root: PeerID
    /// A higher one replaces a lower one.
    package var serial: UInt64
    /// Seconds since 1970 UTC.
    package var notBefore: UInt64
    /// Seconds since 1970 UTC.
    package var notAfter: UInt64
    package var nodes: [Node]

    package init(
      root: PeerID, serial: UInt64, notBefore: UInt64, notAfter: UInt64, nodes: [Node]
    ) {
      self.root = root
      self.serial = serial
      self.notBefore = notBefore
      self.notAfter = notAfter
      self.nodes = nodes
    }
  }

  package let content: Content
  /// The whole list, signature included.
  package let bytes: [UInt8]

  package var root: PeerID { content.root }
  package var serial: UInt64 { content.serial }
  package var nodes: [Node] { content.nodes }

  /// How many bytes at the beginning are signed.
  package var signedByteCount: Int { bytes.count - Self.signatureByteCount }

  /// A list from its content and the signature over it.
  package init(content: Content, signature: [UInt8]) throws(WireError) {
    try self.init(parsing: content.encoded + signature)
  }

  package init(parsing bytes: [UInt8]) throws(WireError) {
    guard bytes.count <= Self.maximumByteCount else {
      throw WireError(.tooLong, "list of nodes", at: Self.maximumByteCount)
    }
    var reader = ByteReader(bytes.span)
    content = try Content(parsing: &reader)
    _ = try reader.readRange(Self.signatureByteCount, "signature")
    try reader.expectEnd("list of nodes")
    self.bytes = bytes
  }

  /// Of NODES: length 2, then the list.
  @_lifetime(reader: copy reader)
  init(fields reader: inout ByteReader) throws(WireError) {
    let at = reader.offset
    let length = Int(try reader.readUInt16("length of the list"))
    guard length <= Self.maximumByteCount else {
      throw WireError(.tooLong, "length of the list", at: at)
    }
    try self.init(parsing: try reader.readBytes(length, "list of nodes"))
  }

  func writeFields(to bytes: inout [UInt8]) {
    bytes.append(littleEndian: UInt16(clamping: self.bytes.count))
    bytes.append(contentsOf: self.bytes)
  }
}

extension NodeList.Content {
  private static let magic: UInt32 = 0x314C_4E45  // "ENL1"
  private static let version: UInt8 = 1

  @_lifetime(reader: copy reader)
  fileprivate init(parsing reader: inout ByteReader) throws(WireError) {
    guard try reader.readUInt32("list magic") == Self.magic else { throw .invalid("magic", at: 0) }
    guard try reader.readUInt8("list version") == Self.version else {
      throw .invalid("list version", at: 4)
    }
    guard try reader.readUInt8("list flags") == 0 else { throw .invalid("list flags", at: 5) }
    root = try PeerID(parsing: &reader, "root's ID")
    serial = try reader.readUInt64("serial")
    notBefore = try reader.readUInt64("not before")
    notAfter = try reader.readUInt64("not after")
    guard notAfter >= notBefore, notAfter - notBefore <= NodeList.maximumLife else {
      throw .invalid("not after", at: 54)
    }
    let at = reader.offset
    let count = Int(try reader.readUInt8("count of nodes"))
    guard (1...NodeList.limit).contains(count) else { throw .invalid("count of nodes", at: at) }
    nodes = []
    for _ in 0..<count {
      let start = reader.offset
      let node = try NodeList.Node(parsing: &reader)
      guard !nodes.contains(where: { $0.id == node.id }) else {
        throw .invalid("node twice", at: start)
      }
      nodes.append(node)
    }
    guard nodes.contains(where: { $0.weight > 0 }) else { throw .invalid("weights", at: at) }
  }

  /// The bytes of the list before its signature.
  package var encoded: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: Self.magic)
    bytes.append(Self.version)
    bytes.append(0)
    root.write(to: &bytes)
    bytes.append(littleEndian: serial)
    bytes.append(littleEndian: notBefore)
    bytes.append(littleEndian: notAfter)
    bytes.append(UInt8(clamping: nodes.count))
    for node in nodes { node.write(to: &bytes) }
    return bytes
  }
}

extension NodeList.Node {
  @_lifetime(reader: copy reader)
  fileprivate init(parsing reader: inout ByteReader) throws(WireError) {
    id = try PeerID(parsing: &reader, "node's ID")
    let at = reader.offset
    weight = Int(try reader.readUInt8("weight"))
    guard Self.weights.contains(weight) else { throw .invalid("weight", at: at) }
    let count = Int(try reader.readUInt8("count of addresses"))
    guard (1...Self.addressLimit).contains(count) else {
      throw .invalid("count of addresses", at: at + 1)
    }
    addresses = []
    for _ in 0..<count {
      let start = reader.offset
      let address = try SocketAddress(parsing: &reader)
      guard !address.isUnsendable, !addresses.contains(where: { $0.family == address.family })
      else { throw .invalid("node's address", at: start) }
      addresses.append(address)
    }
  }

  fileprivate func write(to bytes: inout [UInt8]) {
    id.write(to: &bytes)
    bytes.append(UInt8(clamping: weight))
    bytes.append(UInt8(clamping: addresses.count))
    for address in addresses { address.write(to: &bytes) }
  }
}
