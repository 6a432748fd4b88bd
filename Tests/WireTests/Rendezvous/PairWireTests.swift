import Primitives
import Testing
import Wire

/// What a relay for pairs, its rendezvous and two ends say (docs/protocol/relay.md §6).
struct PairWireTests {
  private static let address = SocketAddress(v4: 192, 0, 2, 1, port: 7500)

  private static func messages(_ call: CallID) -> [RendezvousMessage] {
    let ticket = PairTicket(
      address: address, pair: Bytes16(InlineArray(repeating: 3)), until: 9, side: .greater,
      key: Bytes32(InlineArray(repeating: 4)))
    let program = PresenceID(rawValue: 5)
    let answers: [PairResult.Answer] = [.granted(ticket), .noRelay, .notKnown, .tooMany]
    return answers.map { .pairResult(PairResult(call: call, program: program, $0)) } + [
      .relayPairs(PairOffer(address: address, secret: ticket.key)),
      .pair(PairRequest(peer: .zero, call: call, program: program)),
    ]
  }

  @Test func `messages about pairs read as written, and not with a byte less or more`() throws {
    let call = try #require(CallID(Array(0..<16)))
    for message in Self.messages(call) {
      let bytes = message.bytes
      #expect(try RendezvousMessage(parsing: bytes.span) == message)
      for wrong in [bytes.dropLast(), bytes + [0]] {
        let copy = Array(wrong)
        #expect(throws: WireError.self) { try RendezvousMessage(parsing: copy.span) }
      }
    }
    #expect(Self.messages(call).map(\.bytes[0]) == [16, 16, 16, 16, 14, 15])
  }

  @Test func `sides go by the order of the IDs as bytes`() {
    let one = PeerID(word0: 1 << 56, word1: 0, word2: 0, word3: 0)
    let two = PeerID(word0: 1, word1: 0, word2: 0, word3: 0)
    // 1 << 56 begins with a zero byte.
    #expect(PairSide(of: one, beside: two) == .lesser && PairSide(of: two, beside: one) == .greater)
    #expect(PairSide.lesser.other == .greater && PairSide.greater.other == .lesser)
  }

  @Test func `both packets have one form, and the answer is the shorter`() throws {
    var ids = PairIDs()
    ids.two = ConnectionID(rawValue: 8)
    #expect(ids.contains(ConnectionID(rawValue: 8)) && !ids.contains(.none))
    let bind = PairBindPacket(
      pair: Bytes16(InlineArray(repeating: 3)), until: 7, side: .greater, isEnd: true, number: 6,
      cookie: Bytes16(InlineArray(repeating: 2)), ids: ids)
    var bytes: [UInt8] = []
    bind.write(to: &bytes)
    #expect(bytes.count == PairBindPacket.byteCount && PairBindPacket.isOne(bytes.span))
    #expect(try PairBindPacket(parsing: bytes.span) == bind)
    #expect(PairBindPacket.coveredByteCount + 16 == bytes.count)
    let bound = PairBoundPacket(.full, isOtherBound: true, pair: bind.pair, number: 6)
    var answer: [UInt8] = []
    bound.write(to: &answer)
    #expect(answer.count == PairBoundPacket.byteCount && PairBoundPacket.isOne(answer.span))
    #expect(try PairBoundPacket(parsing: answer.span) == bound)
    #expect(PairBoundPacket.coveredByteCount + 16 == answer.count && answer.count < bytes.count)
    for packet in [bytes, answer] {
      #expect(Demultiplexer.classify(packet.span) == .foreign)
    }
    for place in [0, 1, 2, 28, 29, 30] {
      var wrong = bytes
      wrong[place] = 0xFF
      #expect(throws: WireError.self) { try PairBindPacket(parsing: wrong.span) }
    }
    for place in [0, 1, 2, 3, 30, 44] {
      var wrong = answer
      wrong[place] = 0xFF
      #expect(throws: WireError.self) { try PairBoundPacket(parsing: wrong.span) }
    }
  }
}
