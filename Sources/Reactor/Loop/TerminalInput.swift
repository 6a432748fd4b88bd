internal import CLinux
internal import Glibc

/// Single keys from the terminal, while a call runs.
///
/// The terminal is put back when this stops, when the program exits, and when a signal ends it.
package final class TerminalInput {
  private let loop: EventLoop
  private var token: EventLoop.Token?

  /// Calls `onKey` on the loop with each letter typed. `nil` when standard input is not a terminal
  /// or belongs to another job: then there is nothing to read keys from.
  package init?(on loop: EventLoop, onKey: @escaping (Character) -> Void) throws(ReactorError) {
    guard earshot_terminal_enter_raw_mode() == 0 else { return nil }
    self.loop = loop
    do throws(ReactorError) {
      token = try loop.watch(STDIN_FILENO, for: .readable) { [weak self] _ in
        guard let bytes = Self.readBytes() else {
          self?.stop()
          return
        }
        for key in Self.keys(in: bytes) { onKey(key) }
      }
    } catch {
      earshot_terminal_leave_raw_mode()
      throw error
    }
  }

  /// Stops reading and puts the terminal back.
  package func stop() {
    if let token { loop.unwatch(token) }
    token = nil
    earshot_terminal_leave_raw_mode()
  }

  /// Whether standard input is a terminal.
  package static var isAvailable: Bool { isatty(STDIN_FILENO) == 1 }

  /// The width of the terminal behind standard error; `nil` when it is none.
  package static var columnCount: Int? {
    let count = earshot_terminal_column_count(STDERR_FILENO)
    return count > 0 ? Int(count) : nil
  }

  /// What was typed; `nil` at the end of the input.
  private static func readBytes() -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = unsafe read(STDIN_FILENO, &bytes, bytes.count)
    guard count > 0 else { return count < 0 && errno == EINTR ? [] : nil }
    return Array(bytes[..<count])
  }

  /// The printable ASCII letters, Enter as "\n" and erasing as "\u{8}"; what follows an escape
  /// (arrows, function keys) is left out.
  static func keys(in bytes: [UInt8]) -> [Character] {
    bytes.prefix { $0 != 0x1B }.compactMap { byte in
      switch byte {
      case 0x0A, 0x0D: "\n"
      case 0x08, 0x7F: "\u{8}"
      case 0x20..<0x7F: Character(UnicodeScalar(byte))
      default: nil
      }
    }
  }
}
