internal import Glibc
package import Primitives
package import Wire

/// The names in the database of a server, for its operator: seen while it runs, freed while it does
/// not.
package struct NameRegister: ~Copyable {
  private let database: Database

  /// Who has a name, and when it was last registered or looked up.
  package struct Entry: Equatable, Sendable {
    package var name: PeerName
    package var id: PeerID
    /// Seconds since 1970 UTC.
    package var used: UInt64
  }

  /// What it is opened for.
  package enum Use: Sendable {
    /// A server may use the database meanwhile; what it has not written yet is not seen.
    case seeing
    case freeing
  }

  /// Opens the database, which must exist.
  package init(path: String, for use: Use) throws(StorageError) {
    guard unsafe access(path, F_OK) == 0 else {
      throw StorageError(
        .notReadable, path, "There is no \(path).",
        advice: "Give --data DIR, the directory that the server was started with.")
    }
    database = try use == .seeing ? Self.see(path) : Self.open(path)
  }

  /// No lock of the file's: a server that starts in this moment must find it free.
  private static func see(_ path: String) throws(StorageError) -> Database {
    let database = try Database(path, .shared)
    try SQLiteStore.check(database)
    // What a server of another version left has no days of use, and nobody uses it now.
    let hasUse = try database.number(
      "SELECT count(*) FROM pragma_table_info('names') WHERE name = 'used'")
    return hasUse == 1 ? database : try open(path)
  }

  private static func open(_ path: String) throws(StorageError) -> Database {
    do throws(StorageError) {
      let database = try Database(path)
      try SQLiteStore.takeOver(database)
      return database
    } catch {
      guard error.code == .inUse else { throw error }
      throw StorageError(
        .inUse, path, "The server that uses \(path) is running.",
        advice: "Stop earshot-rendezvous, give this command again, then start it.")
    }
  }

  /// All names, in the order of the alphabet.
  package borrowing func forEach(_ body: (Entry) -> Void) throws(StorageError) {
    var query = try database.prepare(
      "SELECT name, id, used FROM names WHERE name > ?1 ORDER BY name LIMIT \(Self.batch)")
    var last = ""
    var count = Self.batch
    while count == Self.batch {
      query.bind(1, text: last)
      var entries: [Entry] = []
      count = 0
      while try query.step() {
        count += 1
        last = String(decoding: query.blob(0), as: UTF8.self)
        guard let name = PeerName(last), let id = PeerID(query.blob(1)) else { continue }
        entries.append(Entry(name: name, id: id, used: UInt64(clamping: query.integer(2))))
      }
      query.reset()
      entries.forEach(body)
    }
  }

  /// Takes a name from whoever has it; `nil` when nobody does. Whoever asks for it next has it.
  package borrowing func free(_ name: PeerName) throws(StorageError) -> PeerID? {
    var query = try database.prepare("SELECT id FROM names WHERE name = ?1")
    query.bind(1, text: name.description)
    guard try query.step(), let id = PeerID(query.blob(0)) else { return nil }
    query.reset()
    try database.run("BEGIN IMMEDIATE")
    var update = try database.prepare("DELETE FROM names WHERE name = ?1")
    update.bind(1, text: name.description)
    _ = try update.step()
    try database.run(
      """
      UPDATE cards SET is_named = 0 WHERE is_named = 1
        AND NOT EXISTS (SELECT 1 FROM names WHERE id = cards.id);
      COMMIT
      """)
    return id
  }

  /// Names that are read at once: whoever reads them slowly (`less`) must not hold up the server,
  /// which cannot tidy its file while somebody reads.
  private static let batch = 1000
}
