internal import CLinux
internal import Glibc
internal import Synchronization

/// A file that gets its name with its first content, so that nothing is lost to a call that never
/// was. Until `place()` it lies beside its place as `NAME.new-PID-N`; if `place()` never comes, it
/// is removed. Only its owner may read it. Pipes and devices are opened in place.
package final class PendingFile: Sendable {
  /// As it was given.
  package let path: String
  private let descriptor: Int32
  /// Where it goes: behind symbolic links.
  private let target: String
  private let overwrites: Bool
  /// `nil` once it is in its place.
  private let temporary: Mutex<String?>

  /// Opens it.
  ///
  /// - Parameter overwrites: Whether a regular file that is there may be replaced.
  /// - Throws: `EEXIST` for a file that is there and may not be replaced, and what the kernel says.
  package init(_ path: String, overwrites: Bool) throws(ReactorError) {
    self.path = path
    self.overwrites = overwrites
    switch try Self.place(of: path, overwrites: overwrites) {
    case .special(let flags):
      descriptor = try Self.openSpecial(path, flags)
      target = path
      temporary = Mutex(nil)
    case .regular(let target):
      let (number, name) = try Self.openBeside(target, path)
      descriptor = number
      self.target = target
      temporary = Mutex(name)
      Self.unplaced.withLock { $0.append(name) }
    }
  }

  deinit {
    if let name = temporary.withLock({ $0 }) { Self.discard(name) }
    _ = close(descriptor)
  }

  /// Gives the file its name; harmless when it has it.
  ///
  /// - Throws: When the place was taken meanwhile; the contents then stay under the temporary
  ///   name, which the error tells.
  package func place() throws(ReactorError) {
    guard let name = temporary.withLock({ $0.take() }) else { return }
    Self.unplaced.withLock { names in names.removeAll { $0 == name } }
    let number = overwrites ? Self.replace(name, target) : Self.link(name, target)
    guard number != 0 else { return }
    var error = ReactorError("create", path, errno: number)
    error.reason += "; it is in \(name)"
    throw error
  }

  /// A descriptor of the caller's own for the same open file.
  package func duplicate() throws(ReactorError) -> Int32 {
    let number = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard number >= 0 else { throw ReactorError("create", path, errno: errno) }
    return number
  }

  /// Removes the temporary files of this program that have no content: for a program that ends
  /// without letting go of them.
  package static func discardAll() {
    let names = unplaced.withLock { names in
      defer { names = [] }
      return names
    }
    for name in names { _ = unsafe unlink(name) }
  }

  private static let unplaced = Mutex<[String]>([])

  private static func discard(_ name: String) {
    let isMine = unplaced.withLock { names in
      defer { names.removeAll { $0 == name } }
      return names.contains(name)
    }
    if isMine { _ = unsafe unlink(name) }
  }

  // MARK: - Where

  private enum Place {
    /// Opened as it is, with these flags besides.
    case special(Int32)
    case regular(String)
  }

  private static func place(of path: String, overwrites: Bool) throws(ReactorError) -> Place {
    var status = stat()
    if unsafe stat(path, &status) != 0 {
      guard errno == ENOENT else { throw ReactorError("create", path, errno: errno) }
      // A symbolic link that leads nowhere is something all the same.
      if !overwrites, unsafe lstat(path, &status) == 0 {
        throw ReactorError("create", path, errno: EEXIST)
      }
      return .regular(path)
    }
    if status.st_mode & S_IFMT == S_IFDIR { throw ReactorError("create", path, errno: EISDIR) }
    guard status.st_mode & S_IFMT == S_IFREG else { return .special(0) }
    // /dev/stdout and its kin: a file that the shell has opened for us.
    if path.hasPrefix("/dev/") || path.hasPrefix("/proc/") { return .special(O_APPEND) }
    guard overwrites else { throw ReactorError("create", path, errno: EEXIST) }
    guard unsafe access(path, W_OK) == 0 else { throw ReactorError("create", path, errno: errno) }
    return .regular(resolved(path) ?? path)
  }

  private static func resolved(_ path: String) -> String? {
    guard let found = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(found) }
    return unsafe String(cString: found)
  }

  private static func openBeside(
    _ target: String, _ path: String
  ) throws(ReactorError) -> (Int32, String) {
    for attempt in 0..<100 {
      let name = "\(target).new-\(getpid())-\(attempt)"
      let number = unsafe open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
      if number >= 0 { return (number, name) }
      guard errno == EEXIST else { break }
    }
    throw ReactorError("create", path, errno: errno)
  }

  /// A pipe whose reader has not come yet is waited for only a little: signals wait meanwhile.
  private static func openSpecial(_ path: String, _ flags: Int32) throws(ReactorError) -> Int32 {
    for attempt in 0...readerPatience {
      let number = unsafe open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | flags)
      let reason = errno
      if number >= 0 {
        let status = fcntl(number, F_GETFL)
        _ = fcntl(number, F_SETFL, status & ~O_NONBLOCK)
        return number
      }
      guard reason == ENXIO, attempt < readerPatience else {
        var error = ReactorError("create", path, errno: reason)
        if reason == ENXIO { error.reason = "nobody reads it; start its reader first" }
        throw error
      }
      _ = poll(nil, 0, 20)
    }
    throw ReactorError("create", path, errno: ENXIO)
  }

  /// Times 20 ms.
  private static let readerPatience = 100

  // MARK: - Names; 0, or the kernel's reason

  private static func replace(_ name: String, _ target: String) -> Int32 {
    unsafe rename(name, target) == 0 ? 0 : errno
  }

  private static func link(_ name: String, _ target: String) -> Int32 {
    if unsafe Glibc.link(name, target) == 0 { return unsafe unlink(name) == 0 ? 0 : errno }
    let reason = errno
    // Some file systems have no hard links.
    let isWithoutLinks = [EPERM, EOPNOTSUPP, ENOSYS, EMLINK].contains(reason)
    return isWithoutLinks ? renameNew(name, target) : reason
  }

  /// Renames, and never over anything that is there.
  static func renameNew(_ name: String, _ target: String) -> Int32 {
    let reason = unsafe -earshot_rename_new(AT_FDCWD, name, target)
    // Some file systems cannot do that in one step.
    guard [EINVAL, ENOSYS].contains(reason) else { return reason }
    return unsafe access(target, F_OK) == 0 ? EEXIST : replace(name, target)
  }
}
