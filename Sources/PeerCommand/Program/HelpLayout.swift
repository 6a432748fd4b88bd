/// Sets the texts of `--help` within a width: paragraphs, options with their descriptions beside
/// them, and examples.
package enum HelpLayout {
  /// What a terminal has without being asked.
  package static let columns = 80

  /// The same text with no line longer than `columns`, and none shorter than it need be.
  package static func fit(_ text: String, columns: Int = HelpLayout.columns) -> String {
    var blocks: [Block] = []
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let next = Block(line)
      if let last = blocks.last, last.isContinued(by: next) {
        blocks[blocks.count - 1].words += next.words
      } else {
        blocks.append(next)
      }
    }
    return blocks.flatMap { $0.lines(columns) }.joined(separator: "\n")
  }

  /// What is wrapped as one.
  private struct Block {
    enum Kind {
      case blank
      case paragraph
      case option
      case command
    }

    var kind: Kind
    /// Columns before the first line.
    var indent: Int
    /// Columns before the others.
    var hang: Int
    /// What stands before the first word, `hang` columns wide.
    var head = ""
    var words: [Substring]

    init(_ line: Substring) {
      indent = line.prefix { $0 == " " }.count
      hang = indent
      words = line.split(separator: " ")
      kind = words.isEmpty ? .blank : .paragraph
      let body = line.dropFirst(indent)
      // A line of a text, or of an option's, may begin with the program's name too.
      let isFurther = body.hasPrefix("earshot") && (1..<20).contains(indent)
      if body.hasPrefix("usage:") || body.hasPrefix("example:") || isFurther {
        kind = .command
        hang = 15
      }
      guard indent >= 2, indent < 20, let gap = body.firstRange(of: "  ") else { return }
      let rest = body[gap.lowerBound...].drop { $0 == " " }
      kind = .option
      hang = body.distance(from: body.startIndex, to: rest.startIndex) + indent
      head = String(line.prefix(hang))
      words = rest.split(separator: " ")
    }

    func isContinued(by next: Block) -> Bool {
      switch kind {
      case .blank: false
      case .paragraph: next.kind == .paragraph && next.indent == indent
      case .option: next.kind == .paragraph && next.indent >= 20
      case .command: next.kind == .paragraph && next.indent >= 15
      }
    }

    func lines(_ columns: Int) -> [String] {
      var lines: [String] = []
      var line = kind == .option ? head : String(repeating: " ", count: indent)
      var isFresh = true
      for word in words {
        if !isFresh, line.count + 1 + word.count > columns {
          lines.append(line)
          line = String(repeating: " ", count: hang)
          isFresh = true
        }
        line += (isFresh ? "" : " ") + word
        isFresh = false
      }
      return lines + [kind == .blank ? "" : line]
    }
  }
}
