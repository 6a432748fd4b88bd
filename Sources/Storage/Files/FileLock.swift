internal import Glibc

/// The right to change a file, held against other processes until released.
struct FileLock {
  private let number: Int32

  init(_ path: String) throws(StorageError) {
    number = try Self.open(path)
    while flock(number, LOCK_EX) != 0 {
      if errno == EINTR { continue }
      let reason = errno
      _ = close(number)
      throw .kernel("lock", path, errno: reason)
    }
  }

  /// A link is not followed, and only what is made here is given away: whose directory it is could
  /// have put any other file in its place.
  private static func open(_ path: String) throws(StorageError) -> Int32 {
    let flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW
    for _ in 0..<10 {
      let made = unsafe Glibc.open(path, flags | O_CREAT | O_EXCL, PrivateFile.ownerOnly)
      if made >= 0 {
        if let owner = PrivateFile.directoryOwner(of: path) { PrivateFile.give(made, to: owner) }
        return made
      }
      guard errno == EEXIST else { break }
      let present = unsafe Glibc.open(path, flags)
      if present >= 0 { return present }
      guard errno == ENOENT else { break }
    }
    throw .kernel("open", path, errno: errno)
  }

  func release() { _ = close(number) }
}
