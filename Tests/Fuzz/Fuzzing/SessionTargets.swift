import Primitives
import SecureSession
import Wire

extension FuzzTarget {
  static let session: [FuzzTarget] = [
    datagram, initPayload, responsePayload, contactCard, nodeList,
  ]

  /// A whole datagram, as it comes from the socket: told apart, then read as what it says it is.
  private static let datagram = FuzzTarget(
    "datagram", seeds: { datagramSeeds },
    run: { bytes in
      switch Demultiplexer.classify(bytes.span) {
      case .foreign: break
      case .sealed(let id):
        expect(bytes.count >= SealedPacket.minimumByteCount, "a sealed packet has header and tag")
        expect(SealedPacket.connectionID(of: bytes.span) == id, "one connection ID")
      case .control(let type):
        if let written = try? rewritten(type, bytes) {
          expect(written == bytes, "a packet has one encoding")
        }
      }
    })

  /// The packet read and written again; what has no writer is given back as it was.
  private static func rewritten(_ type: PacketType, _ bytes: [UInt8]) throws(WireError) -> [UInt8] {
    var reader = ByteReader(bytes.span)
    var written: [UInt8] = []
    switch type {
    case .initiation:
      let packet = try InitPacket(parsing: &reader)
      expect(packet.connectionID != .none, "an INIT names its connection")
      return bytes
    case .response:
      _ = try ResponsePacket(parsing: &reader)
      return bytes
    case .cookie: try CookiePacket(parsing: &reader).write(to: &written, purpose: bytes[3])
    case .reset:
      try ResetPacket(parsing: &reader).write(to: &written)
    case .version:  // Of any version, so what we write differs in its first bytes.
      try VersionPacket(parsing: &reader).write(to: &written)
      written.replaceSubrange(0..<4, with: bytes[0..<4])
    case .cardRequest: try CardRequestPacket(parsing: &reader).write(to: &written)
    case .card: try CardPacket(parsing: &reader).write(to: &written)
    case .nodesRequest: try NodesRequestPacket(parsing: &reader).write(to: &written)
    case .nodes: try NodesPacket(parsing: &reader).write(to: &written)
    }
    expect(reader.isAtEnd, "a packet is read to its end")
    return written
  }

  private static var datagramSeeds: [[UInt8]] {
    let id = ConnectionID(rawValue: 0x0403_0201)
    let mac = [UInt8](repeating: 9, count: 16)
    let initiation =
      InitPacket.unauthenticated(
        purpose: .register, connectionID: id, noiseMessage: Array(repeating: 5, count: 1160)) + mac
      + mac
    var seeds = [initiation, [0x60, 1, 2, 3, 4] + Array(repeating: 7, count: 60)]
    let writers: [(inout [UInt8]) -> Void] = [
      { packet in
        CookiePacket(
          initiator: id, nonce: Array(repeating: 1, count: 24),
          sealedCookie: Array(repeating: 2, count: 32)
        ).write(to: &packet, purpose: 1)
      },
      { ResetPacket(answered: id, token: .zero, padding: .zero).write(to: &$0) },
      { VersionPacket(initiator: id, lowest: 1, highest: 2).write(to: &$0) },
      { CardRequestPacket(nonce: 77).write(to: &$0) },
      { NodesRequestPacket(nonce: 77, root: .zero).write(to: &$0) },
    ]
    for write in writers {
      var packet: [UInt8] = []
      write(&packet)
      seeds.append(packet)
    }
    for card in someCards {
      var packet: [UInt8] = []
      CardPacket(nonce: 77, card: card).write(to: &packet)
      seeds.append(packet)
    }
    for list in someLists {
      var packet: [UInt8] = []
      NodesPacket(nonce: 77, list: list).write(to: &packet)
      seeds.append(packet)
    }
    seeds.append(
      [0xC2, 1, 1, 1] + Array(repeating: 3, count: 180) + Array(repeating: 0, count: 16))
    return seeds
  }

  /// Well formed, with signatures that nobody made: whether to believe a card is not for a parser.
  static var someCards: [ContactCard] {
    let bare = ContactCard.Content(
      id: PeerID(word0: 1, word1: 2, word2: 3, word3: 4), staticKey: Bytes32.zero, notBefore: 100,
      notAfter: 200, serial: 1)
    var full = bare
    full.home = ContactCard.Home(id: bare.id, host: "rendezvous.example", port: 7400)
    full.name = PeerName("bob")
    return [bare, full].compactMap {
      try? ContactCard(content: $0, signature: Array(repeating: 8, count: 64))
    }
  }

