import Glibc
import Primitives

/// A file, or standard output or error, that lines are written to. What cannot be written is
/// dropped and counted: a full disk must not stop the server.
final class LineOutput {
  private let number: Int32
  private let isOwned: Bool
  private(set) var failedLineCount = 0

  private init(number: Int32, isOwned: Bool) {
    self.number = number
    self.isOwned = isOwned
  }

  static var standardOutput: LineOutput { LineOutput(number: 1, isOwned: false) }
  static var standardError: LineOutput { LineOutput(number: 2, isOwned: false) }

  /// Opens `path` to append to, for its owner only; `nil` when that cannot be done (see `errno`).
  convenience init?(appendingTo path: String) {
    let number = unsafe open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard number >= 0 else { return nil }
    self.init(number: number, isOwned: true)
  }

  deinit { if isOwned { _ = close(number) } }

  func write(_ line: String) {
    var bytes = Array(line.utf8)
    bytes.append(UInt8(ascii: "\n"))
    var written = 0
    while written < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { bytes in
        unsafe Glibc.write(
          number, bytes.baseAddress?.advanced(by: written), bytes.count - written)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        failedLineCount += 1
        return
      }
      written += count
    }
  }
}

/// The log on standard error: at most one line a reason and second.
struct Log {
  var level: ServeOptions.LogLevel
  private var lastLines: [String: UInt64] = [:]

  init(level: ServeOptions.LogLevel) { self.level = level }

  /// - Parameter reason: What kind of line it is; few, and known beforehand.
  mutating func write(
    _ lineLevel: ServeOptions.LogLevel, _ reason: String, _ text: String, now: Instant
  ) {
    guard lineLevel.rawValue <= level.rawValue else { return }
    let second = now.nanoseconds / 1_000_000_000
    guard lastLines[reason] != second else { return }
    lastLines[reason] = second
    LineOutput.standardError.write("earshot-rendezvous: \(lineLevel): \(Printable.only(text))")
  }
}

/// JSON Lines: `type` and `ts` first, keys in a stable order.
enum JSONLine {
  enum Value {
    case text(String)
    case number(Int)
    case flag(Bool)
  }

  static func make(
    _ type: String, wallNanoseconds: UInt64? = nil, _ fields: [(String, Value)] = []
  ) -> String {
    var line = "{\"type\":\(quote(type))"
    if let wallNanoseconds {
      line += ",\"ts\":\"\(Timestamp.text(wallNanoseconds: wallNanoseconds))\""
    }
    for (key, value) in fields {
      line += ",\(quote(key)):"
      switch value {
      case .text(let text): line += quote(text)
      case .number(let number): line += String(number)
      case .flag(let flag): line += flag ? "true" : "false"
      }
    }
    return line + "}"
  }

  static func quote(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars { Printable.appendJSON(scalar, to: &quoted) }
    return quoted + "\""
  }
}
