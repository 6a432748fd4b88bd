internal import CLinux
internal import Glibc

/// A file that text is written to as it comes, or one of the standard streams. Nothing is held
/// back: what was written is there, whatever becomes of the program.
package final class OutputFile: Sendable {
  /// As a person would name it.
  package let name: String
  private let number: Int32
  private let isOwned: Bool
  /// Gets its name with the first thing written.
  private let pending: PendingFile?

  private init(name: String, number: Int32, isOwned: Bool, pending: PendingFile? = nil) {
    self.name = name
    self.number = number
    self.isOwned = isOwned
    self.pending = pending
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

  /// Writes all of `text`, or throws what the kernel said; a part of it may then be written.
  package func write(_ text: String) throws(ReactorError) { try write(Array(text.utf8)) }

  /// The same of bytes.
  package func write(_ bytes: [UInt8]) throws(ReactorError) {
    var written = 0
    while written < bytes.count {
      let number = number
      let count = unsafe bytes.withUnsafeBytes { buffer -> Int in
        guard let start = buffer.baseAddress else { return 0 }
        return unsafe Glibc.write(number, start + written, bytes.count - written)
      }
      if count < 0, errno == EINTR { continue }
      let reason = errno
      if count > 0 { try pending?.place() }
      guard count > 0 else { throw ReactorError("write", name, errno: reason) }
      written += count
  /// Sends out what `print` holds back.
  ///
  /// - Throws: what the kernel said to this or an earlier part of it.
  package static func flushPrinted() throws(ReactorError) {
    _ = try earshot_flush_output().orThrow("write", standardOutput.name)
  }

    }
  }
}