  private static let contactCard = FuzzTarget(
    "contact-card", maximumByteCount: 340, seeds: { someCards.map(\.bytes) },
    run: { bytes in
      guard let card = try? ContactCard(parsing: bytes) else { return }
      expect(card.bytes == bytes, "a card is kept as it came, for its signature")
      let signature = Array(bytes.suffix(ContactCard.signatureByteCount))
      let again = try? ContactCard(content: card.content, signature: signature)
      expect(again?.bytes == bytes, "a card has one encoding")
    })

  /// One node, and as many as fit.
  static var someLists: [NodeList] {
    [1, 14].compactMap { (count: UInt64) in
      let nodes = (1...count).map { number in
        NodeList.Node(
          id: PeerID(word0: number, word1: 2, word2: 3, word3: 4), weight: Int(number),
          addresses: [
            SocketAddress(v4: 192, 0, 2, UInt8(number), port: 7400),
            SocketAddress(family: .v6, high: 0x2001_0DB8 << 32, low: number, port: 7400),
          ])
      }
      let content = NodeList.Content(
        root: .zero, serial: 9, notBefore: 100, notAfter: 200, nodes: nodes)
      return try? NodeList(content: content, signature: Array(repeating: 8, count: 64))
    }
  }

  private static let nodeList = FuzzTarget(
    "node-list", maximumByteCount: NodeList.maximumByteCount + 4,
    seeds: { someLists.map(\.bytes) },
    run: { bytes in
      guard let list = try? NodeList(parsing: bytes) else { return }
      expect(list.bytes == bytes, "a list is kept as it came, for its signature")
      let signature = Array(bytes.suffix(NodeList.signatureByteCount))
      let again = try? NodeList(content: list.content, signature: signature)
      expect(again?.bytes == bytes, "a list has one encoding")
      let order = list.order(for: .zero)
      expect(Set(order) == Set(list.nodes), "each node has its place in the order")
      expect(order[0].weight > 0, "a node with a weight is tried first")
      do throws(NodeListFault) {
        try list.verify(root: list.root, unixSeconds: list.content.notBefore)
        expect(false, "nobody has signed it")
      } catch {
        expect(error == .wrongSignature, "the signature decides")
      }
    })

  private static let initPayload = FuzzTarget(
    "init-payload", maximumByteCount: InitPayload.byteCount,
    seeds: {
      someCards.map { card in
        var bytes: [UInt8] = []
        InitPayload(
          time: TAI64N(unixMilliseconds: 1_700_000_000_123), card: card, name: PeerName("bob"),
          token: Array(repeating: 6, count: 100), abilities: [.senderNames, .audience],
          receipt: OpaqueReceipt(Array(0..<27))
        ).write(to: &bytes)
        return bytes
      }
    },
    run: { bytes in
      var reader = ByteReader(bytes.span)
      guard let payload = try? InitPayload(parsing: &reader) else { return }
      var written: [UInt8] = []
      payload.write(to: &written)
      expect(written.count == InitPayload.byteCount, "the payload of INIT has one length")
      var second = ByteReader(written.span)
      guard let again = try? InitPayload(parsing: &second) else {
        return expect(false, "what was written can be read")
      }
      expect(
        again.card == payload.card && again.name == payload.name && again.token == payload.token
          && again.time == payload.time && again.abilities == payload.abilities
          && again.receipt == payload.receipt,
        "a payload survives being written")
    })

  private static let responsePayload = FuzzTarget(
    "response-payload", maximumByteCount: ResponsePayload.byteCount,
    seeds: {
      let terms = SessionTerms(
        serverTime: 1_700_000_000_123, boot: 3, life: 3600, period: 20, resetToken: .zero,
        status: .nameGranted, isForAudience: true)
      var bytes: [UInt8] = []
      ResponsePayload(
        responder: ConnectionID(rawValue: 1), initiator: ConnectionID(rawValue: 2),
        seenAddress: SocketAddress(v4: 192, 0, 2, 1, port: 7400), terms: terms
      ).write(to: &bytes)
      return [bytes]
    },
    run: { bytes in
      var reader = ByteReader(bytes.span)
      guard let payload = try? ResponsePayload(parsing: &reader) else { return }
      var written: [UInt8] = []
      payload.write(to: &written)
      expect(written == bytes, "the payload of RESP has one encoding")
    })
}
