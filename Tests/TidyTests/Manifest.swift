/// What Package.swift says of targets, read from its text.
struct Manifest {
  struct Target: Equatable {
    var name: String
    var imports: Set<String>
  }

  /// Targets made by `layer`, `program` and `clang`, in the manifest's order; tests are not among
  /// them, nor what has a path of its own, below Tests or tools.
  var targets: [Target] = []

  init(text: String) {
    let code = CodeText.blanked(text)
    for keyword in ["clang(\"", "layer(\"", "program(\"", "layer(\n", "program(\n"] {
      var start = code.startIndex
      while let range = code[start...].firstRange(of: keyword) {
        start = range.upperBound
        let offset = code.utf8.distance(from: code.startIndex, to: range.lowerBound)
        let call = Self.call(in: text, code: code, at: offset)
        let names = Self.strings(in: call)
        guard let name = names.first, !call.contains("path:") else { continue }
        let imports = keyword.hasPrefix("clang") ? [] : names.dropFirst()
        targets.append(Target(name: name, imports: Set(imports)))
      }
    }
  }

  /// The text of a call from its name to its closing bracket.
  private static func call(in text: String, code: String, at offset: Int) -> Substring {
    let start = text.utf8.index(text.startIndex, offsetBy: offset)
    var depth = 0
    var length = 0
    for byte in code.utf8.dropFirst(offset) {
      length += 1
      if byte == UInt8(ascii: "(") { depth += 1 }
      if byte == UInt8(ascii: ")") {
        depth -= 1
        if depth == 0 { break }
      }
    }
    return text[start..<text.utf8.index(start, offsetBy: length)]
  }

  private static func strings(in call: Substring) -> [String] {
    let parts = call.split(separator: "\"", omittingEmptySubsequences: false)
    return parts.enumerated().compactMap { $0.offset % 2 == 1 ? String($0.element) : nil }
  }
}

/// A row of the table in docs/ARCHITECTURE.md §2.
struct DocumentedTarget {
  var level: Int
  var name: String
  var imports: Set<String>

  /// Rows of the form `| level | target | responsibility | may import |`.
  static func all(in text: String) -> [DocumentedTarget] {
    text.split(separator: "\n").flatMap { line -> [DocumentedTarget] in
      let cells = line.split(separator: "|", omittingEmptySubsequences: false)
      guard cells.count == 6,
        let level = Int(cells[1].filter { $0 != " " })
      else { return [] }
      let imports = Set(ticked(cells[4]))
      return ticked(cells[2]).map { DocumentedTarget(level: level, name: $0, imports: imports) }
    }
  }

  /// The words between backticks.
  static func ticked(_ cell: Substring) -> [String] {
    let parts = cell.split(separator: "`", omittingEmptySubsequences: false)
    return parts.enumerated().compactMap { $0.offset % 2 == 1 ? String($0.element) : nil }
  }
}
