package import Primitives
package import Rendezvous
package import Wire

/// The registrations of a rendezvous in one SQLite file: names, cards, and the count of starts.
///
/// Writes join the open batch, which `commit` ends: in WAL mode with `synchronous=NORMAL` that is
/// one write and no wait for the disk, so that a crash of the process loses nothing committed and a
/// power cut at most the last moments, never the file.
package final class SQLiteStore: RegistrationStore {
  package let limits: StoreLimits
  /// How many times a server has started on this file, this time included. Never goes back.
  package let bootCounter: UInt64
  /// 32 secret bytes that reset tokens are made from, the same at every start
  /// (docs/protocol/session.md §8).
  package let resetKey: [UInt8]

  private var queries: Queries
  private let database: Database
  private var nameCount: Int
  private var cardCount: Int

  /// "ESHR": says that the file is ours.
  private static let applicationID: Int64 = 0x4553_4852
  private static let schemaVersion: Int64 = 1

  /// Opens or makes the database; its directory must exist.
  package init(path: String, limits: StoreLimits = StoreLimits()) throws(StorageError) {
    let database = try Database(path)
    try Self.takeOver(database)
    try database.run("BEGIN IMMEDIATE")
    try database.run("UPDATE server SET boot_counter = boot_counter + 1")
    bootCounter = UInt64(clamping: try database.number("SELECT boot_counter FROM server"))
    resetKey = try Self.secret(database)
    try database.run("COMMIT")
    // A connection ID depends on the counter: this one commit waits for the disk.
    try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
    let queries = try Queries(database)
    nameCount = Int(try database.number("SELECT count(*) FROM names"))
    cardCount = Int(try database.number("SELECT count(*) FROM cards"))
    self.queries = queries
    self.database = database
    self.limits = limits
  }

  /// Reads the reset key; makes it the first time, from the system's own generator.
  private static func secret(_ database: borrowing Database) throws(StorageError) -> [UInt8] {
    var query = try database.prepare("SELECT reset_key FROM server")
    if try query.step() {
      let key = query.blob(0)
      if key.count == 32 { return key }
    }
    query.reset()
    var random = RandomSource.system
    let key = random.bytes(32)
    var update = try database.prepare("UPDATE server SET reset_key = ?1")
    update.bind(1, key)
    _ = try update.step()
    return key
  }

  /// Checks whose file it is, and makes the tables in a new one.
  private static func takeOver(_ database: borrowing Database) throws(StorageError) {
    let path = database.path
    try database.run("PRAGMA locking_mode = EXCLUSIVE; PRAGMA trusted_schema = OFF")
    let application = try database.number("PRAGMA application_id")
    let version = try database.number("PRAGMA user_version")
    let tables = try database.number("SELECT count(*) FROM sqlite_schema")
    guard application == applicationID || (application == 0 && version == 0 && tables == 0) else {
      throw StorageError(
        .foreign, path, "\(path) is a database of another program.",
        advice: "Give another --data directory.")
    }
    guard version <= schemaVersion else {
      throw StorageError(
        .newerVersion, path, "\(path) was written by a newer earshot-rendezvous.",
        advice: "Run that version, or give another --data directory.")
    }
    try database.run(
      """
      PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -512;
      PRAGMA journal_size_limit = 8388608; PRAGMA temp_store = MEMORY
      """)
    guard version < schemaVersion else { return try checkQuickly(database) }
    try database.run(
      """
      BEGIN IMMEDIATE;
      CREATE TABLE server (boot_counter INTEGER NOT NULL, reset_key BLOB NOT NULL);
      INSERT INTO server VALUES (0, randomblob(0));
      CREATE TABLE names (name TEXT PRIMARY KEY, id BLOB NOT NULL) WITHOUT ROWID;
      CREATE INDEX names_of_id ON names (id);
      CREATE TABLE cards (
        id BLOB PRIMARY KEY, card BLOB NOT NULL, serial INTEGER NOT NULL, seen INTEGER NOT NULL,
        is_named INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
      CREATE INDEX forgettable ON cards (seen) WHERE is_named = 0;
      PRAGMA application_id = \(applicationID);
      PRAGMA user_version = \(schemaVersion);
      COMMIT
      """)
  }

  /// Notices a damaged file at the start, and not in the middle of the night.
  private static func checkQuickly(_ database: borrowing Database) throws(StorageError) {
    var statement = try database.prepare("PRAGMA quick_check(1)")
    guard try statement.step(), statement.blob(0) == Array("ok".utf8) else {
      throw Database.error(11, database.path)  // SQLITE_CORRUPT
    }
  }

  // MARK: - RegistrationStore

  package func owner(of name: PeerName) throws(StoreFailure) -> PeerID? {
    do throws(StorageError) {
      return try queries.owner.first(name: name).flatMap { PeerID($0) }
    } catch { throw StoreFailure(error.message) }
  }

  package func card(of id: PeerID) throws(StoreFailure) -> [UInt8]? {
    do throws(StorageError) {
      return try queries.card.first(id: id)
    } catch { throw StoreFailure(error.message) }
  }

  package func bind(_ name: PeerName, to id: PeerID) throws(StoreFailure) -> NameVerdict {
    if let owner = try owner(of: name) { return owner == id ? .granted : .taken }
    do throws(StorageError) {
      queries.countNames.reset()
      queries.countNames.bind(1, id.bytes)
      let held = try queries.countNames.step() ? queries.countNames.integer(0) : 0
      queries.countNames.reset()
      guard held < limits.namesPerIdentity, nameCount < limits.names else { return .tooMany }
      try beginBatch()
      queries.bindName.reset()
      queries.bindName.bind(1, text: name.description)
      queries.bindName.bind(2, id.bytes)
      _ = try queries.bindName.step()
      queries.bindName.reset()
      nameCount += 1
      queries.markNamed.reset()
      queries.markNamed.bind(1, id.bytes)
      _ = try queries.markNamed.step()
      queries.markNamed.reset()
      return .granted
    } catch { throw abandonBatch(error) }
  }

  package func keep(
    _ card: [UInt8], serial: UInt64, of id: PeerID, seen: UInt64
  ) throws(StoreFailure) {
    do throws(StorageError) {
      try beginBatch()
      queries.updateCard.reset()
      bindCard(card, serial, id, seen, in: &queries.updateCard)
      _ = try queries.updateCard.step()
      queries.updateCard.reset()
      if database.changeCount > 0 { return }
      if cardCount >= limits.cards { try forgetSome() }
      guard cardCount < limits.cards else { throw Self.full(database.path) }
      queries.insertCard.reset()
      bindCard(card, serial, id, seen, in: &queries.insertCard)
      _ = try queries.insertCard.step()
      queries.insertCard.reset()
      cardCount += 1
    } catch { throw abandonBatch(error) }
  }

  package func commit() throws(StoreFailure) {
    guard database.isInTransaction else { return }
    do throws(StorageError) {
      try database.run("COMMIT")
    } catch { throw abandonBatch(error) }
  }

  // MARK: - Parts

  private func beginBatch() throws(StorageError) {
    if !database.isInTransaction { try database.run("BEGIN IMMEDIATE") }
  }

  /// Takes back the batch that failed; the next one starts afresh.
  private func abandonBatch(_ error: StorageError) -> StoreFailure {
    if database.isInTransaction {
      do throws(StorageError) { try database.run("ROLLBACK") } catch { return failure(error) }
    }
    return failure(error)
  }

  private func failure(_ error: StorageError) -> StoreFailure {
    do throws(StorageError) {
      nameCount = Int(try database.number("SELECT count(*) FROM names"))
      cardCount = Int(try database.number("SELECT count(*) FROM cards"))
    } catch { return StoreFailure(error.message) }
    return StoreFailure(error.message)
  }

  private func bindCard(
    _ card: [UInt8], _ serial: UInt64, _ id: PeerID, _ seen: UInt64, in query: inout Statement
  ) {
    query.bind(1, card)
    query.bind(2, Int64(clamping: serial))
    query.bind(3, id.bytes)
    query.bind(4, Int64(clamping: seen))
  }

  /// Makes room in one go, so that a full store does not search at every registration.
  private func forgetSome() throws(StorageError) {
    let count = max(1, limits.cards / 1000)
    try database.run(
      """
      DELETE FROM cards WHERE id IN
        (SELECT id FROM cards WHERE is_named = 0 ORDER BY seen, id LIMIT \(count))
      """)
    cardCount -= database.changeCount
  }

  private static func full(_ path: String) -> StorageError {
    StorageError(
      .tooMany, path, "The store holds as many cards as it may.",
      advice: "Start a second rendezvous.")
  }
}

