internal import CLinux
internal import Glibc

/// A folder into which files come from outside. They grow under hidden names that this program
/// chooses, and get their own when they are whole. Nothing is written over, no symbolic link in the
/// folder is followed, and no name leads out of it.
package final class DropFolder: Sendable {
  package let path: String
  private let descriptor: Int32

  /// The folder must be there.
  package init(_ path: String) throws(ReactorError) {
    self.path = path
    descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw ReactorError("open", path, errno: errno) }
    guard unsafe faccessat(descriptor, ".", W_OK | X_OK, AT_EACCESS) == 0 else {
      let reason = errno
      close(descriptor)
      throw ReactorError("write to", path, errno: reason)
    }
    let refusal = Self.refusal(descriptor)
    guard refusal == 0 else {
      close(descriptor)
      throw ReactorError("write to", path, errno: refusal)
    }
  }

  /// Why no file can be made there, whatever its mode says, as in `/proc`; or 0.
  private static func refusal(_ folder: Int32) -> Int32 {
    let name = ".earshot-\(getpid()).try"
    let file = unsafe openat(folder, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    // Where no name may be made the kernel says that there is none.
    guard file >= 0 else { return errno == EEXIST ? 0 : errno == ENOENT ? EPERM : errno }
    _ = unsafe unlinkat(folder, name, 0)
    close(file)
    return 0
  }

  deinit { close(descriptor) }

  /// Whether there is anything of that name, a symbolic link to nowhere included.
  package func has(_ name: String) -> Bool {
    var status = stat()
    return unsafe fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0
  }

  /// How many files in it have a name with this prefix and suffix, and their bytes.
  package func holdings(prefix: String, suffix: String) -> (files: Int, bytes: UInt64) {
    let copy = unsafe openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0 else { return (0, 0) }
    guard let folder = unsafe fdopendir(copy) else {
      close(copy)
      return (0, 0)
    }
    defer { unsafe closedir(folder) }
    var (count, sum): (Int, UInt64) = (0, 0)
    while let entry = unsafe readdir(folder) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { letters in
        unsafe String(cString: UnsafeRawPointer(letters).assumingMemoryBound(to: CChar.self))
      }
      var status = stat()
      guard name.hasPrefix(prefix), name.hasSuffix(suffix),
        unsafe fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
        status.st_mode & S_IFMT == S_IFREG
      else { continue }
      count += 1
      sum += UInt64(clamping: status.st_size)
    }
    return (count, sum)
  }

  /// Opens a file that grows, or makes it, for its owner only.
  ///
  /// - Throws: `EWOULDBLOCK` while another program, or this one, has it open; `ELOOP` where the
  ///   name is not that of a plain file.
  package func openPart(_ name: String) throws(ReactorError) -> PartFile {
    let number = unsafe openat(
      descriptor, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
    guard number >= 0 else { throw ReactorError("create", "\(path)/\(name)", errno: errno) }
    var status = stat()
    var reason: Int32 = 0
    // The lock first: whoever held it may have removed the file before letting go.
    let isMine = flock(number, LOCK_EX | LOCK_NB) == 0
    if unsafe !isMine || fstat(number, &status) != 0 {
      reason = errno
    } else if status.st_mode & S_IFMT != S_IFREG || status.st_nlink != 1 {
      reason = ELOOP
    }
    guard reason == 0 else {
      close(number)
      throw ReactorError("create", "\(path)/\(name)", errno: reason)
    }
    return PartFile(self, name, number, byteCount: UInt64(clamping: status.st_size))
  }

  /// Gives a file its name.
  ///
  /// - Throws: `EEXIST` where there is anything of that name, `EINVAL` where it is no plain name.
  fileprivate func place(_ part: String, as name: String) throws(ReactorError) {
    guard !name.isEmpty, name != ".", name != "..", !name.utf8.contains(0x2F),
      !name.utf8.contains(0)
    else { throw ReactorError("create", "\(path)/\(name)", errno: EINVAL) }
    if unsafe linkat(descriptor, part, descriptor, name, 0) != 0 {
      let reason = errno
      // Some file systems have no hard links.
      guard [EPERM, EOPNOTSUPP, ENOSYS, EMLINK].contains(reason) else {
        throw ReactorError("create", "\(path)/\(name)", errno: reason)
      }
      let result = unsafe earshot_rename_new(descriptor, part, name)
      guard result == 0 else { throw ReactorError("create", "\(path)/\(name)", errno: -result) }
      return
    }
    remove(part)
  }

  fileprivate func remove(_ part: String) { _ = unsafe unlinkat(descriptor, part, 0) }
}

