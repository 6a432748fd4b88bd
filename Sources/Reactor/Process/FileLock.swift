internal import Glibc

/// The right to change a file, held against other programs until it goes. The lock is on a file
/// beside it, which stays: who changes the file may put a new one in its place.
package final class FileLock {
  private let descriptor: Int32

  /// Waits until whoever has it is done.
  ///
  /// - Parameter path: Of the file to change.
  package init(_ path: String) throws(ReactorError) {
    let name = path + ".lock"
    let number = unsafe open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard number >= 0 else { throw ReactorError("open", name, errno: errno) }
    while flock(number, LOCK_EX) != 0 {
      if errno == EINTR { continue }
      let reason = errno
      _ = close(number)
      throw ReactorError("lock", name, errno: reason)
    }
    descriptor = number
  }

  deinit { _ = close(descriptor) }
}
