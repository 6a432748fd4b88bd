import Cryptography
import Primitives
import Rendezvous
import Wire

extension FuzzTarget {
  /// What Redis, and other nodes through it, say to a node.
  static let cluster: [FuzzTarget] = [nodeMessage, sharedStore, nameReceipt]

  private static let nodeMessage = FuzzTarget(
    "node-message", maximumByteCount: 6200,
    seeds: {
      let forward = Forward(
        id: ForwardID(low: 1, high: 2), to: .zero, lifeSeconds: 8, body: Array(0..<60))
      let messages = [true, false].map { isAnswer in
        NodeMessage(
          forward, from: .zero, presence: PresenceID(rawValue: 7),
          name: isAnswer ? PeerName("alice") : nil, isAnswer: isAnswer, network: 5,
          programs: [PresenceID(rawValue: 8), PresenceID(rawValue: 9)])
      }
      let record = PresenceRecord(
        identity: .zero, presence: Presence(PresenceID(rawValue: 7), .answering), node: 1,
        expiryMilliseconds: 2, serial: 3)
      let marks = Audience([AudienceMark(rawValue: 1), AudienceMark(rawValue: 2)])
      let presences = [nil, marks].map { RemotePresence(record, audience: $0).bytes }
      let key = SupersededKey(node: 1, unixSeconds: 2, id: .zero)
      let taken = BodyTaken(number: 1, node: 2, count: 3)
      let moved = ProgramMoved(id: .zero, presence: PresenceID(rawValue: 7), serial: 4)
      let banned = MemberBanned(channel: .zero, id: .zero, until: 5)
      let names = [PeerID.zero, PeerID(word0: 1, word1: 2, word2: 3, word3: 4)].compactMap { id in
        PeerName("alice").map { NameMoved(name: $0, owner: id == .zero ? nil : id).bytes }
      }
      let words = [key.bytes, taken.bytes, moved.bytes, banned.bytes] + names
      return messages.map(\.bytes) + presences + words + wordsOfChannels
    },
    run: { bytes in
      if let word = try? NodeWord(parsing: bytes.span) {
        expect(word.bytes == bytes, "a word between nodes has one encoding")
      }
      if let presence = try? RemotePresence(
        parsing: bytes.span, identity: .zero, program: PresenceID(rawValue: 7))
      {
        expect(presence.bytes == bytes, "a presence at another node has one encoding")
      }
    })

  /// What is asked of a channel of another node, and said of it.
  private static var wordsOfChannels: [[UInt8]] {
    guard let name = PeerName("tea") else { return [] }
    let join = ChannelJoin(role: .host, uid: 0, name: name, token: [1, 2])
    let requests: [ChannelRequest.Content] = [
      .join(join), .leave, .sync(RosterPosition(epoch: 1, revision: 2)), .proof(uid: 3), .relay,
    ]
    let asked = requests.map { content in
      PassedRequest(
        node: 1, number: 2, unixMilliseconds: 9, joinNumber: 3, id: .zero,
        presence: PresenceID(rawValue: 7), address: SocketAddress(v4: 10, 0, 0, 1, port: 4000),
        request: ChannelRequest(channel: .zero, stay: 4, number: 5, content)
      ).bytes
    }
    let notices: [ChannelNotice.Content] = [
      .head(epoch: 1, revision: 2), .gone(stay: 4, .lost),
      .proven(uid: 3, joinNumber: 6, token: [1]),
    ]
    let member = PassedNotice.Program(id: .zero, presence: PresenceID(rawValue: 7))
    let relays = [
      RelaysOfNode(node: 1, relays: [.zero]).bytes,
      GrantWish(
        number: 1, unixMilliseconds: 9, relay: .zero, node: 2, member: member, channel: .zero,
        uid: 3, role: .host
      ).bytes,
      GrantWish(
        number: 1, unixMilliseconds: 9, relay: .zero, node: 2, member: member, channel: .zero,
        uid: 3, role: .host, home: 4
      ).bytes,
      RelaySilent(number: 1, unixMilliseconds: 9, relay: .zero, channel: .zero).bytes,
      SeatsEnded([EndedSeat(channel: .zero, uid: 3, until: 4)]).bytes,
    ]
    return asked + relays
      + notices.map { content in
        PassedNotice(
          node: 1, number: 2,
          programs: [PassedNotice.Program(id: .zero, presence: PresenceID(rawValue: 7))],
          notice: ChannelNotice(channel: .zero, content)
        ).bytes
      }
  }

