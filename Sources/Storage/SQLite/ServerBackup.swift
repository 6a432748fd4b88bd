import Cryptography
internal import Glibc

/// All that a server has, in one file: its database, copied by SQLite's own backup while the server
/// runs, and its identity.
package enum ServerBackup {
  /// How far a copy's count of starts is ahead of the server's: a server that was restored must not
  /// use connection IDs of starts that came after the backup (docs/protocol/session.md §8).
  static let startsAhead = 65_536

  /// Writes a backup of the server whose data is in `directory`. The file must not exist yet, and
  /// is for its owner only: it holds the server's secret keys.
  package static func make(of directory: String, at path: String) throws(StorageError) {
    guard !PrivateFile.isThere(path) else {
      throw StorageError(
        .notWritable, path, "\(path) is there already.", advice: "Give the name of a new file.")
    }
    let source = try Database(try existing(databasePath(directory)), .shared)
    let identityPath = directory + "/identity"
    guard var identity = try PrivateFile.read(identityPath, isSecret: true) else {
      throw missing(identityPath)
    }
    defer { Secret.wipe(&identity) }
    try write(path) { target throws(StorageError) in
      try source.copy(to: target)
      try checkOwner(of: target, path)
      try target.run(
        """
        PRAGMA journal_mode = DELETE;
        UPDATE server SET boot_counter = boot_counter + \(startsAhead);
        CREATE TABLE backup (identity BLOB NOT NULL)
        """)
      var insert = try target.prepare("INSERT INTO backup VALUES (?1)")
      insert.bind(1, identity)
      _ = try insert.step()
    }
  }

  /// Puts a backup in place for a server that has no data yet.
  package static func restore(_ path: String, to directory: String) throws(StorageError) {
    let place = databasePath(directory)
    for path in [place, directory + "/identity"] where PrivateFile.isThere(path) {
      throw StorageError(
        .notWritable, path, "\(path) is there already.",
        advice: "Give an empty directory with --data, or move the old one away.")
    }
    let source = try opened(path)
    guard try source.number("SELECT count(*) FROM sqlite_schema WHERE name = 'backup'") == 1 else {
      throw foreign(path)
    }
    var query = try source.prepare("SELECT identity FROM backup")
    guard try query.step() else { throw foreign(path) }
    var identity = query.blob(0)
    defer { Secret.wipe(&identity) }
    query.reset()
    try DataDirectory.make(directory)
    guard try PrivateFile.create(directory + "/identity", with: identity) else {
      throw .vanished(directory + "/identity")
    }
    try write(place) { target throws(StorageError) in
      try source.copy(to: target)
      // Nothing of the secret stays in free pages.
      try target.run("PRAGMA journal_mode = DELETE; PRAGMA secure_delete = ON; DROP TABLE backup")
    }
  }

  // MARK: - Parts

  /// The backup in a file; whatever else is there, or nothing, is refused.
  private static func opened(_ path: String) throws(StorageError) -> Database {
    guard PrivateFile.isThere(path) else {
      throw StorageError(
        .notReadable, path, "There is no \(path).",
        advice: "Give the file that earshot-rendezvous backup wrote.")
    }
    do throws(StorageError) {
      let source = try Database(path, .shared)
      try checkOwner(of: source, path)
      return source
    } catch {
      throw error.code == .foreign ? foreign(path) : error
    }
  }

  /// Has `body` fill a database beside `path`, then gives it that name: whole or not at all.
  private static func write(
    _ path: String, _ body: (borrowing Database) throws(StorageError) -> Void
  ) throws(StorageError) {
    let part = path + ".part"
    _ = unsafe unlink(part)
    do throws(StorageError) {
      try fill(part, body)
    } catch {
      _ = unsafe unlink(part)
      throw error
    }
    // Never over a file that somebody made meanwhile.
    let isNamed = unsafe link(part, path) == 0
    let reason = errno
    _ = unsafe unlink(part)
    guard isNamed else { throw .kernel("write", path, errno: reason) }
  }

  private static func fill(
    _ part: String, _ body: (borrowing Database) throws(StorageError) -> Void
  ) throws(StorageError) {
    let target = try Database(part)
    try body(target)
  }

  private static func checkOwner(
    of database: borrowing Database, _ path: String
  ) throws(StorageError) {
    guard try database.number("PRAGMA application_id") == SQLiteStore.applicationID else {
      throw foreign(path)
    }
  }

  private static func databasePath(_ directory: String) -> String {
    directory + "/registrations.db"
  }

  private static func existing(_ path: String) throws(StorageError) -> String {
    guard PrivateFile.isThere(path) else { throw missing(path) }
    return path
  }

  private static func missing(_ path: String) -> StorageError {
    StorageError(
      .notReadable, path, "There is no \(path).",
      advice: "Give --data DIR, the directory that the server was started with.")
  }

  private static func foreign(_ path: String) -> StorageError {
    StorageError(
      .foreign, path, "\(path) is no backup of a rendezvous.",
      advice: "Give a file that earshot-rendezvous backup wrote.")
  }
}
