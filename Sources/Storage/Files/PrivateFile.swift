internal import CLinux
internal import Glibc

/// Small files that only their owner may read unless it is said otherwise, replaced whole or not at
/// all.
enum PrivateFile {
  /// Anything longer is not a file of ours.
  static let maximumByteCount = 8 << 20
  /// The mode of a file that nobody else may open.
  static let ownerOnly: mode_t = 0o600

  /// The contents; `nil` when there is no such file.
  ///
  /// - Parameter isSecret: Whether to refuse a file that others may read.
  static func read(_ path: String, isSecret: Bool) throws(StorageError) -> [UInt8]? {
    // Of a named pipe without a writer the opening would not end.
    let number = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard number >= 0 else {
      if errno == ENOENT { return nil }
      throw .kernel("read", path, errno: errno)
    }
    defer { _ = close(number) }
    var status = stat()
    guard unsafe fstat(number, &status) == 0 else { throw .kernel("read", path, errno: errno) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw StorageError(
        .foreign, path, "\(path) is not a regular file.", advice: "Choose another path.")
    }
    if isSecret, !isPrivate(status) {
      throw StorageError(
        .exposed, path,
        "\(path) holds a secret key, and others may open it (mode \(octal(status.st_mode))).",
        advice: "Run: chmod 600 '\(path)'; if somebody may have read it, make a new one. A disk "
          + "without modes (FAT, exFAT) must be mounted with umask=077.")
    }
    guard status.st_size <= maximumByteCount else {
      throw StorageError(
        .foreign, path, "\(path) is too long to be a file of Earshot.",
        advice: "Choose another path.")
    }
    return try readAll(number, path)
  }

  /// Whether nobody but its owner may open a file, and root. A credential of systemd is root's and
  /// has a list with the user of the service: of that `stat` says that the group may read it.
  static func isPrivate(_ status: stat) -> Bool {
    let isCredential = status.st_uid == 0 && status.st_gid == 0 && status.st_mode & 0o777 == 0o440
    return status.st_mode & 0o077 == 0 || isCredential
  }

  /// Puts `bytes` in place of what is at `path`: written beside it, made durable, then renamed, so
  /// that a crash at any moment leaves the old contents or the new.
  ///
  /// What root changes of somebody else stays theirs: a service must still be able to read it.
  ///
  /// - Parameter mode: Who may read it.
  static func replace(
    _ path: String, with bytes: [UInt8], mode: mode_t = ownerOnly
  ) throws(StorageError) {
    let temporary = try writeBeside(path, bytes, mode, owner: owner(of: path))
    guard unsafe rename(temporary, path) == 0 else {
      let reason = errno
      _ = unsafe unlink(temporary)
      throw .kernel("write", path, errno: reason)
    }
    syncDirectory(of: path)
  }

  /// Makes a file that must not exist yet; `false` when somebody else was first, whose file stays.
  ///
  /// - Parameter mode: Who may read it.
  static func create(
    _ path: String, with bytes: [UInt8], mode: mode_t = ownerOnly
  ) throws(StorageError) -> Bool {
    let temporary = try writeBeside(path, bytes, mode)
    var reason = unsafe link(temporary, path) == 0 ? 0 : errno
    // Some file systems have no hard links (FAT, exFAT).
    if [EPERM, EOPNOTSUPP, ENOSYS, EMLINK].contains(reason) { reason = renameNew(temporary, path) }
    _ = unsafe unlink(temporary)
    if reason == EEXIST { return false }
    guard reason == 0 else { throw .kernel("write", path, errno: reason) }
    syncDirectory(of: path)
    return true
  }

  /// Renames, and never over anything that is there; 0, or the kernel's reason.
  static func renameNew(_ temporary: String, _ path: String) -> Int32 {
    let reason = unsafe -earshot_rename_new(AT_FDCWD, temporary, path)
    // Some file systems cannot do that in one step.
    guard [EINVAL, ENOSYS].contains(reason) else { return reason }
    if isThere(path) { return EEXIST }
    return unsafe rename(temporary, path) == 0 ? 0 : errno
  }

  /// Whether there is anything at `path`.
  static func isThere(_ path: String) -> Bool {
    var status = stat()
    return unsafe lstat(path, &status) == 0
  }

  /// Takes back what was made a moment ago.
  static func remove(_ path: String) { _ = unsafe unlink(path) }

