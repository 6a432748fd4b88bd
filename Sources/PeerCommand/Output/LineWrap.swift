internal import Reactor

/// Breaks what is said between words, where the terminal would break it inside them.
package enum LineWrap {
  /// The same text with lines of at most so many columns, but for words that are longer. What
  /// follows a break stands below the text that it belongs to.
  package static func wrapped(_ text: String, columns: Int) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false)
      .map { $0.count <= columns ? String($0) : wrapped($0, columns) }.joined(separator: "\n")
  }

  /// What is written to `output`: in the letters that the locale has, and on a terminal in its
  /// width. Letters first: `±` has three in ASCII.
  static func fitted(_ text: String, to output: OutputFile = .standardOutput) -> String {
    let text = PlainLetters.isWanted ? PlainLetters.of(text) : text
    return columns(of: output).map { wrapped(text, columns: $0) } ?? text
  }

  /// The width of a terminal; `nil` for what is none.
  static func columns(of output: OutputFile = .standardOutput) -> Int? {
    output.isTerminal ? TerminalInput.columnCount ?? 80 : nil
  }

  private static func wrapped(_ line: Substring, _ columns: Int) -> String {
    let hang = min(hang(line), columns / 2)
    var lines: [String] = []
    var current = String(line.prefix(hang))
    var isFresh = true
    for word in line.dropFirst(hang).split(separator: " ") {
      if !isFresh, current.count + 1 + word.count > columns {
        lines.append(current)
        current = String(repeating: " ", count: hang == 0 ? 2 : hang)
        isFresh = true
      }
      current += (isFresh ? "" : " ") + word
      isFresh = false
    }
    return (lines + [current]).joined(separator: "\n")
  }

  /// The column at which the text of a line begins: behind its indent, and behind a title that two
  /// spaces or more set apart.
  private static func hang(_ line: Substring) -> Int {
    let indent = line.prefix { $0 == " " }.count
    let body = line.dropFirst(indent)
    guard let gap = body.firstRange(of: "  ") else { return indent }
    let title = body.distance(from: body.startIndex, to: gap.lowerBound)
    guard indent + title <= mostTitle else { return indent }
    return indent + title + body[gap.lowerBound...].prefix { $0 == " " }.count
  }

  /// Columns that a title may have.
  private static let mostTitle = 20
}
