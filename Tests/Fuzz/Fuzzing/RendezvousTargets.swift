import Primitives
import Wire

extension FuzzTarget {
  static let rendezvous: [FuzzTarget] = [rendezvousMessage, presenceRecord]

  private static let presenceRecord = FuzzTarget(
    "presence-record", maximumByteCount: 80,
    seeds: {
      PresenceKind.allCases.map { kind in
        PresenceRecord(
          identity: .zero, presence: Presence(PresenceID(rawValue: 7), kind), node: 1,
          expiryMilliseconds: 2, serial: 3
        ).bytes
      }
    },
    run: { bytes in
      if let record = try? PresenceRecord(parsing: bytes.span) {
        expect(record.bytes == bytes, "a record has one encoding")
      }
    })

  private static var pairMessages: [RendezvousMessage] {
    guard let call = CallID(Array(0..<16)) else { return [] }
    let address = SocketAddress(v4: 192, 0, 2, 1, port: 7500)
    let ticket = PairTicket(address: address, pair: .zero, until: 9, side: .lesser, key: .zero)
    return [
      .relayPairs(PairOffer(address: address, secret: .zero)),
      .pair(PairRequest(peer: .zero, call: call, program: .every)),
      .pairResult(PairResult(call: call, program: .every, .granted(ticket))),
      .pairResult(PairResult(call: call, program: .every, .noRelay)),
    ]
  }

  private static let rendezvousMessage = FuzzTarget(
    "rendezvous-message", maximumByteCount: 4200,
    seeds: {
      let id = ForwardID(low: 1, high: 2)
      let forward = Forward(id: id, to: .zero, lifeSeconds: 8, body: Array(0..<60))
      let messages: [RendezvousMessage] = [
        .lookUp(LookUp(request: 1, target: .id(.zero))),
        .relayHere(RelayHere(address: SocketAddress(v4: 0, 0, 0, 0, port: 7500))),
        .seatsEnded(SeatsEnded([EndedSeat(channel: .zero, uid: 5, until: 6)])),
        .lookUpResult(LookUpResult(request: 1, status: .online, card: Array(0..<200))),
        .forward(forward), .forwarded(Forwarded(forward, from: .zero)),
        .forwarded(Forwarded(forward, from: .zero, name: PeerName("alice"))),
        .forwardResult(ForwardResult(id: id, status: .notOnline)),
        .audience(Audience()), .channelData(SealedChannelMessage(uid: 7, frame: Array(0..<40))),
        .audience(Audience((1...9).map { AudienceMark(rawValue: $0 << 50 | 3) })),
        .forwardResult(ForwardResult(id: id, status: .forwarded, count: 2)),
        .relays(
          RelayOffer(
            lifeSeconds: 9,
            servers: [
              .init(uri: "turn:h", user: "1:x", password: "p="),
              .init(uri: "turns:i", user: "2", password: "q"),
            ])),
      ]
      let byName = PeerName("bob").map {
        RendezvousMessage.lookUp(LookUp(request: 2, target: .name($0)))
      }
      let receipts = PeerName("bob").flatMap { name in
        OpaqueReceipt(Array(0..<27)).map { receipt in
          RendezvousMessage.nameReceipt(NameReceiptMessage(name: name, receipt: receipt))
        }
      }
      let named = [byName, receipts].compactMap { $0 }
      return (messages + named + channelMessages + pairMessages).map(\.bytes)
    },
    run: { bytes in
      if let message = try? RendezvousMessage(parsing: bytes.span) {
        expect(message.bytes == bytes, "a message has one encoding")
      }
      if let part = try? DataPart(parsing: bytes.span) {
        expect(part.encoded == bytes, "a message to a channel has one encoding")
      }
    })
}
