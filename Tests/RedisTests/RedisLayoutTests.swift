import Primitives
import Testing
import Wire

@testable import Redis
@testable import Rendezvous

/// What a client takes of Redis (docs/operating.md): `RedisLayout`.
@Suite(
  .serialized,
  .enabled(if: RedisServer.exists, "redis-server is not installed: tools/setup does it"))
struct RedisLayoutTests {
  private static let count = 4096

  private func usedBytes(_ store: StoreUnderTest) throws -> Int {
    let text = try #require(try store.run(["INFO", "memory"]).bytes)
    let line = String(decoding: text, as: UTF8.self).split(separator: "\r\n")
      .first { $0.hasPrefix("used_memory:") }
    return try #require(line.flatMap { Int($0.dropFirst("used_memory:".count)) })
  }

  /// Each with a card of the usual size and a program.
  private func register(_ store: StoreUnderTest, hasName: Bool) throws {
    for number in UInt64(1)...UInt64(Self.count) {
      let id = PeerID(word0: number, word1: hasName ? 1 : 0, word2: 0, word3: 0)
      if hasName {
        let name = try #require(PeerName("person-\(number)"))
        #expect(try store.bind(name, to: id, now: number) == .granted)
      }
      let card = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 200)
      try store.keep(card, serial: number, of: id, seen: number)
      let record = PresenceRecord(
        identity: id, presence: Presence(PresenceID(rawValue: number), .answering), node: 1,
        expiryMilliseconds: .max, serial: number)
      #expect(store.shared.announce(record, audience: nil, life: .seconds(5400)))
      try store.serve()
    }
  }

  @Test(arguments: [(false, 600), (true, 850)])
  func `a client takes so many bytes at the most`(hasName: Bool, most: Int) throws {
    let store = try StoreUnderTest(.redis, path: "")
    try store.beat()
    let before = try usedBytes(store)
    try register(store, hasName: hasName)
    let each = (try usedBytes(store) - before) / Self.count
    print("a client \(hasName ? "with" : "without") a name takes \(each) bytes")
    #expect(each <= most, "\(each) bytes")
  }
}
