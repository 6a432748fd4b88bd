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
    let indent = hang == 0 ? 2 : hang
    var lines: [String] = []
    var current = String(line.prefix(hang))
    var isFresh = true
    for part in parts(line.dropFirst(hang)) {
      for (index, word) in part.words.enumerated() {
        let space = isFresh ? 0 : index == 0 ? part.gap : 1
        // A part that fits on a line of its own stays whole.
        let isWhole = index == 0 && indent + part.count <= columns
        let length = isWhole ? part.count : word.count
        if !isFresh, current.count + space + length > columns {
          lines.append(current)
          // A long word begins further to the left, before it is broken.
          let room = min(indent, max(0, columns - word.count))
          current = String(repeating: " ", count: room) + word
        } else {
          current += String(repeating: " ", count: space) + word
        }
        isFresh = false
      }
    }
    return (lines + [current]).joined(separator: "\n")
  }

  /// What two spaces or more set apart from the rest of its line.
  private struct Part {
    /// Spaces before it.
    var gap: Int
    var words: [Substring]
    var count: Int { words.reduce(words.count - 1) { $0 + $1.count } }
  }

  private static func parts(_ text: Substring) -> [Part] {
    var parts: [Part] = []
    var gap = 2
    for word in text.split(separator: " ", omittingEmptySubsequences: false) {
      if word.isEmpty {
        gap += 1
      } else if gap == 1, let last = parts.indices.last {
        parts[last].words.append(word)
      } else {
        parts.append(Part(gap: max(gap, 1), words: [word]))
        gap = 1
      }
    }
    return parts
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