  /// What a client shows: whoever has no key of the service can choose every byte.
  private static let nameReceipt = FuzzTarget(
    "name-receipt", maximumByteCount: 64,
    seeds: {
      [
        NameReceipt(rank: NameRank(grantedAt: 1_800_000_000), issued: 1_800_003_600, mac: .zero),
        NameReceipt(rank: NameRank(regrantedAt: 1_800_000_000), issued: 0, mac: .zero),
      ].map(\.bytes)
    },
    run: { bytes in
      if let receipt = try? NameReceipt(parsing: bytes.span) {
        expect(receipt.bytes == bytes, "a receipt has one encoding")
      }
      let store = SharedStore(SecretKey(), node: .zero, random: RandomSource(seed: 1))
      store.handleConnection()
      let wish = StoreWish.registration(
        .zero, asked: PeerName("alice"), claimed: nil, receipt: OpaqueReceipt(bytes))
      _ = store.fetch(wish, now: 1_800_000_000)
      expect(store.pollCommand()?.arguments.suffix(2) == [[], []], "nobody can make a receipt")
    })

  private static let sharedStore = FuzzTarget(
    "shared-store", maximumByteCount: 600,
    seeds: {
      [
        [4, 2, 3],
        [0, 4, 6, 0, 0, 2, 1, 2, 0, 0, 2, 9, 4, 3, 3, 2, 1, 2, 2, 9, 2, 1],
        [0, 4, 6, 0, 0, 2, 1, 2, 0, 0, 2, 9, 2, 2],
        [5, 3, 2, 1, 2],
        [1, 4, 3, 0, 0, 4, 1, 4, 3, 2, 1, 3, 8, 1, 2, 3, 4, 5, 6, 7, 8, 3, 2, 9, 9],
        [2, 4, 2, 3, 16] + Array(repeating: 7, count: 16) + [3, 40]
          + Array(repeating: 8, count: 40),
        [3, 3, 60] + Array(repeating: 5, count: 60),
      ]
    },
    run: { bytes in
      let store = SharedStore(SecretKey(), node: .zero, random: RandomSource(seed: 1))
      store.handleConnection()
      var rest = bytes[...]
      let kind = rest.popFirst() ?? 0
      let name = PeerName("alice")
      switch kind & 7 {
      case 0: _ = store.fetch(.registration(.zero, asked: name, claimed: nil), now: 9)
      case 1: _ = store.fetch(.find(.id(.zero)), now: 9)
      case 2: store.fetchBans()
      case 4: store.beat(isComplete: true, now: .zero)
      case 5: if let name { _ = NameFreeing.begin(name, in: store, now: 9) }
      default: _ = store.open(Array(rest))
      }
      while let command = store.pollCommand() {
        store.handle(SharedReply(fuzzing: &rest), to: command.number)
      }
      while store.pollTicket() != nil {
        if kind & 7 == 0, let name { _ = try? store.bind(name, to: .zero, now: 9) }
      }
      while let command = store.pollCommand() {
        store.handle(SharedReply(fuzzing: &rest), to: command.number)
      }
      _ = try? NameFreeing.outcome(in: store)
      if let name { _ = try? store.owner(of: name, now: 9) }
      _ = try? store.card(of: .zero)
      _ = try? store.bans(now: 9)
      expect(store.counters.messagesReceived == 0, "nothing opens that no node sealed")
    })
}

extension SharedReply {
  /// A reply of any shape: what the first byte says, then what that needs.
  fileprivate init(fuzzing bytes: inout ArraySlice<UInt8>, depth: Int = 0) {
    switch (bytes.popFirst() ?? 0) % 6 {
    case 1: self = .failed("")
    case 2: self = .number(Int64(Int8(bitPattern: bytes.popFirst() ?? 0)))
    case 3:
      let count = Int(bytes.popFirst() ?? 0)
      self = .bytes(Array(bytes.prefix(count)))
      bytes = bytes.dropFirst(count)
    case 4 where depth < 4:
      let count = Int(bytes.popFirst() ?? 0) & 15
      self = .list((0..<count).map { _ in SharedReply(fuzzing: &bytes, depth: depth + 1) })
    default: self = .none
    }
  }
}