  /// Makes `path` and its missing parents, for their owner only. Existing ones stay as they are.
  static func makeDirectory(_ path: String) throws(StorageError) {
    var status = stat()
    if unsafe stat(path, &status) == 0 {
      guard status.st_mode & S_IFMT == S_IFDIR else {
        throw StorageError(
          .notDirectory, path, "\(path) is not a directory.", advice: "Choose another path.")
      }
      return
    }
    guard errno == ENOENT else { throw .kernel("open", path, errno: errno) }
    if let parent = parent(of: path), parent != path { try makeDirectory(parent) }
    if unsafe mkdir(path, 0o700) != 0, errno != EEXIST {
      throw .kernel("make the directory", path, errno: errno)
    }
  }

  /// The directory that holds `path`.
  static func parent(of path: String) -> String? {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    if slash == path.startIndex { return path.count == 1 ? nil : "/" }
    return String(path[..<slash])
  }

  // MARK: - Owners

  struct Owner {
    let user: uid_t
    let group: gid_t
  }

  /// Whose a file is that root writes: whose it was, or else whose its directory is. `nil` for
  /// everybody else, whose files are their own.
  static func owner(of path: String) -> Owner? {
    guard geteuid() == 0 else { return nil }
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else { return directoryOwner(of: path) }
    return status.st_uid == 0 ? nil : Owner(user: status.st_uid, group: status.st_gid)
  }

  /// Whose the directory of a file is that root makes.
  static func directoryOwner(of path: String) -> Owner? {
    guard geteuid() == 0 else { return nil }
    var status = stat()
    guard unsafe stat(parent(of: path) ?? ".", &status) == 0, status.st_uid != 0 else { return nil }
    return Owner(user: status.st_uid, group: status.st_gid)
  }

  /// A root that may give nothing away keeps the file.
  static func give(_ number: Int32, to owner: Owner) {
    _ = fchown(number, owner.user, owner.group)
  }

  // MARK: - Parts

  private static func readAll(_ number: Int32, _ path: String) throws(StorageError) -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while bytes.count <= maximumByteCount {
      let capacity = chunk.count
      let count = unsafe chunk.withUnsafeMutableBytes { room in
        unsafe Glibc.read(number, room.baseAddress, capacity)
      }
      if count < 0 {
        if errno == EINTR { continue }
        throw .kernel("read", path, errno: errno)
      }
      if count == 0 { break }
      bytes.append(contentsOf: chunk[..<count])
    }
    return bytes
  }

  /// Writes `bytes` to a new file in the same directory and makes them durable; gives its path.
  private static func writeBeside(
    _ path: String, _ bytes: [UInt8], _ mode: mode_t = ownerOnly, owner: Owner? = nil
  ) throws(StorageError) -> String {
    var number: Int32 = -1
    var temporary = ""
    for attempt in 0..<100 {
      temporary = "\(path).new-\(getpid())-\(attempt)"
      number = unsafe open(
        temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, ownerOnly)
      if number >= 0 || errno != EEXIST { break }
    }
    guard number >= 0 else { throw .kernel("write", path, errno: errno) }
    var reason = write(bytes, to: number)
    if reason == 0, mode != ownerOnly, fchmod(number, mode) != 0 { reason = errno }
    if let owner { give(number, to: owner) }
    if reason == 0, fsync(number) != 0 { reason = errno }
    if close(number) != 0, reason == 0 { reason = errno }
    if reason != 0 {
      _ = unsafe unlink(temporary)
      throw .kernel("write", path, errno: reason)
    }
    return temporary
  }

  /// 0, or the kernel's reason.
  private static func write(_ bytes: [UInt8], to number: Int32) -> Int32 {
    unsafe bytes.withUnsafeBytes { bytes in
      var written = 0
      while written < bytes.count {
        let count = unsafe Glibc.write(
          number, bytes.baseAddress?.advanced(by: written), bytes.count - written)
        if count < 0 {
          if errno == EINTR { continue }
          return errno
        }
        written += count
      }
      return 0
    }
  }

  /// Makes a rename durable. A file system that cannot is not worth failing for: the contents are.
  private static func syncDirectory(of path: String) {
    guard let directory = parent(of: path) else { return }
    let number = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard number >= 0 else { return }
    _ = fsync(number)
    _ = close(number)
  }

  private static func octal(_ mode: mode_t) -> String { String(mode & 0o777, radix: 8) }
}

/// The directory that a server keeps everything in.
package enum DataDirectory {
  /// Makes it and its missing parents, for their owner only, and finds out now whether it can be
  /// written to.
  package static func make(_ path: String) throws(StorageError) {
    try PrivateFile.makeDirectory(path)
    guard unsafe access(path, W_OK | X_OK) == 0 else {
      throw .kernel("write to", path, errno: errno)
    }
  }
}

/// Text that a person wrote.
package enum TextFile {
  /// `nil` when there is no such file.
  package static func read(_ path: String) throws(StorageError) -> String? {
    guard let bytes = try PrivateFile.read(path, isSecret: false) else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }
}
