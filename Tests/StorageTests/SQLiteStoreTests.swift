import Primitives
import Rendezvous
import Testing
import Wire

@testable import Storage

struct SQLiteStoreTests {
  let scratch = Scratch()
  var path: String { scratch.file("registrations.db") }
  let alice = PeerID(word0: 1, word1: 0, word2: 0, word3: 0)
  let bob = PeerID(word0: 2, word1: 0, word2: 0, word3: 0)
  let name = PeerName("alice")!

  private func code(_ body: () throws -> Void) -> StorageError.Code? {
    do { try body() } catch let error as StorageError { return error.code } catch {}
    return nil
  }

  @Test func `remembers names and cards, and counts its starts`() throws {
    do {
      let store = try SQLiteStore(path: path)
      #expect(store.bootCounter == 1)
      #expect(try store.bind(name, to: alice, now: 100) == .granted)
      #expect(try store.bind(name, to: alice, now: 100) == .owned)
      #expect(try store.bind(name, to: bob, now: 100) == .taken)
      try store.keep([1, 2], serial: 5, of: alice, seen: 100)
      #expect(try store.card(of: alice) == [1, 2])  // seen before it is committed
      try store.commit()
    }
    let store = try SQLiteStore(path: path)
    #expect(store.bootCounter == 2)
    #expect(try store.owner(of: name, now: 100) == alice)
    #expect(try store.card(of: alice) == [1, 2])
    #expect(try store.card(of: bob) == nil)
    #expect(scratch.mode(path) == 0o600)
  }

  @Test func `loses an uncommitted batch and nothing else`() throws {
    do {
      let store = try SQLiteStore(path: path)
      _ = try store.bind(name, to: alice, now: 100)
      try store.commit()
      _ = try store.bind(PeerName("bob")!, to: bob, now: 100)
    }
    let store = try SQLiteStore(path: path)
    #expect(try store.owner(of: name, now: 100) == alice)
    #expect(try store.owner(of: PeerName("bob")!, now: 100) == nil)
  }

  /// What was read is one view until it is committed; a write does not begin in an old one.
  @Test func `writes after it has read, though the file was changed between`() throws {
    let store = try SQLiteStore(path: path)
    #expect(!store.isBatchOpen)
    #expect(try store.owner(of: name, now: 100) == nil)
    #expect(store.isBatchOpen)
    let other = try Database(path, .shared)
    try other.run("INSERT INTO names (name, id, used) VALUES ('other', zeroblob(32), 100)")
    #expect(try store.owner(of: PeerName("other")!, now: 100) == nil)
    #expect(try store.bind(name, to: alice, now: 100) == .granted)
    #expect(try store.owner(of: PeerName("other")!, now: 100) != nil)
    try store.commit()
    #expect(!store.isBatchOpen)
    #expect(try other.number("SELECT count(*) FROM names") == 2)
  }

