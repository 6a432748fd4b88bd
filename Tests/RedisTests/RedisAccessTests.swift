import Cryptography
import Foundation
import Primitives
import Rendezvous
import Testing
import Wire

@testable import Redis

/// A Redis that lets in nobody without a password, and the user that docs/operating.md describes.
@Suite(
  .serialized,
  .enabled(if: RedisServer.exists, "redis-server is not installed: tools/setup does it"))
struct RedisAccessTests {
  private let word = "a-long-password"

  /// What the page says that the user needs.
  private static var rights: [String] {
    get throws {
      let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
      let page = try String(
        contentsOf: root.appendingPathComponent("docs/operating.md"), encoding: .utf8)
      let spans = page.split(separator: "`").filter { $0.hasPrefix("~earshot:") }
      return try #require(spans.first).split(separator: " ").map(String.init)
    }
  }

  private func server(rights: [String]? = nil) throws -> RedisServer {
    let user = ["--user", "earshot", "on", ">\(word)"] + (try rights ?? Self.rights)
    let more = ["--requirepass", "the-password-of-all", "--enable-protected-configs", "yes"]
    return try #require(RedisServer(more + user))
  }

  private func connect(
    _ server: RedisServer, as user: String, _ password: String?
  ) throws -> RedisConnection {
    let address = try #require(RedisAddress("redis://\(user)127.0.0.1:\(server.port)"))
    return try RedisConnection.connect(address, password: password.map { Array($0.utf8) })
  }

  private func complaint(_ server: RedisServer, as user: String, _ password: String?) -> String? {
    do {
      var connection = try connect(server, as: user, password)
      try connection.loadScripts()
    } catch {
      return "\(error)"
    }
    return nil
  }

  @Test func `the password, or the user's, lets a node in; another one, or none, does not`() throws
  {
    let server = try server()
    #expect(complaint(server, as: "", "the-password-of-all") == nil)
    #expect(complaint(server, as: "earshot@", word) == nil)
    #expect(complaint(server, as: "", nil)?.contains("NOAUTH") == true)
    for (user, password) in [("", word), ("earshot@", "the-password-of-all"), ("eve@", word)] {
      #expect(complaint(server, as: user, password)?.contains("WRONGPASS") == true, "\(user)")
    }
  }

  @Test func `nodes with another secret are told`() throws {
    let server = try server()
    for mark in [[1, 2], [1, 2], [3], [1, 2]] as [[UInt8]] {
      var connection = try connect(server, as: "earshot@", word)
      do {
        try connection.expectService(mark)
        #expect(mark == [1, 2])
      } catch {
        #expect(mark == [3] && "\(error)".contains("--cluster-secret"))
      }
    }
  }

