import Rendezvous
import Testing

@testable import Redis

/// Which server a node takes for a new primary: `RedisScripts.reign`.
@Suite(
  .serialized,
  .enabled(if: RedisServer.exists, "redis-server is not installed: tools/setup does it"))
struct RedisSwitchTests {
  /// Replicas need not wait for others that may come.
  private func server() throws -> RedisServer {
    try #require(RedisServer(["--repl-diskless-sync-delay", "0"]))
  }

  /// As a node connects; whether names are frozen then. They are not any more after it.
  private func areFrozen(at server: RedisServer) throws -> Bool {
    let address = try #require(RedisAddress("redis://127.0.0.1:\(server.port)"))
    var connection = try RedisConnection.connect(address, password: nil)
    try connection.loadScripts()
    defer { _ = try? connection.run(["DEL", "earshot:2:frozen", "earshot:2:settling"]) }
    return try connection.run(["EXISTS", "earshot:2:frozen"]) == .number(1)
  }

  private func run(_ words: [String], at server: RedisServer) throws -> String? {
    let address = try #require(RedisAddress("redis://127.0.0.1:\(server.port)"))
    var connection = try RedisConnection.connect(address, password: nil)
    return try connection.run(words).bytes.map { String(decoding: $0, as: UTF8.self) }
  }

  /// Waits until a replica has all that its primary has.
  private func follow(_ primary: RedisServer, by replica: RedisServer) throws {
    _ = try run(["REPLICAOF", "127.0.0.1", "\(primary.port)"], at: replica)
    let address = try #require(RedisAddress("redis://127.0.0.1:\(primary.port)"))
    var connection = try RedisConnection.connect(address, password: nil, patience: 20_000)
    _ = try connection.run(["SET", "earshot:2:test", "1"])
    let count = try connection.run(["WAIT", "1", "15000"]).number
    #expect(count == 1)
  }

  /// Method: A, then B, then A again, which has all that B had, or nothing of what B was told.
  @Test(arguments: [true, false])
  func `a former primary that is one again gives no new names for a while`(
    hasAll: Bool
  ) throws {
    let (first, second) = (try server(), try server())
    #expect(try areFrozen(at: first))
    #expect(try !areFrozen(at: first), "the same reign")
    try follow(first, by: second)
    _ = try run(["REPLICAOF", "NO", "ONE"], at: second)
    if hasAll {
      #expect(try areFrozen(at: second))
      try follow(second, by: first)
    } else {
      try follow(second, by: first)
      _ = try run(["REPLICAOF", "127.0.0.1", "1"], at: first)
      #expect(try areFrozen(at: second))
    }
    _ = try run(["REPLICAOF", "NO", "ONE"], at: first)
    #expect(try areFrozen(at: first))
    #expect(try !areFrozen(at: first), "the same reign")
  }

  @Test func `a server that starts anew with all that it had is a new reign`() throws {
    let server = try server()
    #expect(try areFrozen(at: server))
    _ = try run(["SCRIPT", "FLUSH"], at: server)
    #expect(try areFrozen(at: server))
  }
}
