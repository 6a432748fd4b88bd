import Glibc
import Primitives
import Rendezvous
import Testing
import Wire

/// What every store does, wherever it keeps things: in memory, in SQLite, in Redis, and in the
/// model of Redis that simulations have.
@Suite(.serialized) struct StoreConformanceTests {
  private let path = "/tmp/earshot-conformance-\(UInt64.random(in: 0 ... .max)).db"
  private let alice = PeerID(word0: 1, word1: 0, word2: 0, word3: 0)
  private let bob = PeerID(word0: 2, word1: 0, word2: 0, word3: 0)

  private func name(_ text: String) throws -> PeerName { try #require(PeerName(text)) }

  private func with(
    _ kind: StoreUnderTest.Kind, _ limits: StoreLimits = StoreLimits(),
    _ body: (StoreUnderTest) throws -> Void
  ) throws {
    defer { for end in ["", "-wal", "-shm"] { Scratch.remove(path + end) } }
    try body(try StoreUnderTest(kind, limits: limits, path: path))
  }

  @Test(
    .enabled(if: RedisServer.exists, "redis-server is not installed: tools/setup does it"),
    arguments: [StoreUnderTest.Kind.redis])
  func `a real redis-server is among the stores`(kind: StoreUnderTest.Kind) {
    #expect(StoreUnderTest.Kind.here.contains(kind))
  }

  @Test(arguments: StoreUnderTest.Kind.here)
  func `a name has one owner, and a card the highest serial`(kind: StoreUnderTest.Kind) throws {
    try with(kind) { store in
      let name = try name("alice")
      #expect(try store.owner(of: name, now: 100) == nil)
      #expect(try store.serial(of: alice) == nil)
      #expect(try store.bind(name, to: alice, now: 100) == .granted)
      #expect(try store.bind(name, to: alice, now: 100) == .owned)
      #expect(try store.bind(name, to: bob, now: 100) == .taken)
      #expect(try store.owner(of: name, now: 100) == alice)
      try store.keep([2], serial: 12, of: alice, seen: 1)
      try store.keep([1], serial: 9, of: alice, seen: 2)
      #expect(try store.card(of: alice) == [2])
      try store.keep([3], serial: 13, of: alice, seen: 3)
      #expect(try store.card(of: alice) == [3])
      #expect(try store.serial(of: alice) == 13)
      #expect(try store.card(of: bob) == nil)
    }
  }

  @Test(arguments: StoreUnderTest.Kind.here)
  func `has its limits`(kind: StoreUnderTest.Kind) throws {
    var limits = StoreLimits()
    (limits.namesPerIdentity, limits.names, limits.cards) = (2, 3, 3)
    try with(kind, limits) { store in
      #expect(try store.bind(name("a"), to: alice, now: 100) == .granted)
      #expect(try store.bind(name("b"), to: alice, now: 100) == .granted)
      #expect(try store.bind(name("c"), to: alice, now: 100) == .tooMany)
      #expect(try store.bind(name("c"), to: bob, now: 100) == .granted)
      #expect(try store.bind(name("d"), to: bob, now: 100) == .tooMany)
      try store.keep([1], serial: 1, of: alice, seen: 1)
      for number in UInt64(10)..<14 {
        let id = PeerID(word0: number, word1: 0, word2: 0, word3: 0)
        try store.keep([UInt8(number)], serial: 1, of: id, seen: number)
      }
      #expect(try store.card(of: alice) == [1])
      #expect(try store.card(of: PeerID(word0: 11, word1: 0, word2: 0, word3: 0)) == nil)
      #expect(try store.card(of: PeerID(word0: 13, word1: 0, word2: 0, word3: 0)) == [13])
    }
  }

  /// Found by reading: whoever filled a store with cards kept all newcomers out of it for good,
  /// once a hundred of its oldest cards had names.
  @Test(arguments: StoreUnderTest.Kind.here)
  func `a full store has room for newcomers, whoever the oldest are`(
    kind: StoreUnderTest.Kind
  ) throws {
    func id(_ number: UInt64) -> PeerID {
      PeerID(word0: number, word1: 7, word2: 0, word3: 0)
    }
    var limits = StoreLimits()
    (limits.cards, limits.names) = (160, 121)
    try with(kind, limits) { store in
      for number in UInt64(0)..<120 {
        #expect(try store.bind(name("n\(number)"), to: id(number), now: 1) == .granted)
        try store.keep([1], serial: 1, of: id(number), seen: 1)
      }
      for number in UInt64(120)..<200 {
        try store.keep([2], serial: 1, of: id(number), seen: number)
      }
      #expect(try store.card(of: id(0)) == [1])
      #expect(try store.card(of: id(159)) == nil)
      #expect(try store.card(of: id(160)) == [2])
      // A name makes its owner's card one that stays; the next oldest goes.
      #expect(try store.bind(name("late"), to: id(160), now: 2) == .granted)
      try store.keep([3], serial: 1, of: id(300), seen: 300)
      #expect(try store.card(of: id(160)) == [2])
      #expect(try store.card(of: id(161)) == nil)
    }
  }

  @Test(arguments: StoreUnderTest.Kind.here)
  func `frees a name after a year without use, and not before`(kind: StoreUnderTest.Kind) throws {
    let day: UInt64 = 86_400
    var limits = StoreLimits()
    limits.names = 1
    try with(kind, limits) { store in
      let (name, other) = (try name("alice"), try name("other"))
      #expect(try store.bind(name, to: alice, now: 0) == .granted)
      #expect(try store.owner(of: name, now: 300 * day) == alice)
      #expect(try store.bind(name, to: bob, now: 600 * day) == .taken)
      #expect(try store.bind(other, to: bob, now: 600 * day) == .tooMany)
      #expect(try store.owner(of: name, now: 664 * day) == alice)
      #expect(try store.owner(of: name, now: (664 + 365) * day) == nil)
      #expect(try store.verdict(on: name, for: bob, now: 1100 * day) == .granted)
      #expect(try store.bind(other, to: bob, now: 1100 * day) == .granted)
      #expect(try store.bind(name, to: bob, now: 1100 * day) == .tooMany)
      #expect(try store.bind(name, to: bob, now: 1500 * day) == .granted)
    }
  }

  @Test(arguments: StoreUnderTest.Kind.here)
  func `keeps bans until they end; the largest channel makes room`(
    kind: StoreUnderTest.Kind
  ) throws {
    var limits = StoreLimits()
    limits.bans = 2
    try with(kind, limits) { store in
      let (one, two) = (Bytes32(alice), Bytes32(bob))
      try store.keep(StoredBan(channel: one, id: alice, until: 2000), now: 0)
      try store.keep(StoredBan(channel: one, id: alice, until: 3000), now: 0)
      #expect(try store.bans(now: 100).map(\.until) == [3000])
      try store.keep(StoredBan(channel: one, id: bob, until: 2500), now: 0)
      try store.keep(StoredBan(channel: two, id: bob, until: 1000), now: 0)
      #expect(try Set(store.bans(now: 100).map(\.until)) == [3000, 1000])
      #expect(try store.bans(now: 1500) == [StoredBan(channel: one, id: alice, until: 3000)])
      try store.keep(StoredBan(channel: one, id: bob, until: 9000), now: 4000)
      #expect(try store.bans(now: 4000).map(\.until) == [9000])
    }
  }

  @Test(arguments: [StoreUnderTest.Kind.redis, .model].filter(StoreUnderTest.Kind.here.contains))
  func `of two nodes one promises a name, and keeps its promise`(
    kind: StoreUnderTest.Kind
  ) throws {
    try with(kind) { first in
      let second = try StoreUnderTest(beside: first, node: 2)
      let name = try name("alice")
      // Both are asked before either has a first packet.
      try first.wish(.registration(alice, asked: name, claimed: nil), 100)
      try second.wish(.registration(bob, asked: name, claimed: nil), 100)
      #expect(try first.store.verdict(on: name, for: alice, now: 100) == .granted)
      #expect(try second.store.verdict(on: name, for: bob, now: 100) == .taken)
      #expect(try first.bind(name, to: alice, now: 100) == .granted)
      #expect(try second.owner(of: name, now: 100) == alice)
      #expect(try second.verdict(on: name, for: alice, now: 100) == .owned)
    }
  }

  /// What a node has for itself alone was the limit of all of them: a million.
  @Test(arguments: [StoreUnderTest.Kind.redis].filter(StoreUnderTest.Kind.here.contains))
  func `several nodes have room for more names and cards than one`(
    kind: StoreUnderTest.Kind
  ) throws {
    let store = try StoreUnderTest(kind, path: path)
    try store.fill(1_000_000)
    #expect(try store.bind(name("alice"), to: alice, now: 100) == .granted)
    try store.keep([1], serial: 1, of: alice, seen: 100)
    #expect(try store.card(of: alice) == [1])
    #expect(store.shared.counters.writesLost == 0)
  }

  @Test func `what a store elsewhere was not asked for cannot be read`() throws {
    let store = try StoreUnderTest(.model, path: path).store
    let name = try name("alice")
    #expect(throws: StoreFailure.self) { try store.owner(of: name, now: 0) }
    #expect(throws: StoreFailure.self) { try store.card(of: alice) }
    #expect(throws: StoreFailure.self) { try store.serial(of: alice) }
    #expect(throws: StoreFailure.self) { try store.verdict(on: name, for: alice, now: 0) }
    #expect(throws: StoreFailure.self) { try store.bind(name, to: alice, now: 0) }
    #expect(throws: StoreFailure.self) { try store.bans(now: 0) }
    store.shared?.handleDisconnection()
    #expect(store.shared?.fetch(.find(.name(name)), now: 0) == nil)
    #expect(throws: StoreFailure.self) { try store.keep([1], serial: 1, of: alice, seen: 0) }
  }
}

enum Scratch {
  static func remove(_ path: String) { _ = unsafe unlink(path) }
}
