internal import CLinux
internal import Glibc
internal import Primitives
internal import Synchronization

/// A file that text is written to as it comes, or one of the standard streams. Nothing is held
/// back: what was written is there, whatever becomes of the program.
package final class OutputFile: Sendable {
  /// As a person would name it.
  package let name: String
  private let number: Int32
  private let isOwned: Bool
  /// Gets its name with the first thing written.
  private let pending: PendingFile?
  /// Bytes of one write where it could wait for a reader without end; `nil` for plain files. A pipe
  /// that has room takes as many at once (pipe(7), PIPE_BUF), a terminal as good as always.
  private let piece: Int?
  /// Nobody took anything for `patience`. Further writes do not wait.
  private let isStalled = Atomic(false)

  /// How long a write to a pipe or a terminal waits for its reader, who may have stopped (a pager,
  /// Ctrl-S): the loop waits with it, and signals, keys and the end of a call are served by the
  /// loop. Our choice: longer than a busy host keeps a reader from running.
  package static let patience = Duration.seconds(2)

  private init(name: String, number: Int32, isOwned: Bool, pending: PendingFile? = nil) {
    self.name = name
    self.number = number
    self.isOwned = isOwned
    self.pending = pending
    var status = stat()
    let isKnown = unsafe fstat(number, &status) == 0
    let kind = status.st_mode & S_IFMT
    let isPipe = isKnown && (kind == S_IFIFO || kind == S_IFSOCK)
    piece = isPipe ? 4096 : isatty(number) == 1 ? 512 : nil
  }

  package static let standardOutput = OutputFile(
    name: "standard output", number: STDOUT_FILENO, isOwned: false)
  package static let standardError = OutputFile(
    name: "standard error", number: STDERR_FILENO, isOwned: false)

  /// Makes the file, for its owner only, or empties the one there is.
  package convenience init(creating path: String) throws(ReactorError) {
    let number = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard number >= 0 else { throw ReactorError("create", path, errno: errno) }
    self.init(name: path, number: number, isOwned: true)
  }

  /// A file that comes to be with the first thing written to it.
  package convenience init(_ pending: PendingFile) throws(ReactorError) {
    self.init(
      name: pending.path, number: try pending.duplicate(), isOwned: true, pending: pending)
  }

  deinit { if isOwned { _ = close(number) } }

  /// Whether a person sees it at once.
  package var isTerminal: Bool { isatty(number) == 1 }

  /// Sends out what `print` holds back.
  ///
  /// - Throws: what the kernel said to this or an earlier part of it.
  package static func flushPrinted() throws(ReactorError) {
    _ = try earshot_flush_output().orThrow("write", standardOutput.name)
  }

  /// Writes all of `text`, or throws what the kernel said; a part of it may then be written.
  ///
  /// - Throws: `ETIMEDOUT` where nobody takes it, after `patience` the first time, then at once.
  package func write(_ text: String) throws(ReactorError) { try write(Array(text.utf8)) }

  /// The same of bytes.
  package func write(_ bytes: [UInt8]) throws(ReactorError) {
    var written = 0
    while written < bytes.count {
      let (number, place) = (number, written)
      let length = min(bytes.count - place, piece ?? .max)
      try waitForRoom()
      let count = unsafe bytes.withUnsafeBytes { buffer -> Int in
        guard let start = buffer.baseAddress else { return 0 }
        return unsafe Glibc.write(number, start + place, length)
      }
      if count < 0, errno == EINTR { continue }
      let reason = errno
      if count > 0 { try pending?.place() }
      guard count > 0 else { throw ReactorError("write", name, errno: reason) }
      written += count
    }
  }

  private func waitForRoom() throws(ReactorError) {
    guard piece != nil else { return }
    let isStalled = isStalled.load(ordering: .relaxed)
    let wait = isStalled ? 0 : Int32(clamping: Self.patience.milliseconds)
    var entry = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
    var count = unsafe poll(&entry, 1, wait)
    while count < 0, errno == EINTR { count = unsafe poll(&entry, 1, wait) }
    // An error is told by the write.
    let hasRoom = count != 0
    if hasRoom == isStalled { self.isStalled.store(!hasRoom, ordering: .relaxed) }
    guard hasRoom else {
      var error = ReactorError("write", name, errno: ETIMEDOUT)
      error.reason = "its reader takes nothing"
      throw error
    }
  }
}
