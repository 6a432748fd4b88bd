/// Tells code from comments and strings, well enough for rules about Swift text.
enum CodeText {
  /// `text` with every comment and the inside of every string literal turned into spaces. Lines
  /// stay where they are. What is interpolated into a string is blanked with it.
  static func blanked(_ text: String) -> String {
    var scanner = Scanner(bytes: Array(text.utf8))
    return scanner.run()
  }

  private struct Scanner {
    var bytes: [UInt8]
    var index = 0

    mutating func run() -> String {
      while index < bytes.count {
        if starts("//") {
          blank { $0.bytes[$0.index] == newline }
        } else if starts("/*") {
          blankBlockComment()
        } else if bytes[index] == backtick {
          blankIdentifier()
        } else if let hashes = hashesBeforeQuote() {
          index += hashes
          blankString(hashes: hashes)
        } else {
          index += 1
        }
      }
      return String(decoding: bytes, as: UTF8.self)
    }

    func starts(_ word: String, at offset: Int = 0) -> Bool {
      let start = index + offset
      return start + word.utf8.count <= bytes.count && bytes[start...].starts(with: word.utf8)
    }

    /// How many `#` stand before a quote that begins here; `nil` if no string begins here.
    func hashesBeforeQuote() -> Int? {
      var hashes = 0
      while index + hashes < bytes.count, bytes[index + hashes] == UInt8(ascii: "#") { hashes += 1 }
      return index + hashes < bytes.count && bytes[index + hashes] == quote ? hashes : nil
    }

    /// Blanks one byte at a time until `isEnd`, which stays as it is.
    mutating func blank(until isEnd: (Scanner) -> Bool) {
      while index < bytes.count, !isEnd(self) { blankOne() }
    }

    mutating func blankOne() {
      if bytes[index] != newline { bytes[index] = space }
      index += 1
    }

    /// A comment, and the comments inside it.
    mutating func blankBlockComment() {
      var depth = 0
      repeat {
        if starts("/*") {
          depth += 1
          blankOne()
        } else if starts("*/") {
          depth -= 1
          blankOne()
        }
        blankOne()
      } while depth > 0 && index < bytes.count
    }

    /// An identifier in backticks, such as the sentence that names a test.
    mutating func blankIdentifier() {
      index += 1
      blank { $0.bytes[$0.index] == backtick || $0.bytes[$0.index] == newline }
      index += 1
    }

    mutating func blankString(hashes: Int) {
      let mark = String(repeating: "#", count: hashes)
      let quotes = starts("\"\"\"") ? "\"\"\"" : "\""
      index += quotes.utf8.count
      var depth = 0  // of parentheses inside an interpolation
      while index < bytes.count {
        if depth == 0, starts(quotes + mark) { break }
        if depth == 0, quotes.utf8.count == 1, bytes[index] == newline { break }
        if starts("\\" + mark + "(") {
          for _ in 0..<(1 + hashes) { blankOne() }
          depth += 1
        } else if depth > 0, starts("(") {
          depth += 1
        } else if depth > 0, starts(")") {
          depth -= 1
        } else if depth > 0, starts("\"") {
          blankString(hashes: 0)
          continue
        } else if starts("\\" + mark) {
          for _ in 0..<(1 + hashes) { blankOne() }
        }
        if index < bytes.count { blankOne() }
      }
      index += quotes.utf8.count + hashes
    }
  }

  private static let newline = UInt8(ascii: "\n")
  private static let space = UInt8(ascii: " ")
  private static let quote = UInt8(ascii: "\"")
  private static let backtick = UInt8(ascii: "`")
}
