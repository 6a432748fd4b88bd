import Primitives
import Rendezvous
import SecureSession
import Testing
import Tokens
import Wire

/// What a node tells of the list that its root has signed (docs/protocol/session.md §4).
struct NodeListAnswerTests {
  private static let asker = SocketAddress(v4: 198, 51, 100, 7, port: 4000)

  private static var root: RootKey {
    var random = RandomSource(seed: 4)
    return RootKey(random: &random)
  }

  private static func list(_ ids: [PeerID]) throws -> NodeList {
    let key = root
    let nodes = ids.map {
      NodeList.Node(
        id: $0, weight: 1, addresses: [SocketAddress(v4: 192, 0, 2, 1, port: 7400)])
    }
    return try NodeList.sign(
      NodeList.Content(
        root: key.id, serial: 1, notBefore: Server.unixSeconds,
        notAfter: Server.unixSeconds + 86_400, nodes: nodes), with: key)
  }

  private static func request(_ root: PeerID) -> [UInt8] {
    var bytes: [UInt8] = []
    NodesRequestPacket(nonce: 5, root: root).write(to: &bytes)
    return bytes
  }

  @Test func `whoever names the root gets its list, in no more bytes than it sent`() throws {
    let server = Server()
    server.receive(Self.request(Self.root.id), from: Self.asker)
    #expect(server.strays.isEmpty, "a server without a list says nothing")
    let list = try Self.list([server.card.id])
    server.setNodes(list)
    server.receive(Self.request(.zero), from: Self.asker)
    #expect(server.strays.isEmpty, "nor of another root")
    server.receive(Self.request(Self.root.id), from: Self.asker)
    let answer = try #require(server.strays.first)
    #expect(answer.to == Self.asker && answer.bytes.count <= NodesRequestPacket.byteCount)
    var reader = ByteReader(answer.bytes.span)
    #expect(try NodesPacket(parsing: &reader) == NodesPacket(nonce: 5, list: list))
    #expect(server.counters.nodesSent == 1 && server.counters.cardsSent == 0)
    #expect(server.counters.foreign == 2)
  }

  @Test func `one host draws no more than 2500 answers a second`() throws {
    let server = Server()
    server.setNodes(try Self.list([server.card.id]))
    for _ in 0..<20_000 { server.receive(Self.request(Self.root.id), from: Self.asker) }
    #expect((1...7_500).contains(server.counters.nodesSent), "\(server.counters.nodesSent)")
  }

  /// A token for one node alone would end where its holder moves to another.
  @Test func `an access token may be for the root as well as for the node`() throws {
    var random = RandomSource(seed: 8)
    let signer = TokenSigningKey(random: &random)
    let server = Server(tokenKey: signer.publicKey)
    server.setNodes(try Self.list([server.card.id]), tokenKey: signer.publicKey)
    for (number, audience, isTaken) in [
      (UInt64(1), server.card.id, true), (2, Self.root.id, true), (3, PeerID.zero, false),
    ] {
      let client = TestClient(number)
      client.token = try Self.token(client.id, audience, signer)
      server.join(client)
      server.run(.milliseconds(100))
      #expect(client.isRegistered == isTaken, "\(number)")
    }
  }

  private static func token(
    _ id: PeerID, _ audience: PeerID, _ signer: borrowing TokenSigningKey
  ) throws -> String {
    let claims = TokenClaims(
      audience: "\(audience)", subject: id, scope: TokenClaims.register,
      expires: (Server.unixSeconds + 3600) * 1000)
    return PublicToken(signing: claims.json, by: signer).text
  }
}