/// What the store asks, compiled once.
private struct Queries: ~Copyable {
  var owner: Statement
  var card: Statement
  var countNames: Statement
  var bindName: Statement
  var markNamed: Statement
  var updateCard: Statement
  var insertCard: Statement

  init(_ database: borrowing Database) throws(StorageError) {
    let owner = try database.prepare("SELECT id FROM names WHERE name = ?1")
    let card = try database.prepare("SELECT card FROM cards WHERE id = ?1")
    let countNames = try database.prepare("SELECT count(*) FROM names WHERE id = ?1")
    let bindName = try database.prepare("INSERT INTO names (name, id) VALUES (?1, ?2)")
    let markNamed = try database.prepare("UPDATE cards SET is_named = 1 WHERE id = ?1")
    let updateCard = try database.prepare(
      """
      UPDATE cards SET card = CASE WHEN ?2 >= serial THEN ?1 ELSE card END,
        serial = max(serial, ?2), seen = max(seen, ?4) WHERE id = ?3
      """)
    let insertCard = try database.prepare(
      """
      INSERT INTO cards (card, serial, id, seen, is_named)
      VALUES (?1, ?2, ?3, ?4, EXISTS (SELECT 1 FROM names WHERE id = ?3))
      """)
    self.owner = owner
    self.card = card
    self.countNames = countNames
    self.bindName = bindName
    self.markNamed = markNamed
    self.updateCard = updateCard
    self.insertCard = insertCard
  }
}

extension Statement {
  /// The first column of the first row, for a query by name.
  fileprivate mutating func first(name: PeerName) throws(StorageError) -> [UInt8]? {
    reset()
    bind(1, text: name.description)
    return try firstBlob()
  }

  /// The first column of the first row, for a query by ID.
  fileprivate mutating func first(id: PeerID) throws(StorageError) -> [UInt8]? {
    reset()
    bind(1, id.bytes)
    return try firstBlob()
  }

  private mutating func firstBlob() throws(StorageError) -> [UInt8]? {
    guard try step() else { return nil }
    let value = blob(0)
    reset()
    return value
  }
}