  @Test(
    arguments: [
      (["--appendonly", "yes"], []), ([], ["appendonly yes"]),
      (["--maxmemory-policy", "allkeys-lru"], ["appendonly yes", "noeviction"]),
    ] as [([String], [String])])
  func `a server that forgets names is told`(options: [String], words: [String]) throws {
    let user = ["--user", "earshot", "on", ">\(word)"] + (try Self.rights)
    let server = try #require(RedisServer(options + user))
    var connection = try connect(server, as: "earshot@", word)
    let told = try connection.warnings()
    #expect(told.count == words.count, "\(told)")
    for (text, word) in zip(told, words) { #expect(text.contains(word)) }
  }

  /// A password that was forgotten must not make a node `default`, who may all.
  @Test func `a user without its password is not let in where default needs none`() throws {
    let user = ["--user", "earshot", "on", ">\(word)"] + (try Self.rights)
    let server = try #require(RedisServer(user))
    #expect(complaint(server, as: "earshot@", nil)?.contains("WRONGPASS") == true)
    #expect(complaint(server, as: "earshot@", word) == nil)
    #expect(complaint(server, as: "", nil) == nil)
  }

  @Test func `the user may all that a node does, and nothing with other keys`() throws {
    let server = try server()
    var connection = try connect(server, as: "earshot@", word)
    try connection.loadScripts()
    _ = try connection.run(["DEL", "earshot:2:frozen", "earshot:2:settling"])
    try connection.awaitNames()
    let id = PeerID(word0: 1, word1: 0, word2: 0, word3: 0)
    let store = SharedStore(SecretKey(), node: id, random: RandomSource(seed: 1))
    store.handleConnection()
    var listener = try connect(server, as: "earshot@", word)
    try listener.subscribe(to: store.channels)
    let name = try #require(PeerName("alice"))
    _ = store.fetch(.registration(id, asked: name, claimed: nil), now: 100)
    try serve(store, &connection)
    #expect(try store.bind(name, to: id, now: 100) == .granted)
    try store.keep([1], serial: 1, of: id, seen: 100)
    try store.keep(StoredBan(channel: .zero, id: id, until: 9000), now: 100)
    store.fetchBans()
    _ = store.fetch(.find(.name(name)), now: 100)
    store.beat(isComplete: true, now: .zero)
    try serve(store, &connection)
    #expect(store.counters.commandsFailed == 0 && store.counters.commands >= 7)
    var messages: [[UInt8]] = []
    for _ in 0..<5 where messages.isEmpty {
      messages = try listener.messages(within: 200) ?? []
    }
    #expect(messages.count == 1)
    try listener.sendPing()
    for words in [["GET", "other"], ["FLUSHALL"], ["CONFIG", "GET", "*"]] {
      guard case .failed(let reason) = try connection.run(words) else {
        Issue.record("\(words) was done")
        continue
      }
      #expect(reason.hasPrefix("NOPERM"))
    }
  }

  /// What a user of before was allowed. It is no user for a service with Sentinels.
  @Test func `without the right to see which reign it is a named server is used all the same`()
    throws
  {
    let server = try server(rights: try Self.rights.filter { $0 != "+info" })
    #expect(complaint(server, as: "earshot@", word) == nil)
    var connection = try connect(server, as: "earshot@", word)
    let unknown = try connection.run(["EXISTS", "earshot:2:reign"]).number
    let withRights = try self.server()
    #expect(complaint(withRights, as: "earshot@", word) == nil)
    connection = try connect(withRights, as: "earshot@", word)
    let known = try connection.run(["EXISTS", "earshot:2:reign"]).number
    #expect(unknown == 0 && known == 1)
  }

  /// Each went on for good by a connection on which every script failed.
  @Test(arguments: [
    ("NOSCRIPT", "SCRIPT FLUSH"), ("READONLY", "REPLICAOF 127.0.0.1 1"),
    ("NOPERM", "ACL SETUSER earshot -evalsha"),
    ("NOREPLICAS", "CONFIG SET min-replicas-to-write 1"),
    // It saves to where nobody can write.
    ("MISCONF", "CONFIG SET save 3600_1|CONFIG SET dir /proc|BGSAVE"),
  ])
  func `a connection ends where Redis refuses what a new one may do`(
    word: String, commands: String
  ) throws {
    let server = try server()
    var connection = try connect(server, as: "earshot@", self.word)
    try connection.loadScripts()
    let id = PeerID(word0: 1, word1: 0, word2: 0, word3: 0)
    let store = SharedStore(SecretKey(), node: id, random: RandomSource(seed: 1))
    store.handleConnection()
    try ask(store, &connection)
    #expect(store.pollTicket() != nil)
    var other = try connect(server, as: "", "the-password-of-all")
    for command in commands.split(separator: "|") {
      let words = command.split(separator: " ")
      _ = try other.run(words.map { $0.split(separator: "_").joined(separator: " ") })
    }
    // The copy fails in a process of its own.
    for _ in 0..<200 where word == "MISCONF" {
      if case .failed = try other.run(["BLPOP", "none", "0.05"]) { break }
    }
    var complaint = ""
    do { try ask(store, &connection) } catch { complaint = "\(error)" }
    #expect(complaint.hasPrefix(word), "\(complaint)")
    #expect(store.pollTicket() == nil && store.counters.commandsFailed == 0)
    store.handleDisconnection()
    while store.pollTicket() != nil {}
    var next = try connect(server, as: "earshot@", self.word)
    if word != "NOSCRIPT" {
      // It is not reached as long as that is so.
      #expect(throws: RedisError.self) { try next.loadScripts() }
      return
    }
    try next.loadScripts()
    store.handleConnection()
    try ask(store, &next)
    #expect(store.pollTicket() != nil)
  }

  /// A look-up as a node makes it.
  private func ask(_ store: SharedStore, _ connection: inout RedisConnection) throws {
    _ = store.fetch(.find(.id(.zero)), now: 100)
    var commands: [SharedCommand] = []
    while let command = store.pollCommand() { commands.append(command) }
    try connection.run(commands) { for (reply, number) in $0 { store.handle(reply, to: number) } }
  }

  private func serve(_ store: SharedStore, _ connection: inout RedisConnection) throws {
    while let command = store.pollCommand() {
      try connection.append(command)
      store.handle(try connection.nextReply(), to: command.number)
    }
    while store.pollTicket() != nil {}
  }

  /// Each took a lock and woke the loop by itself.
  @Test func `replies that come together are read together, in their order`() throws {
    let server = try server()
    var connection = try connect(server, as: "earshot@", word)
    try connection.loadScripts()
    let count = 300
    for number in 0..<count {
      try connection.append(
        SharedCommand(.send, [Array("earshot:to:\(number)".utf8), [1]], number: UInt64(number)))
    }
    var (replies, reads) = (0, 0)
    while replies < count {
      let some = try connection.nextReplies()
      #expect(!some.isEmpty && some.allSatisfy { $0 == .number(0) })
      replies += some.count
      reads += 1
    }
    #expect(replies == count && reads < count / 4, "\(reads) reads")
  }
}
