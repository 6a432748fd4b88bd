/// A function of a source file and where it stands.
struct Function {
  var name: String
  /// Index of the line with `func` or `init`.
  var firstLine: Int
  /// From that line to the closing brace, both counted.
  var lineCount: Int

  /// All functions and initialisers with a body, in order; nested ones as well.
  static func all(in file: SourceFile) -> [Function] {
    file.code.indices.compactMap { index in
      guard let name = sentence(in: file.lines[index]) ?? name(in: file.code[index]),
        let last = lastLine(of: file.code, from: index)
      else { return nil }
      return Function(name: name, firstLine: index, lineCount: last - index + 1)
    }
  }

  /// The name in backticks of a test.
  private static func sentence(in line: String) -> String? {
    let parts = line.split(separator: "`", omittingEmptySubsequences: false)
    return parts.count == 3 && parts[0].hasSuffix("func ") ? String(parts[1]) : nil
  }

  private static func name(in line: String) -> String? {
    let words = line.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init)
    if let keyword = words.firstIndex(of: "func") {
      return keyword + 1 < words.count ? words[keyword + 1] : "operator"
    }
    let trimmed = line.drop { $0 == " " }
    let beforeBracket = trimmed.prefix { $0 != "(" && $0 != "<" }
    let last = beforeBracket.split(separator: " ").last ?? ""
    guard ["init", "init?", "deinit"].contains(last), !trimmed.hasPrefix("self."),
      beforeBracket.allSatisfy({ $0.isLetter || $0 == " " || $0 == "?" })
    else { return nil }
    return String(last)
  }

  /// Follows brackets from a declaration to the end of its body; `nil` if it has none.
  private static func lastLine(of code: [String], from start: Int) -> Int? {
    var braces = 0
    var brackets = 0
    for index in start..<code.count {
      if index > start, braces == 0, brackets == 0, beginsDeclaration(code[index]) { return nil }
      for letter in code[index] {
        switch letter {
        case "(", "[": brackets += 1
        case ")", "]": brackets -= 1
        case "{": braces += 1
        case "}":
          braces -= 1
          if braces == 0, brackets == 0 { return index }
          if braces < 0 { return nil }
        default: break
        }
      }
    }
    return nil
  }

  private static func beginsDeclaration(_ line: String) -> Bool {
    let words = line.split { !($0.isLetter || $0 == "@") }
    return words.contains { ["func", "var", "let", "init", "case", "associatedtype"].contains($0) }
  }
}
