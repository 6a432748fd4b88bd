import Cryptography
import Primitives
import Testing
import Wire

@testable import Redis
@testable import Rendezvous

/// A Redis on which nodes of the layout before have been (docs/operating.md): `FormerLayout`.
@Suite(
  .serialized,
  .enabled(if: RedisServer.exists, "redis-server is not installed: tools/setup does it"))
final class FormerLayoutTests {
  private let keys = ClusterKeys(SecretKey())
  private let alice = PeerID(word0: 1, word1: 0, word2: 0, word3: 0)
  private let bob = PeerID(word0: 2, word1: 0, word2: 0, word3: 0)
  private let channel = PeerID(word0: 3, word1: 0, word2: 0, word3: 0)
  /// More than a number of Lua can hold.
  private let serial: UInt64 = 0xFEDC_BA98_7654_3211

  private func connect(to server: RedisServer) throws -> RedisConnection {
    let address = try #require(RedisAddress("redis://127.0.0.1:\(server.port)"))
    return try RedisConnection.connect(address, password: nil)
  }

  private func key(_ letter: String, _ hash: [UInt8]) -> [UInt8] {
    Array("earshot:\(letter):".utf8) + hash
  }

  private func words(_ text: String...) -> [[UInt8]] { text.map { Array($0.utf8) } }

  /// What a node of that layout left: alice with a name and a card, bob with a card, a ban.
  private func fill(_ connection: inout RedisConnection) throws {
    var random = RandomSource(seed: 9)
    let name = keys.hash(.name, Array("alice".utf8))
    let ids = [alice, bob].map { keys.hash(.identity, $0.bytes) }
    let owner = keys.seal(alice.bytes, at: name, random: &random)
    _ = try connection.run(
      [Array("HSET".utf8), key("n", name)] + words("o") + [ids[0]] + words("v") + [owner]
        + words("u", "50"))
    _ = try connection.run(words("ZADD", "earshot:names", "50") + [name])
    _ = try connection.run([Array("SADD".utf8), key("m", ids[0]), name])
    for (index, id) in ids.enumerated() {
      let card = keys.seal([UInt8(index), 7], at: id, random: &random)
      _ = try connection.run(
        [Array("HSET".utf8), key("i", id)] + words("s", String(serial)) + words("c") + [card])
      _ = try connection.run(words("ZADD", "earshot:cards", "\(60 + index)") + [id])
      _ = try connection.run(
        [Array("HSET".utf8), key("p", id)] + words("program", "somewhere"))
    }
    _ = try connection.run(words("ZADD", "earshot:nameless", "61") + [ids[1]])
    _ = try connection.run(words("SET", "earshot:epoch", "1"))
    let place = keys.hash(.ban, channel.bytes + bob.bytes)
    var plain = channel.bytes + bob.bytes
    plain.append(littleEndian: UInt64(9000))
    let ban =
      SharedStore.digits(9000) + keys.hash(.ban, channel.bytes)
      + keys.seal(plain, at: place, random: &random)
    _ = try connection.run(words("HSET", "earshot:bans") + [place, ban])
  }

  private func serve(_ store: SharedStore, _ connection: inout RedisConnection) throws {
    while let command = store.pollCommand() {
      try connection.append(command)
      store.handle(try connection.nextReply(), to: command.number)
    }
  }

  private func fetch(
    _ wish: StoreWish, _ store: SharedStore, _ connection: inout RedisConnection
  ) throws {
    let ticket = try #require(store.fetch(wish, now: 100))
    try serve(store, &connection)
    while let next = store.pollTicket(), next != ticket {}
  }

  @Test func `names, cards and bans are taken over, and nothing else is left`() throws {
    let server = try #require(RedisServer())
    var connection = try connect(to: server)
    try fill(&connection)
    try connection.loadScripts()
    let store = SharedStore(SecretKey(), node: .zero, random: RandomSource(seed: 1))
    store.handleConnection()
    let name = try #require(PeerName("alice"))
    try fetch(.find(.name(name)), store, &connection)
    #expect(try store.owner(of: name, now: 100) == alice)
    #expect(try store.card(of: alice) == [0, 7])
    for (index, id) in [alice, bob].enumerated() {
      try fetch(.registration(id, asked: nil, claimed: name), store, &connection)
      #expect(try store.serial(of: id) == serial && store.card(of: id) == [UInt8(index), 7])
      #expect(try store.verdict(on: name, for: id, now: 100) == (index == 0 ? .owned : .taken))
    }
    store.fetchBans()
    try serve(store, &connection)
    let ban = StoredBan(channel: Bytes32(channel), id: bob, until: 9000)
    #expect(try store.bans(now: 100) == [ban])
    let counts = try connection.run(["HMGET", "earshot:2:counts", "names", "cards"])
    #expect(counts == .list([.bytes([0x31]), .bytes([0x32])]))
    let left = try connection.run(["KEYS", "earshot:*"]).list ?? []
    let former = left.compactMap(\.bytes).filter { !$0.starts(with: Array("earshot:2".utf8)) }
    #expect(
      Set(former.map { String(decoding: $0, as: UTF8.self) }) == [
        "earshot:names", "earshot:cards", "earshot:nodes", "earshot:nameless",
      ])
    #expect(store.counters.commandsFailed == 0)
  }

  /// Method: what scripts of the layout before ask for where a name is new, or somebody not there.
  @Test func `nodes of the layout before are waited for, and can do nothing afterwards`() throws {
    let server = try #require(RedisServer())
    var connection = try connect(to: server)
    try fill(&connection)
    let now = try #require(
      try connection.run(["EVAL", "return tonumber(redis.call('TIME')[1]) * 1000", "0"]).number)
    _ = try connection.run(["ZADD", "earshot:nodes", "\(now)", "a-node"])
    #expect(throws: RedisError.self) { try connection.loadScripts() }
    _ = try connection.run(["ZADD", "earshot:nodes", "\(now - 301_000)", "a-node"])
    try connection.loadScripts()
    for words in [["ZCARD", "earshot:names"], ["ZCOUNT", "earshot:nodes", "0", "1"]] {
      guard case .failed(let reason) = try connection.run(words) else {
        Issue.record("\(words) was done")
        continue
      }
      #expect(reason.hasPrefix("WRONGTYPE"))
    }
    // It is converted once.
    try connection.loadScripts()
  }

  @Test func `a new Redis has nothing to convert`() throws {
    let server = try #require(RedisServer())
    var connection = try connect(to: server)
    try connection.loadScripts()
    #expect(try connection.run(["GET", "earshot:2:layout"]) == .bytes([0x32]))
  }
}
