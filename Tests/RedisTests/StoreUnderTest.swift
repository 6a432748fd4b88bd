import Cryptography
import Primitives
import Redis
import Rendezvous
import Simulation
import Testing
import Wire

@testable import Storage

/// One of the stores, asked in the same words: whoever keeps it elsewhere is waited for.
final class StoreUnderTest {
  enum Kind: String, CaseIterable {
    case memory, sqlite, redis, model

    /// Those that this host can run.
    static var here: [Kind] { allCases.filter { $0 != .redis || RedisServer.exists } }
  }

  let store: any RegistrationStore
  private let server: RedisServer?
  private var connection: RedisConnection?
  private var listener: RedisConnection?
  let model: RedisModel?

  /// - Parameter limits: `nil` = those that the store has by itself.
  init(_ kind: Kind, limits: StoreLimits? = nil, path: String) throws {
    var server: RedisServer?
    var model: RedisModel?
    switch kind {
    case .memory: store = MemoryStore(limits: limits ?? StoreLimits())
    case .sqlite: store = try SQLiteStore(path: path, limits: limits ?? StoreLimits())
    case .redis:
      server = RedisServer()
      #expect(server != nil, "redis-server does not start")
      store = Self.shared(limits)
    case .model:
      model = RedisModel()
      store = Self.shared(limits)
    }
    self.server = server
    self.model = model
    if let server { connection = try Self.connect(to: server) }
    store.shared?.handleConnection()
  }

  /// Another node at the memory of `other`.
  init(beside other: StoreUnderTest, node: UInt64) throws {
    server = other.server
    model = other.model
    store = Self.shared(other.store.limits, node: node)
    if let server { connection = try Self.connect(to: server) }
    store.shared?.handleConnection()
  }

  private static func shared(_ limits: StoreLimits?, node: UInt64 = 1) -> SharedStore {
    let (id, random) = (
      PeerID(word0: node, word1: 0, word2: 0, word3: 0), RandomSource(seed: node)
    )
    guard let limits else { return SharedStore(SecretKey(), node: id, random: random) }
    return SharedStore(SecretKey(), node: id, limits: limits, random: random)
  }

  private static func connect(to server: RedisServer) throws -> RedisConnection {
    let address = try #require(RedisAddress("redis://127.0.0.1:\(server.port)"))
    var connection = try RedisConnection.connect(address, password: nil)
    try connection.loadScripts()
    // What a server that has just started needs, for nodes that were there before.
    _ = try connection.run(["DEL", "earshot:2:frozen", "earshot:2:settling"])
    return connection
  }

  // MARK: - The same words for all

  func owner(of name: PeerName, now: UInt64) throws -> PeerID? {
    try wish(.find(.name(name)), now)
    return try store.owner(of: name, now: now)
  }

  func card(of id: PeerID) throws -> [UInt8]? {
    try wish(.registration(id, asked: nil, claimed: nil), 0)
    return try store.card(of: id)
  }

  func serial(of id: PeerID) throws -> UInt64? {
    try wish(.registration(id, asked: nil, claimed: nil), 0)
    return try store.serial(of: id)
  }

  func verdict(on name: PeerName, for id: PeerID, now: UInt64) throws -> NameVerdict {
    try wish(.registration(id, asked: nil, claimed: name), now)
    return try store.verdict(on: name, for: id, now: now)
  }

  func bind(_ name: PeerName, to id: PeerID, now: UInt64) throws -> NameVerdict {
    try wish(.registration(id, asked: name, claimed: nil), now)
    let verdict = try store.bind(name, to: id, now: now)
    try serve()
    return verdict
  }

  func keep(_ card: [UInt8], serial: UInt64, of id: PeerID, seen: UInt64) throws {
    try store.keep(card, serial: serial, of: id, seen: seen)
    try serve()
  }

  func keep(_ ban: StoredBan, now: UInt64) throws {
    try store.keep(ban, now: now)
    try serve()
  }

  func bans(now: UInt64) throws -> [StoredBan] {
    store.shared?.fetchBans()
    try serve()
    return try store.bans(now: now)
  }

  /// Wishes, and has it fulfilled.
  func wish(_ wish: StoreWish, _ now: UInt64) throws {
    guard let shared = store.shared else { return }
    let ticket = try #require(shared.fetch(wish, now: now))
    try serve()
    while let next = shared.pollTicket(), next != ticket {}
  }

  /// From now on what other nodes say is kept for `hear`.
  func listen() throws {
    guard let shared = store.shared else { return }
    if let server {
      let address = try #require(RedisAddress("redis://127.0.0.1:\(server.port)"))
      var listener = try RedisConnection.connect(address, password: nil)
      try listener.subscribe(to: shared.channels)
      self.listener = consume listener
    } else {
      _ = try hear()
    }
  }

  /// What other nodes have said; of the real server within a second.
  func hear() throws -> [NodeWord] {
    guard let shared = store.shared else { return [] }
    var posts: [[UInt8]] = []
    if let model {
      posts = shared.channels.flatMap { model.takePosts(of: $0, by: shared.channels[0]) }
    }
    for _ in 0..<5 where posts.isEmpty {
      if let heard = try listener?.messages(within: 200) { posts = heard }
    }
    return posts.compactMap { shared.open($0) }
  }

  /// As many names and cards of others as fill a service.
  func fill(_ count: Int) throws {
    _ = try connection?.run(
      ["HSET", "earshot:2:counts", "names", "\(count)", "cards", "\(count)"])
  }

  /// Any command for the real server, and its reply.
  func run(_ words: [String]) throws -> SharedReply { try connection?.run(words) ?? .none }

  /// All is forgotten, and the connection stands.
  func loseAll() throws {
    model?.loseAll()
    _ = try connection?.run(["FLUSHALL"])
  }

  /// The server has started anew with what it had; all connections are new.
  func restart() throws {
    if let model { model.restart(model.state) }
    _ = try connection?.run(["SCRIPT", "FLUSH"])
    try connection?.loadScripts()
    store.shared?.handleConnection()
  }

  /// Another connection, as after one that ended.
  func reconnect() throws {
    if let server { connection = try Self.connect(to: server) }
    store.shared?.handleConnection()
  }

  /// Runs what waits; a connection that ends is lost to the store, as to a node.
  func serve() throws {
    guard let shared = store.shared else { return }
    while true {
      var commands: [SharedCommand] = []
      while let command = shared.pollCommand() { commands.append(command) }
      guard !commands.isEmpty else { return }
      if let model {
        for command in commands { shared.handle(model.run(command), to: command.number) }
        continue
      }
      do {
        try connection?.run(commands) {
          for (reply, number) in $0 { shared.handle(reply, to: number) }
        }
      } catch { shared.handleDisconnection() }
    }
  }
}

extension StoreUnderTest {
  /// Two nodes of one service, each of which has said that it is there.
  static func pair(_ kind: Kind) throws -> (StoreUnderTest, StoreUnderTest) {
    let first = try StoreUnderTest(kind, path: "")
    first.model?.milliseconds = 1_800_000_000_000
    let second = try StoreUnderTest(beside: first, node: 2)
    for node in [first, second] { try node.beat() }
    return (first, second)
  }

  /// A program that answers, for as long as it likes.
  static func record(of identity: PeerID, node: UInt64, serial: UInt64) -> PresenceRecord {
    PresenceRecord(
      identity: identity, presence: Presence(PresenceID(rawValue: 7), .answering), node: node,
      expiryMilliseconds: .max, serial: serial)
  }
}
