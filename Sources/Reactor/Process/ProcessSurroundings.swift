internal import CLinux
internal import Glibc

/// What the shell gave the program.
package enum ProcessSurroundings {
  /// A variable of the environment; `nil` when it is not set.
  package static func variable(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    return unsafe String(cString: value)
  }

  /// What this host calls itself; empty where it does not say.
  package static var hostName: String {
    var name = [CChar](repeating: 0, count: 256)
    let count = name.count - 1
    guard unsafe gethostname(&name, count) == 0 else { return "" }
    return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// Keeps the numbers of standard streams that are closed from going to the next file that is
  /// opened, into which lines and pages would then be written. Call it first thing in `main`.
  /// Writing to such a stream goes on to fail, and so does reading.
  package static func holdStandardStreams() {
    for number in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(number, F_GETFD) < 0 {
      // The lowest free number is this one.
      _ = unsafe open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }

  /// A reader that went away, or a file that may not grow (`ulimit -f`), is an error of the write,
  /// not the end of the program.
  package static func ignoreWriteSignals() {
    _ = signal(SIGPIPE, SIG_IGN)
    _ = signal(SIGXFSZ, SIG_IGN)
  }

  /// Keys stay out of core dumps and out of reach of a debugger of the same user. Where a system
  /// refuses that (some containers), the program goes on.
  package static func protectMemory() { _ = earshot_forbid_core_dumps() }

  /// Whether there is anything under this name, be it a link that leads nowhere.
  package static func isThere(_ path: String) -> Bool {
    var status = stat()
    return unsafe lstat(path, &status) == 0
  }

  /// The first bytes of a file, at most `limit` of them.
  ///
  /// - Parameter patience: How long a named pipe that nobody writes is waited for, in ms.
  package static func contents(
    of path: String, limit: Int, patience: Int32 = 3000
  ) throws(ReactorError) -> [UInt8] {
    let number = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard number >= 0 else { throw ReactorError("read", path, errno: errno) }
    defer { _ = close(number) }
    var bytes: [UInt8] = []
    var status = stat()
    if unsafe fstat(number, &status) == 0 {
      bytes.reserveCapacity(min(limit, Int(clamping: status.st_size)))
      if status.st_mode & S_IFMT == S_IFIFO { try awaitWriter(number, path, &bytes, patience) }
    }
    _ = fcntl(number, F_SETFL, 0)
    var part = [UInt8](repeating: 0, count: 65_536)
    while bytes.count < limit {
      let wanted = min(part.count, limit - bytes.count)
      let count = unsafe read(number, &part, wanted)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw ReactorError("read", path, errno: errno) }
      if count == 0 { break }
      bytes.append(contentsOf: part[..<count])
    }
    return bytes
  }

  /// Waits for somebody who writes a pipe, then for each byte without end, as of any other file.
  ///
  /// - Parameter bytes: The first one, if it is there.
  private static func awaitWriter(
    _ number: Int32, _ path: String, _ bytes: inout [UInt8], _ patience: Int32
  ) throws(ReactorError) {
    var first: UInt8 = 0
    var count = unsafe read(number, &first, 1)
    if count == 0 {
      var wait = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
      guard unsafe poll(&wait, 1, patience) > 0 else {
        throw ReactorError("read", path, reason: "it is a pipe into which nobody writes")
      }
      count = unsafe read(number, &first, 1)
    }
    if count == 1 { bytes.append(first) }
  }
}
