internal import Glibc
package import Primitives
package import Wire

/// The names in the database of a server that is not running: for its operator.
package struct NameRegister: ~Copyable {
  private let database: Database

  /// Who has a name, and when it was last registered or looked up.
  package struct Entry: Equatable, Sendable {
    package var name: PeerName
    package var id: PeerID
    /// Seconds since 1970 UTC.
    package var used: UInt64
  }

  /// Opens the database, which must exist and which no server may be using.
  package init(path: String) throws(StorageError) {
    guard unsafe access(path, F_OK) == 0 else {
      throw StorageError(
        .notReadable, path, "There is no \(path).",
        advice: "Give --data DIR, the directory that the server was started with.")
    }
    database = try Self.open(path)
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
    var query = try database.prepare("SELECT name, id, used FROM names ORDER BY name")
    while try query.step() {
      guard let name = PeerName(String(decoding: query.blob(0), as: UTF8.self)),
        let id = PeerID(query.blob(1))
      else { continue }
      body(Entry(name: name, id: id, used: UInt64(clamping: query.integer(2))))
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
}
