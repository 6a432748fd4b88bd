internal import CLinux
internal import Glibc

/// A descriptor that another program reads from or writes to at a pace of its own, used without
/// ever waiting for it.
package struct PipeEnd: Sendable {
  package let descriptor: Int32
  /// Only of a pipe is it known how much nobody has read yet.
  private let isPipe: Bool

  package static let standardInput = PipeEnd(descriptor: STDIN_FILENO)
  package static let standardOutput = PipeEnd(descriptor: STDOUT_FILENO)

  /// - Parameter descriptor: open as long as this is used.
  package init(descriptor: Int32) {
    self.descriptor = descriptor
    var status = stat()
    isPipe = unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
  }

  /// Whether a person sits there.
  package var isTerminal: Bool { isatty(descriptor) == 1 }

  /// What a read came to.
  package enum Read: Equatable, Sendable {
    case bytes(Int)
    /// Nothing has come.
    case nothing
    case end
    /// With the kernel's number.
    case failed(Int32)
  }

  /// What is there now, at most `limit` bytes, at the front of `bytes`.
  package func readNow(into bytes: inout [UInt8], limit: Int) -> Read {
    wait(milliseconds: 0) ? read(into: &bytes, limit: limit) : .nothing
  }

  /// Whether there is something to read, or the end, within so long; -1 waits for ever.
  package func wait(milliseconds: Int32) -> Bool { has(Int16(POLLIN), within: milliseconds) }

  /// Gives `body` what comes, piece by piece, on a thread of its own until `body` says `false`, or
  /// it was given the end or a failure.
  package func follow(
    named name: String,
    _ body: @escaping @Sendable (_ bytes: borrowing [UInt8], _ read: Read) -> Bool
  ) throws(ReactorError) {
    _ = try startThread(named: name) {
      // A page is what a pipe gives at once.
      var bytes = [UInt8](repeating: 0, count: 4096)
      while true {
        let read = read(into: &bytes, limit: bytes.count)
        guard body(bytes, read), case .bytes = read else { return }
      }
    }
  }

  /// Bytes in the pipe that nobody has read; 0 for what is no pipe.
  package var heldByteCount: Int {
    guard isPipe else { return 0 }
    var count: Int32 = 0
    return unsafe earshot_bytes_held(descriptor, &count) == 0 ? Int(count) : 0
  }

  /// Writes the first `count` of `bytes`, at most 4096, all or none.
  ///
  /// - Returns: `false` where there is no room now.
  package func writeNow(_ bytes: borrowing [UInt8], count: Int) throws(ReactorError) -> Bool {
    // A pipe that can be written to has room for a page (pipe(7): PIPE_BUF bytes go at once).
    guard count <= 4096, has(Int16(POLLOUT), within: 0) else { return false }
    let written = unsafe bytes.span.extracting(0..<count).withUnsafeBufferPointer {
      unsafe Glibc.write(descriptor, $0.baseAddress, count)
    }
    guard written < 0 else { return true }
    if errno == EAGAIN || errno == EINTR { return false }
    throw ReactorError("write", "standard output", errno: errno)
  }

  private func read(into bytes: inout [UInt8], limit: Int) -> Read {
    while true {
      let wanted = min(limit, bytes.count)
      let count = unsafe bytes.withUnsafeMutableBytes {
        unsafe Glibc.read(descriptor, $0.baseAddress, wanted)
      }
      if count > 0 { return .bytes(count) }
      if count == 0 { return .end }
      if errno == EAGAIN {
        _ = wait(milliseconds: -1)
      } else if errno != EINTR {
        return .failed(errno)
      }
    }
  }

  private func has(_ events: Int16, within milliseconds: Int32) -> Bool {
    var entry = pollfd(fd: descriptor, events: events, revents: 0)
    return unsafe poll(&entry, 1, milliseconds) > 0
  }
}
