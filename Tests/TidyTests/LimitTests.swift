import Testing

/// A limit that nothing reads binds nothing.
@Suite struct LimitTests {
  @Test func `every limit is read somewhere`() {
    let code = Repository.sources.map { ($0.path, $0.code.joined(separator: "\n")) }
    let all = code.map(\.1).joined(separator: "\n")
    var offences: [String] = []
    for file in Repository.sources {
      let own = file.code.joined(separator: "\n")
      for (index, name) in Self.limits(in: file) {
        let isRead = ["imits.", "imits?.", "imits!."].contains { all.contains("\($0)\(name)") }
        // In its own file a limit is read without the name of its owner.
        let uses = own.split { !($0.isLetter || $0.isNumber || $0 == "_") }.count { $0 == name }
        if !isRead, uses < 2 { offences.append("\(file.place(index)): \(name)") }
      }
    }
    forbid(offences, "Let the code that it bounds read it, or delete it.")
  }

  /// Line index and name of each stored limit of a type whose name ends in `Limits`.
  static func limits(in file: SourceFile) -> [(Int, String)] {
    var found: [(Int, String)] = []
    var isInside = false
    for (index, line) in file.code.enumerated() {
      let words = line.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init)
      let opens = words.contains("struct") || words.contains("enum")
      if opens, !line.hasPrefix(" "), words.contains(where: { $0.hasSuffix("Limits") }) {
        isInside = true
      } else if line.hasPrefix("}") {
        isInside = false
      }
      guard isInside, line.hasPrefix("  "), !line.hasPrefix("   "), !line.contains("{"),
        let place = words.firstIndex(where: { $0 == "var" || $0 == "let" }),
        place + 1 < words.count
      else { continue }
      // A preset of the whole type is no limit.
      if words.contains("static"), words.last?.hasSuffix("Limits") == true { continue }
      if words.contains("static"), line.contains("Limits(") { continue }
      found.append((index, words[place + 1]))
    }
    return found
  }

  @Test func `limits are found, and presets are none`() {
    let text = """
      package struct CallLimits {
        package var calls = 8
        let rings: Int
        static let usual = CallLimits()
        static var small: CallLimits { CallLimits() }
        func f() {
          let inner = 1
        }
      }
      struct Other {
        var calls = 3
      }
      enum WireLimits {
        static let bytes = 4
      }
      """
    let found = Self.limits(in: SourceFile(path: "Sources/M/X.swift", text: text))
    #expect(found.map(\.1) == ["calls", "rings", "bytes"])
  }
}
