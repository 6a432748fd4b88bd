internal import Glibc
internal import Primitives

/// The right to change a file, held against other programs until it goes. The lock is on a file
/// beside it, which stays: who changes the file may put a new one in its place. The number of the
/// process that has it stands in there.
package final class FileLock {
  private let descriptor: Int32

  /// Waits until whoever has it is done, in steps of milliseconds.
  ///
  /// - Parameters:
  ///   - path: Of the file to change.
  ///   - limit: No longer; then the error says who has it.
  package init(_ path: String, within limit: Duration = .seconds(3)) throws(ReactorError) {
    let name = path + ".lock"
    let number = unsafe open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard number >= 0 else { throw ReactorError("open", name, errno: errno) }
    let end = SystemClock.now + limit
    while flock(number, LOCK_EX | LOCK_NB) != 0 {
      let reason = errno
      if reason == EINTR { continue }
      if reason == EWOULDBLOCK, SystemClock.now < end {
        usleep(Self.step)
        continue
      }
      let holder = Self.holder(number)
      _ = close(number)
      guard reason == EWOULDBLOCK else { throw ReactorError("lock", name, errno: reason) }
      throw ReactorError(
        "lock", name, errno: reason,
        reason: "\(holder) has had it for \(limit.milliseconds / 1000) s")
    }
    descriptor = number
    let mark = Array("\(getpid())\n".utf8)
    // Without it the next one only knows less.
    _ = ftruncate(number, 0)
    _ = unsafe pwrite(number, mark, mark.count, 0)
  }

  private static func holder(_ number: Int32) -> String {
    var bytes = [UInt8](repeating: 0, count: 16)
    let count = unsafe pread(number, &bytes, bytes.count, 0)
    let digits = bytes.prefix(max(0, count)).prefix { (48...57).contains($0) }
    guard !digits.isEmpty else { return "another program" }
    return "process \(String(decoding: digits, as: UTF8.self))"
  }

  /// Between two tries, µs.
  private static let step: UInt32 = 5_000

  deinit { _ = close(descriptor) }
}
