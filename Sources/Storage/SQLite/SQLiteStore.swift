package import Primitives
package import Rendezvous
import Wire

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

  var queries: StoreQueries
  let database: Database
  var nameCount: Int
  private var cardCount: Int
  package private(set) var lostBatchCount: UInt64 = 0
  /// Whether the open batch may write; else it only reads.
  private var isWriting = false

  /// "ESHR": says that the file is ours.
  static let applicationID: Int64 = 0x4553_4852
  private static let schemaVersion: Int64 = 3

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
    let queries = try StoreQueries(database)
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
  static func takeOver(_ database: borrowing Database) throws(StorageError) {
    let version = try check(database)
    try database.run(
      """
      PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -512;
      PRAGMA journal_size_limit = 8388608; PRAGMA temp_store = MEMORY
      """)
    switch version {
    case schemaVersion: try checkQuickly(database)
    case 1:
      try addUse(database)
      try addBans(database)
    case 2:
      try checkQuickly(database)
      try addBans(database)
    default: try makeTables(database)
    }
  }

  /// Checks whose file it is.
  ///
  /// - Returns: The version of its tables; 0 of a new one.
  @discardableResult
  static func check(_ database: borrowing Database) throws(StorageError) -> Int64 {
    let path = database.path
    try database.run("PRAGMA trusted_schema = OFF")
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
    return version
  }

  private static func makeTables(_ database: borrowing Database) throws(StorageError) {
    try database.run(
      """
      BEGIN IMMEDIATE;
      CREATE TABLE server (boot_counter INTEGER NOT NULL, reset_key BLOB NOT NULL);
      INSERT INTO server VALUES (0, randomblob(0));
      CREATE TABLE names (
        name TEXT PRIMARY KEY, id BLOB NOT NULL, used INTEGER NOT NULL) WITHOUT ROWID;
      CREATE INDEX names_of_id ON names (id);
      CREATE INDEX names_by_use ON names (used);
      CREATE TABLE cards (
        id BLOB PRIMARY KEY, card BLOB NOT NULL, serial INTEGER NOT NULL, seen INTEGER NOT NULL,
        is_named INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
      CREATE INDEX forgettable ON cards (seen) WHERE is_named = 0;
      \(banTable)
      PRAGMA application_id = \(applicationID);
      PRAGMA user_version = \(schemaVersion);
      COMMIT
      """)
  }

  /// Version 2 keeps when a name was last used; whoever has one now begins with a fresh year. (Not
  /// before 2026: a host may start with its clock in 1970.)
  private static func addUse(_ database: borrowing Database) throws(StorageError) {
    try checkQuickly(database)
    try database.run(
      """
      BEGIN IMMEDIATE;
      ALTER TABLE names ADD COLUMN used INTEGER NOT NULL DEFAULT 0;
      UPDATE names SET used = max(CAST(strftime('%s', 'now') AS INTEGER), 1767225600);
      CREATE INDEX names_by_use ON names (used);
      PRAGMA user_version = 2;
      COMMIT
      """)
  }

  /// Version 3 keeps bans from channels.
  private static func addBans(_ database: borrowing Database) throws(StorageError) {
    try database.run(
      "BEGIN IMMEDIATE; \(banTable) PRAGMA user_version = \(schemaVersion); COMMIT")
  }

  /// Notices a damaged file at the start, and not in the middle of the night.
  private static func checkQuickly(_ database: borrowing Database) throws(StorageError) {
    var statement = try database.prepare("PRAGMA quick_check(1)")
    guard try statement.step(), statement.blob(0) == Array("ok".utf8) else {
      throw Database.error(11, database.path)  // SQLITE_CORRUPT
    }
  }

  // MARK: - RegistrationStore

  package func card(of id: PeerID) throws(StoreFailure) -> [UInt8]? {
    do throws(StorageError) {
      try beginReading()
      return try queries.card.first(id: id)
    } catch { throw StoreFailure(error.message) }
  }

  package func serial(of id: PeerID) throws(StoreFailure) -> UInt64? {
    do throws(StorageError) {
      queries.serial.reset()
      queries.serial.bind(1, id.bytes)
      defer { queries.serial.reset() }
      return try queries.serial.step() ? UInt64(clamping: queries.serial.integer(0)) : nil
    } catch { throw StoreFailure(error.message) }
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

  package var isBatchOpen: Bool { database.isInTransaction }

  package func commit() throws(StoreFailure) {
    guard database.isInTransaction else { return }
    do throws(StorageError) {
      try database.run("COMMIT")
    } catch { throw abandonBatch(error) }
  }

  // MARK: - Parts

  func beginBatch() throws(StorageError) {
    guard !isWriting || !database.isInTransaction else { return }
    // A view that was read from does not become a batch: a backup may have come between.
    if database.isInTransaction { try database.run("COMMIT") }
    isWriting = false
    try database.run("BEGIN IMMEDIATE")
    isWriting = true
  }

  /// What is read until the next `commit` is read in one view of the file: a query by itself asks
  /// the system for locks and gives them back, which costs more than the query.
  func beginReading() throws(StorageError) {
    guard !database.isInTransaction else { return }
    isWriting = false
    try database.run("BEGIN")
  }

  /// Takes back the batch that failed; the next one starts afresh.
  func abandonBatch(_ error: StorageError) -> StoreFailure {
    lostBatchCount += 1
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
