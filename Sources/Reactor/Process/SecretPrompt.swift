internal import Glibc

/// A secret that a person types at the terminal, unseen.
package enum SecretPrompt {
  package enum Answer: Equatable, Sendable {
    case typed([UInt8])
    /// Ctrl-C, Ctrl-D, or the terminal went away.
    case interrupted
    /// There is nobody to ask.
    case noTerminal
  }

  /// Asks on the terminal of this process, whatever its standard streams are.
  package static func ask(_ question: String, limit: Int) -> Answer {
    let number = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard number >= 0 else { return .noTerminal }
    defer { _ = close(number) }
    var before = termios()
    guard unsafe tcgetattr(number, &before) == 0 else { return .noTerminal }
    var quiet = before
    // Keys one by one: signals are blocked in this program, so Ctrl-C is read as a key.
    quiet.c_lflag &= ~UInt32(ECHO | ICANON | ISIG)
    _ = unsafe tcsetattr(number, TCSAFLUSH, &quiet)
    defer {
      _ = unsafe tcsetattr(number, TCSAFLUSH, &before)
      put("\n", to: number)
    }
    put(question, to: number)
    return line(from: number, limit: limit)
  }

  private static func line(from number: Int32, limit: Int) -> Answer {
    var line: [UInt8] = []
    while true {
      var byte: UInt8 = 0
      let count = unsafe read(number, &byte, 1)
      if count < 0, errno == EINTR { continue }
      guard count == 1 else { return .interrupted }
      switch byte {
      case 10, 13: return .typed(line)
      case 3, 4: return .interrupted
      case 8, 127: if !line.isEmpty { line.removeLast() }
      default: if line.count < limit { line.append(byte) }
      }
    }
  }

  private static func put(_ text: String, to number: Int32) {
    let bytes = Array(text.utf8)
    _ = unsafe write(number, bytes, bytes.count)
  }
}
