internal import CSQLite
internal import Glibc

/// One connection to one SQLite file.
///
/// A server holds its file alone: a lock on the file keeps other servers out; a backup may read.
/// Not copyable: closing it twice would be a double free.
@safe
struct Database: ~Copyable {
  let path: String
  private let connection: OpaquePointer
  /// The descriptor that holds the lock, or -1; open until the connection is closed, because
  /// closing it gives up SQLite's own locks as well.
  private let lock: Int32

  /// Who else may have the file open meanwhile.
  enum Sharing {
    /// No other `alone`.
    case alone
    /// Anybody; the file must exist.
    case shared
  }

  /// Opens the file, for its owner only. Where it is not shared, makes it if need be.
  init(_ path: String, _ sharing: Sharing = .alone) throws(StorageError) {
    let number = sharing == .alone ? try Self.holdAlone(path) : -1
    var handle: OpaquePointer?
    let code = unsafe sqlite3_open_v2(
      path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, nil)
    guard code == SQLITE_OK, let handle = unsafe handle else {
      unsafe sqlite3_close_v2(handle)
      if number >= 0 { _ = close(number) }
      throw Self.error(code, path)
    }
    unsafe connection = handle
    lock = number
    self.path = path
    unsafe sqlite3_extended_result_codes(handle, 0)
    unsafe sqlite3_busy_timeout(handle, sharing == .alone ? 0 : Self.patience)
  }

  /// The open file, made if need be, that no other process holds by this.
  private static func holdAlone(_ path: String) throws(StorageError) -> Int32 {
    // Made here and not by SQLite, whose mode would follow the umask. Its companions (-wal) take
    // the mode of the file.
    let number = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard number >= 0 else { throw .kernel("open", path, errno: errno) }
    guard flock(number, LOCK_EX | LOCK_NB) == 0 else {
      _ = close(number)
      throw Self.error(SQLITE_BUSY, path)
    }
    return number
  }

  /// How long a backup waits for a writer, in milliseconds.
  private static let patience: Int32 = 5000

  deinit {
    unsafe sqlite3_close_v2(connection)
    if lock >= 0 { _ = close(lock) }
  }

  /// Makes `target` a copy of this database as it is now, whoever writes to it meanwhile.
  borrowing func copy(to target: borrowing Database) throws(StorageError) {
    guard
      let backup = unsafe sqlite3_backup_init(target.connection, "main", connection, "main")
    else { throw Self.error(unsafe sqlite3_errcode(target.connection), target.path) }
    let code = unsafe sqlite3_backup_step(backup, -1)
    let end = unsafe sqlite3_backup_finish(backup)
    guard code == SQLITE_DONE, end == SQLITE_OK else {
      throw Self.error(end == SQLITE_OK ? code : end, target.path)
    }
  }

  /// Runs statements that give no rows.
  borrowing func run(_ sql: String) throws(StorageError) {
    let code = unsafe sqlite3_exec(connection, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw Self.error(code, path) }
  }

  /// The first column of the first row, as a number.
  borrowing func number(_ sql: String) throws(StorageError) -> Int64 {
    var statement = try prepare(sql)
    return try statement.step() ? statement.integer(0) : 0
  }

  borrowing func prepare(_ sql: String) throws(StorageError) -> Statement {
    var handle: OpaquePointer?
    let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
    let code = unsafe sqlite3_prepare_v3(connection, sql, -1, flags, &handle, nil)
    guard code == SQLITE_OK, let handle = unsafe handle else { throw Self.error(code, path) }
    return unsafe Statement(owning: handle, path: path)
  }

  /// Whether a batch is open. Some failures (a full disk) end it by themselves.
  var isInTransaction: Bool { unsafe sqlite3_get_autocommit(connection) == 0 }

  /// How many rows the last statement changed.
  var changeCount: Int { Int(unsafe sqlite3_changes(connection)) }

  static func error(_ code: Int32, _ path: String) -> StorageError {
    switch code & 0xFF {
    case SQLITE_BUSY, SQLITE_LOCKED:
      StorageError(
        .inUse, path, "\(path) is in use by another process.",
        advice: "Stop the other earshot-rendezvous, or give this one another --data directory.")
    case SQLITE_CORRUPT:
      StorageError(
        .corrupt, path, "\(path) is damaged.",
        advice: "Restore it from a backup, or move it away to begin anew (names are then free).")
    case SQLITE_NOTADB:
      StorageError(
        .foreign, path, "\(path) is not a database.",
        advice: "Move it away, or give another --data directory.")
    case SQLITE_FULL:
      StorageError(
        .diskFull, path, "Cannot write \(path): the disk is full.", advice: "Free some space.")
    case SQLITE_READONLY, SQLITE_PERM:
      StorageError(
        .readOnly, path, "\(path) cannot be written to.",
        advice: "Check the owner and mode of the file and of its directory.")
    default:
      StorageError(
        .notWritable, path, "Cannot use \(path): \(unsafe String(cString: sqlite3_errstr(code))).",
        advice: "Check the owner, mode and free space of the directory.")
    }
  }
}

/// A statement that was compiled once and is run many times. It must not outlive its database.
@safe
struct Statement: ~Copyable {
  private let handle: OpaquePointer
  private let path: String

  fileprivate init(owning handle: OpaquePointer, path: String) {
    unsafe self.handle = handle
    self.path = path
  }

  deinit { unsafe sqlite3_finalize(handle) }

  /// Makes ready for new values.
  mutating func reset() {
    unsafe sqlite3_reset(handle)
    unsafe sqlite3_clear_bindings(handle)
  }

  mutating func bind(_ index: Int32, _ blob: [UInt8]) {
    _ = unsafe blob.withUnsafeBytes {
      unsafe earshot_bind_blob(handle, index, $0.baseAddress, Int32(clamping: $0.count))
    }
  }

  mutating func bind(_ index: Int32, text: String) {
    var text = text
    _ = text.withUTF8 { letters in
      unsafe letters.withMemoryRebound(to: CChar.self) {
        unsafe earshot_bind_text(handle, index, $0.baseAddress, Int32(clamping: $0.count))
      }
    }
  }

  mutating func bind(_ index: Int32, _ number: Int64) {
    unsafe sqlite3_bind_int64(handle, index, number)
  }

  /// Whether there is a row (for a statement that gives none: `false` when it is done).
  mutating func step() throws(StorageError) -> Bool {
    let code = unsafe sqlite3_step(handle)
    if code == SQLITE_ROW { return true }
    if code == SQLITE_DONE { return false }
    // Resetting releases the locks that a failed statement would go on holding.
    unsafe sqlite3_reset(handle)
    throw Database.error(code, path)
  }

  func integer(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(handle, column) }

  func blob(_ column: Int32) -> [UInt8] {
    guard let start = unsafe sqlite3_column_blob(handle, column) else { return [] }
    let count = Int(unsafe sqlite3_column_bytes(handle, column))
    return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count))
  }
}
