/// What one type has over its declaration and all its extensions in one target.
struct TypeBody {
  /// `Target.Outer.Inner`.
  var name: String
  /// Properties that take room: neither static nor computed.
  var storedProperties = 0
  /// From its declarations to their closing braces, without the types that stand inside.
  var lineCount = 0
  var isClass = false
  var hasMutatingMethods = false

  /// A plain record of numbers, limits or constants: it has no rules of its own.
  var isRecord: Bool { !isClass && !hasMutatingMethods }

  /// All types of some files, by name.
  static func all(in files: [SourceFile]) -> [TypeBody] {
    var bodies: [String: TypeBody] = [:]
    for file in files { Reader(target: file.target).read(file.code, into: &bodies) }
    return bodies.values.sorted { $0.name < $1.name }
  }

  /// Follows the braces of one file.
  private struct Reader {
    /// A type or extension that is open, and the depth of what stands directly in it.
    struct Open {
      var name: String
      var depth: Int
    }

    var target: String
    var open: [Open] = []
    var depth = 0

    init(target: String) { self.target = target }

    consuming func read(_ code: [String], into bodies: inout [String: TypeBody]) {
      for line in code {
        let words = Self.words(line)
        if let (keyword, own) = Self.declaration(words) { begin(keyword, own, into: &bodies) }
        if let type = open.last {
          bodies[type.name]?.lineCount += 1
          if depth == type.depth {
            if Self.isStored(line, words) { bodies[type.name]?.storedProperties += 1 }
            if words.contains("mutating") { bodies[type.name]?.hasMutatingMethods = true }
          }
        }
        follow(line)
      }
    }

    private mutating func begin(
      _ keyword: String, _ own: String, into bodies: inout [String: TypeBody]
    ) {
      let isInside = open.last.map { depth == $0.depth } ?? false
      let name = isInside ? "\(open.last?.name ?? target).\(own)" : "\(target).\(own)"
      open.append(Open(name: name, depth: depth + 1))
      var body = bodies[name] ?? TypeBody(name: name)
      if keyword == "class" || keyword == "actor" { body.isClass = true }
      bodies[name] = body
    }

    private mutating func follow(_ line: String) {
      for letter in line {
        if letter == "{" { depth += 1 }
        guard letter == "}" else { continue }
        depth -= 1
        while let type = open.last, depth < type.depth { open.removeLast() }
      }
    }

    /// Words, and the brackets and signs between them, in order.
    private static func words(_ line: String) -> [String] {
      line.split { !($0.isLetter || $0.isNumber || "_.@".contains($0)) }.map(String.init)
    }

    private static func declaration(_ words: [String]) -> (keyword: String, name: String)? {
      let keywords = ["struct", "class", "actor", "enum", "extension", "protocol"]
      guard let place = words.firstIndex(where: keywords.contains), place + 1 < words.count,
        words[..<place].allSatisfy({ modifiers.contains($0) || $0.hasPrefix("@") }),
        words[place + 1].first?.isUppercase ?? false
      else { return nil }
      return (words[place], words[place + 1])
    }

    private static func isStored(_ line: String, _ words: [String]) -> Bool {
      guard let place = words.firstIndex(where: { $0 == "var" || $0 == "let" }),
        words[..<place].allSatisfy({ modifiers.contains($0) || $0.hasPrefix("@") }),
        !words[..<place].contains("static")
      else { return false }
      guard let brace = line.firstIndex(of: "{") else { return true }
      let isObserved = line.contains("didSet") || line.contains("willSet")
      return isObserved || line[..<brace].contains("=")
    }

    private static let modifiers: Set<String> = [
      "public", "package", "internal", "private", "fileprivate", "set", "final", "lazy", "weak",
      "unowned", "unsafe", "nonisolated", "override", "static", "indirect",
    ]
  }
}
