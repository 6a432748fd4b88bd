import Primitives
import Testing
import Wire

/// The list of nodes of a service (docs/protocol/cluster.md §7).
struct NodeListTests {
  private static let signature = Array(repeating: UInt8(0x55), count: 64)

  private static func node(
    _ number: UInt64, weight: Int = 1, families: Int = 1
  ) -> NodeList.Node {
    let addresses = [
      SocketAddress(v4: 192, 0, 2, UInt8(number), port: 7400),
      SocketAddress(family: .v6, high: 0x2001_0DB8 << 32, low: number, port: 7400),
    ]
    return NodeList.Node(
      id: PeerID(word0: number, word1: 0, word2: 0, word3: 0), weight: weight,
      addresses: Array(addresses.prefix(families)))
  }

  private static func content(_ nodes: [NodeList.Node]) -> NodeList.Content {
    NodeList.Content(
      root: PeerID(word0: 1, word1: 2, word2: 3, word3: 4), serial: 7, notBefore: 1000,
      notAfter: 1000 + NodeList.maximumLife, nodes: nodes)
  }

  private static func list(_ nodes: [NodeList.Node]) throws(WireError) -> NodeList {
    try NodeList(content: content(nodes), signature: signature)
  }

  /// Of two nodes, the second without clients of its own.
  static func usual() -> NodeList {
    do throws(WireError) {
      return try list([node(1, weight: 100, families: 2), node(2, weight: 0)])
    } catch {
      preconditionFailure("the sample list does not parse: \(error)")
    }
  }

  @Test func `fields stand where the table says`() throws {
    let list = Self.usual()
    #expect(Array(list.bytes[0..<6]) == Array("ENL1".utf8) + [1, 0])
    #expect(Array(list.bytes[6..<38]) == list.root.bytes)
    #expect(list.bytes[38] == 7 && Array(list.bytes[46..<48]) == [0xE8, 3])
    #expect(list.bytes[62] == 2 && Array(list.bytes[63..<95]) == list.nodes[0].id.bytes)
    #expect(Array(list.bytes[95..<98]) == [100, 2, 4])
    #expect(list.bytes.count == 63 + (34 + 38) + (34 + 19) + 64)
    #expect(list.signedByteCount == list.bytes.count - 64)
    #expect(Array(list.bytes.suffix(64)) == Self.signature)
    #expect(try NodeList(parsing: list.bytes).content == list.content)
  }

  @Test func `cut anywhere or followed by anything it is refused`() {
    let bytes = Self.usual().bytes
    for count in bytes.indices {
      #expect(throws: WireError.self) { try NodeList(parsing: Array(bytes.prefix(count))) }
    }
    #expect(throws: WireError.self) { try NodeList(parsing: bytes + [0]) }
  }

  @Test func `what fits into one packet is a list, and no more`() throws {
    let most = (1...14).map { Self.node($0, families: 2) }
    let list = try Self.list(most)
    var packet: [UInt8] = []
    NodesPacket(nonce: 1, list: list).write(to: &packet)
    #expect(packet.count <= NodesRequestPacket.byteCount)
    #expect(throws: WireError.self) { try Self.list(most + [Self.node(15, families: 2)]) }
    _ = try Self.list((1...16).map { Self.node($0) })
    #expect(throws: WireError.self) { try Self.list((1...17).map { Self.node($0) }) }
    #expect(throws: WireError.self) { try Self.list([]) }
  }

  @Test func `nodes that nobody could use are refused`() throws {
    #expect(throws: WireError.self) { try Self.list([Self.node(1), Self.node(1)]) }
    #expect(throws: WireError.self) { try Self.list([Self.node(1, weight: 0)]) }
    #expect(throws: WireError.self) { try Self.list([Self.node(1, weight: 101)]) }
    #expect(throws: WireError.self) { try Self.list([Self.node(1, families: 0)]) }
    var twice = Self.node(1)
    twice.addresses.append(SocketAddress(v4: 192, 0, 2, 9, port: 7400))
    #expect(throws: WireError.self) { try Self.list([twice]) }
    for address in [
      SocketAddress(v4: 192, 0, 2, 9, port: 0), SocketAddress(v4: 0, 0, 0, 0, port: 7400),
      SocketAddress(v4: 224, 0, 0, 1, port: 7400),
    ] {
      var node = Self.node(1)
      node.addresses = [address]
      let content = Self.content([node])
      #expect(throws: WireError.self) {
        try NodeList(content: content, signature: Self.signature)
      }
    }
  }

  @Test func `a list lasts no longer than 400 days, and does not end before it begins`() throws {
    var content = Self.content([Self.node(1)])
    content.notAfter = 1001 + NodeList.maximumLife
    #expect(throws: WireError.self) {
      try NodeList(content: content, signature: Self.signature)
    }
    content.notAfter = 999
    #expect(throws: WireError.self) {
      try NodeList(content: content, signature: Self.signature)
    }
    content.notAfter = 1000
    _ = try NodeList(content: content, signature: Self.signature)
  }
}