  /// Method: the file may not grow any more while a batch with a name is open.
  @Test func `a batch that the disk has no room for is undone as a whole, and counted`() throws {
    let store = try SQLiteStore(path: path)
    try store.database.run("PRAGMA max_page_count = 1")
    #expect(try store.bind(name, to: alice, now: 100) == .granted)
    #expect(throws: StoreFailure.self) {
      for number in UInt64(0)..<1000 {
        let id = PeerID(word0: number, word1: 1, word2: 0, word3: 0)
        try store.keep([UInt8](repeating: 1, count: 1000), serial: 1, of: id, seen: 100)
      }
    }
    #expect(store.lostBatchCount == 1 && !store.isBatchOpen)
    #expect(try store.verdict(on: name, for: bob, now: 100) == .granted)
  }

  @Test func `keeps the card with the highest serial`() throws {
    let store = try SQLiteStore(path: path)
    try store.keep([2], serial: 2, of: alice, seen: 1)
    try store.keep([1], serial: 1, of: alice, seen: 2)
    #expect(try store.card(of: alice) == [2])
    try store.keep([3], serial: 3, of: alice, seen: 3)
    #expect(try store.card(of: alice) == [3])
  }

  /// Method: in memory as on disk: a name is used on day 0, looked up on day 300; asked for by
  /// another one on days 600 and 700.
  @Test(arguments: [true, false])
  func `frees a name after a year without use, and not before`(isOnDisk: Bool) throws {
    let day: UInt64 = 86_400
    var limits = StoreLimits()
    limits.names = 1
    let store: any RegistrationStore =
      isOnDisk ? try SQLiteStore(path: path, limits: limits) : MemoryStore(limits: limits)
    #expect(try store.bind(name, to: alice, now: 0) == .granted)
    #expect(try store.owner(of: name, now: 300 * day) == alice)
    #expect(store.isBatchOpen == isOnDisk)
    #expect(try store.bind(name, to: bob, now: 600 * day) == .taken)
    #expect(try store.bind(PeerName("other")!, to: bob, now: 600 * day) == .tooMany)
    #expect(try store.owner(of: name, now: 664 * day) == alice)
    #expect(try store.owner(of: name, now: (664 + 365) * day) == nil)
    // Room is made for another name, and the lapsed one is free.
    #expect(try store.verdict(on: name, for: bob, now: 1100 * day) == .granted)
    #expect(try store.bind(PeerName("other")!, to: bob, now: 1100 * day) == .granted)
    #expect(try store.bind(name, to: bob, now: 1100 * day) == .tooMany)
    #expect(try store.bind(name, to: bob, now: 1500 * day) == .granted)
    try store.commit()
    #expect(!store.isBatchOpen)
  }

  @Test func `knows the highest serial of an identity`() throws {
    let store = try SQLiteStore(path: path)
    #expect(try store.serial(of: alice) == nil)
    try store.keep([1], serial: 7, of: alice, seen: 1)
    try store.keep([1], serial: 5, of: alice, seen: 1)
    #expect(try store.serial(of: alice) == 7)
  }

  @Test func `takes over a database of version 1 with a fresh year for each name`() throws {
    do {
      let store = try SQLiteStore(path: path)
      _ = try store.bind(name, to: alice, now: 100)
      try store.commit()
    }
    try Self.run(
      path,
      "DROP TABLE bans; DROP INDEX names_by_use; ALTER TABLE names DROP COLUMN used; "
        + "PRAGMA user_version = 1")
    let store = try SQLiteStore(path: path)
    #expect(store.bootCounter == 2)
    #expect(try store.owner(of: name, now: 1_767_225_600) == alice)
  }

  private static func run(_ path: String, _ sql: String) throws {
    let database = try Database(path)
    try database.run(sql)
  }

  @Test(arguments: [true, false])
  func `keeps bans until they end, over a restart on disk`(isOnDisk: Bool) throws {
    var limits = StoreLimits()
    limits.bans = 2
    let other = StoredBan(channel: Bytes32(alice), id: bob, until: 4000)
    let late = StoredBan(channel: Bytes32(alice), id: alice, until: 9000)
    do {
      let store: any RegistrationStore =
        isOnDisk ? try SQLiteStore(path: path, limits: limits) : MemoryStore(limits: limits)
      let channel = Bytes32(InlineArray(repeating: 7))
      for (id, until) in [(alice, UInt64(1000)), (bob, 3000), (alice, 2000)] {
        try store.keep(StoredBan(channel: channel, id: id, until: until), now: 100)
      }
      try store.commit()
      #expect(try Set(store.bans(now: 100).map(\.until)) == [2000, 3000])
      try store.keep(other, now: 100)
      try store.commit()
      #expect(try Set(store.bans(now: 100).map(\.until)) == [3000, 4000])
      // Those of one channel make room for their own, however late they end.
      try store.keep(late, now: 100)
      try store.commit()
      #expect(try Set(store.bans(now: 100).map(\.until)) == [3000, 9000])
    }
    guard isOnDisk else { return }
    let again = try SQLiteStore(path: path)
    #expect(try again.bans(now: 3500) == [late])
  }

  @Test func `takes over a database of version 2 without bans`() throws {
    do {
      let store = try SQLiteStore(path: path)
      _ = try store.bind(name, to: alice, now: 100)
      try store.commit()
    }
    try Self.run(path, "DROP TABLE bans; PRAGMA user_version = 2")
    let store = try SQLiteStore(path: path)
    #expect(try store.bans(now: 0).isEmpty)
    #expect(try store.owner(of: name, now: 100) == alice)
  }

  private func names() throws -> [NameRegister.Entry] {
    let register = try NameRegister(path: path, for: .seeing)
    var entries: [NameRegister.Entry] = []
    try register.forEach { entries.append($0) }
    return entries
  }

  @Test func `lists names while a server runs, and frees them while none does`() throws {
    do {
      let store = try SQLiteStore(path: path)
      _ = try store.bind(name, to: alice, now: 100)
      _ = try store.bind(PeerName("bob")!, to: bob, now: 200)
      try store.commit()
      #expect(code { _ = try NameRegister(path: path, for: .freeing) } == .inUse)
      let register = try NameRegister(path: path, for: .seeing)
      #expect(try names().count == 2)
      // Who reads keeps no server from writing, nor from starting.
      _ = try store.bind(PeerName("carol")!, to: bob, now: 200)
      try store.commit()
      #expect(try names().count == 3)
      _ = register
    }
    do {
      let register = try NameRegister(path: path, for: .seeing)
      do { _ = try SQLiteStore(path: path) }
      _ = register
    }
    do {
      let entries = try names()
      #expect(entries.map(\.id) == [alice, bob, bob] && entries.map(\.used) == [100, 200, 200])
      let register = try NameRegister(path: path, for: .freeing)
      #expect(try register.free(name) == alice)
      #expect(try register.free(name) == nil)
    }
    let store = try SQLiteStore(path: path)
    #expect(store.bootCounter == 3)
    #expect(try store.owner(of: name, now: 300) == nil)
    #expect(try store.bind(name, to: bob, now: 300) == .granted)
    for use in [NameRegister.Use.seeing, .freeing] {
      let none = scratch.file("none.db")
      #expect(code { _ = try NameRegister(path: none, for: use) } == .notReadable)
    }
  }

  /// More than are read at once.
  @Test func `lists two thousand names in their order, also of a table without days of use`() throws
  {
    do {
      let store = try SQLiteStore(path: path)
      for number in 0..<2000 {
        let id = PeerID(word0: UInt64(number), word1: 9, word2: 9, word3: 9)
        _ = try store.bind(PeerName("n\(number)")!, to: id, now: 100)
      }
      try store.commit()
    }
    let texts = try names().map { "\($0.name)" }
    #expect(texts == (0..<2000).map { "n\($0)" }.sorted())
    do {
      let database = try Database(path)
      try database.run(
        """
        DROP INDEX names_by_use; ALTER TABLE names DROP COLUMN used; DROP TABLE bans;
        PRAGMA user_version = 1
        """)
    }
    #expect(try names().count == 2000)
  }

  @Test func `lets one process in at a time`() throws {
    let store = try SQLiteStore(path: path)
    #expect(code { _ = try SQLiteStore(path: path) } == .inUse)
    _ = try store.bind(name, to: alice, now: 100)
    try store.commit()
  }

  @Test func `says what is wrong with a file that is not its own`() throws {
    scratch.write("text.db", Array(repeating: UInt8(ascii: "x"), count: 5000))
    #expect(code { _ = try SQLiteStore(path: scratch.file("text.db")) } == .foreign)
    #expect(code { _ = try SQLiteStore(path: scratch.file("missing/r.db")) } == .notWritable)
    #expect(code { _ = try SQLiteStore(path: scratch.path) } != nil)
  }

  @Test func `notices a damaged file at the start`() throws {
    do {
      let store = try SQLiteStore(path: path)
      for number in UInt64(0)..<400 {
        let id = PeerID(word0: number, word1: 9, word2: 9, word3: 9)
        try store.keep(Array(repeating: 7, count: 300), serial: 1, of: id, seen: 1)
      }
      try store.commit()
    }
    do { _ = try SQLiteStore(path: path) }  // checkpoints
    var bytes = scratch.read("registrations.db")
    #expect(bytes.count > 40_000)
    for index in 16_000..<36_000 { bytes[index] = 0xA5 }
    scratch.write("registrations.db", bytes)
    #expect(code { _ = try SQLiteStore(path: path) } == .corrupt)
  }

  @Test func `knows a database of a newer version`() throws {
    do { _ = try SQLiteStore(path: path) }
    var bytes = scratch.read("registrations.db")
    bytes[63] = 9  // user_version, big-endian at offset 60
    scratch.write("registrations.db", bytes)
    #expect(code { _ = try SQLiteStore(path: path) } == .newerVersion)
  }
}