/// A file in a `DropFolder` that is not whole yet. It stays there when nobody holds it any more,
/// unless there is nothing in it.
package final class PartFile {
  package let name: String
  package private(set) var byteCount: UInt64
  private let folder: DropFolder
  private let descriptor: Int32
  /// It has another name now, or none.
  private var isGone = false

  fileprivate init(
    _ folder: DropFolder, _ name: String, _ descriptor: Int32, byteCount: UInt64
  ) {
    self.folder = folder
    self.name = name
    self.descriptor = descriptor
    self.byteCount = byteCount
  }

  deinit {
    if byteCount == 0, !isGone { folder.remove(name) }
    close(descriptor)
  }

  /// Writes at its end.
  package func append(_ bytes: [UInt8]) throws(ReactorError) {
    var written = 0
    while written < bytes.count {
      let (number, place) = (descriptor, off_t(clamping: byteCount))
      let count = unsafe bytes.withUnsafeBytes { buffer -> Int in
        guard let start = buffer.baseAddress else { return 0 }
        return unsafe pwrite(number, start + written, bytes.count - written, place)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw ReactorError("write", "\(folder.path)/\(name)", errno: errno) }
      written += count
      byteCount += UInt64(count)
    }
  }

  /// Some of it; fewer bytes at its end.
  package func read(at place: UInt64, atMost count: Int) throws(ReactorError) -> [UInt8] {
    try readBytes(descriptor, at: place, atMost: count, of: "\(folder.path)/\(name)")
  }

  /// It is whole.
  ///
  /// - Throws: `EEXIST` where there is anything of that name; it stays as it is then.
  package func place(as name: String) throws(ReactorError) {
    try folder.place(self.name, as: name)
    isGone = true
  }

  /// It is of no use.
  package func remove() {
    folder.remove(name)
    isGone = true
  }
}

/// A file that is read from any place in it.
package final class SourceFile: Sendable {
  package let path: String
  /// As it was when it was opened.
  package let byteCount: UInt64
  private let descriptor: Int32

  /// - Throws: What the kernel says, `EISDIR` for a folder, `EINVAL` for what is no plain file.
  package init(_ path: String) throws(ReactorError) {
    self.path = path
    descriptor = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw ReactorError("read", path, errno: errno) }
    var status = stat()
    let isKnown = unsafe fstat(descriptor, &status) == 0
    guard isKnown, status.st_mode & S_IFMT == S_IFREG else {
      let isFolder = status.st_mode & S_IFMT == S_IFDIR
      close(descriptor)
      throw ReactorError("read", path, errno: isFolder ? EISDIR : EINVAL)
    }
    byteCount = UInt64(clamping: status.st_size)
  }

  deinit { close(descriptor) }

  /// Some of it; fewer bytes at its end.
  package func read(at place: UInt64, atMost count: Int) throws(ReactorError) -> [UInt8] {
    try readBytes(descriptor, at: place, atMost: count, of: path)
  }
}

private func readBytes(
  _ descriptor: Int32, at place: UInt64, atMost count: Int, of path: String
) throws(ReactorError) -> [UInt8] {
  var reason: Int32 = 0
  let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
    while filled < count, let start = buffer.baseAddress {
      let from = off_t(clamping: place + UInt64(filled))
      let number = unsafe pread(descriptor, start + filled, count - filled, from)
      if number < 0, errno == EINTR { continue }
      if number < 0 { reason = errno }
      guard number > 0 else { break }
      filled += number
    }
  }
  guard reason == 0 else { throw ReactorError("read", path, errno: reason) }
  return bytes
}
