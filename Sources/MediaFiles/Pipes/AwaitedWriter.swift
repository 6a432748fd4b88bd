internal import Glibc

/// A hold on a named pipe that somebody writes. Without a writer whoever opens it to read waits
/// without end, and no signal reaches a program that blocks them.
struct AwaitedWriter: ~Copyable {
  private let descriptor: Int32

  /// Waits for the first bytes of a named pipe; of anything else nothing is asked.
  ///
  /// - Parameter patience: In milliseconds.
  init(of path: String, patience: Int32 = usualPatience) throws(MediaFileError) {
    var status = stat()
    guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else {
      descriptor = -1
      return
    }
    let number = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard number >= 0 else { throw .unreadable(path, errorNumber: errno) }
    var wait = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
    guard unsafe poll(&wait, 1, patience) > 0 else {
      _ = close(number)
      throw .unwritten(path)
    }
    descriptor = number
  }

  deinit { if descriptor >= 0 { _ = close(descriptor) } }

  /// Milliseconds: a program that makes sound or pictures has begun by then.
  static let usualPatience: Int32 = 3_000
}
