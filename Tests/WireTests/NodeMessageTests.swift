import Primitives
import Testing
import Wire

/// What nodes hand each other (docs/protocol/cluster.md §4).
@Suite struct NodeMessageTests {
  private func message(name: PeerName?, programs: Int = 1) -> NodeMessage {
    NodeMessage(
      Forward(id: ForwardID(low: 1, high: 2), to: .zero, lifeSeconds: 8, body: [7, 8]),
      from: PeerID(word0: 3, word1: 0, word2: 0, word3: 0), presence: PresenceID(rawValue: 4),
      name: name, isAnswer: true, network: 5,
      programs: (0..<UInt64(programs)).map { PresenceID(rawValue: $0 + 6) })
  }

  @Test func `a word of a node is one of ten, each with one encoding`() throws {
    let key = SupersededKey(
      node: 7, unixSeconds: 1_800_000_000, id: PeerID(word0: 3, word1: 4, word2: 5, word3: 6))
    let taken = BodyTaken(number: 1 << 63, node: 9, count: 2)
    let moved = ProgramMoved(id: key.id, presence: PresenceID(rawValue: 5), serial: 1 << 40)
    let banned = MemberBanned(channel: Bytes32(key.id), id: key.id, until: 1 << 41)
    let request = ChannelRequest(channel: Bytes32(key.id), stay: 3, number: 4, .role(.host))
    let asked = PassedRequest(
      node: 7, number: 8, unixMilliseconds: 1 << 40, joinNumber: 9, id: key.id,
      presence: PresenceID(rawValue: 5), address: SocketAddress(v4: 10, 0, 0, 1, port: 4000),
      request: request)
    let noticed = PassedNotice(
      node: 7, number: 8,
      programs: [PassedNotice.Program(id: key.id, presence: PresenceID(rawValue: 5))],
      notice: ChannelNotice(channel: Bytes32(key.id), .head(epoch: 1, revision: 2)))
    let relays = RelaysOfNode(node: 7, relays: [key.id, .zero])
    let wish = GrantWish(
      number: 8, unixMilliseconds: 1 << 40, relay: key.id, node: 7, member: noticed.programs[0],
      channel: .zero, uid: 3, role: .audience)
    var loss = wish
    loss.home = 9
    let silent = RelaySilent(
      number: 8, unixMilliseconds: 1 << 40, relay: key.id, channel: .zero)
    let ended = SeatsEnded([EndedSeat(channel: .zero, uid: 3, until: 1 << 41)])
    let words = [NodeWord.superseded(key), .message(message(name: nil)), .taken(taken)]
    let others: [NodeWord] = [
      .moved(moved), .banned(banned), .asked(asked), .noticed(noticed), .relays(relays),
      .wished(wish), .wished(loss), .silent(silent), .ended(ended),
    ]
    for word in words + others { try expectOneEncoding(of: word) }
    #expect(key.bytes.count == 49 && taken.bytes.count == 18 && moved.bytes.count == 49)
    #expect(banned.bytes.count == 73 && asked.bytes.count == 138 && noticed.bytes.count == 107)
    for count in [0, 65] {
      var wrong = noticed
      wrong.programs = Array(repeating: noticed.programs[0], count: count)
      #expect(throws: WireError.self) { try NodeWord(parsing: wrong.bytes.span) }
    }
  }

  private func expectOneEncoding(of word: NodeWord) throws {
    #expect(try NodeWord(parsing: word.bytes.span) == word)
    for length in word.bytes.indices {
      let part = Array(word.bytes.prefix(length))
      #expect(throws: WireError.self) { try NodeWord(parsing: part.span) }
    }
    #expect(throws: WireError.self) { try NodeWord(parsing: (word.bytes + [0]).span) }
  }

  @Test func `comes back from its bytes`() throws {
    for name in [nil, PeerName("alice")] {
      var message = message(name: name, programs: 3)
      message.receipt = NodeMessage.Receipt(node: 11, number: 12)
      #expect(try NodeMessage(parsing: message.bytes.span) == message)
      #expect(message.forwarded.name == name && message.forwarded.body == [7, 8])
      #expect(message.forwarded.presence == message.presence)
    }
  }

  @Test func `is refused when cut, longer, of another type, or for nobody`() {
    let bytes = message(name: nil).bytes
    for length in 0..<bytes.count {
      #expect(throws: WireError.self) { try NodeMessage(parsing: Array(bytes.prefix(length)).span) }
    }
    #expect(throws: WireError.self) { try NodeMessage(parsing: (bytes + [0]).span) }
    for (offset, value) in [(0, UInt8(2)), (1, 2)] {
      var changed = bytes
      changed[offset] = value
      #expect(throws: WireError.self) { try NodeMessage(parsing: changed.span) }
    }
    let (none, many) = (message(name: nil, programs: 0), message(name: nil, programs: 65))
    #expect(throws: WireError.self) { try NodeMessage(parsing: none.bytes.span) }
    #expect(throws: WireError.self) { try NodeMessage(parsing: many.bytes.span) }
  }
}
