import Foundation
import Testing

/// Documents that no test holds to the code begin to lie.
@Suite struct DocumentationTests {
  static let pages =
    Repository.files(below: ["docs"], extensions: ["md"])
    + ["README.md"].compactMap { path in
      Repository.text(path).map { SourceFile(path: path, text: $0) }
    }

  @Test func `every relative link leads somewhere`() {
    var offences: [String] = []
    for page in Self.pages {
      let folder = (page.path as NSString).deletingLastPathComponent
      for (index, line) in page.lines.enumerated() {
        for link in Self.links(in: line) where !link.contains("://") && !link.hasPrefix("#") {
          let target = String(link.prefix { $0 != "#" })
          if !Repository.exists((folder as NSString).appendingPathComponent(target)) {
            offences.append("\(page.place(index)): \(link)")
          }
        }
      }
    }
    forbid(offences, "Mend the link, or take it out.")
  }

  /// The type is `EarshotVersion`.
  @Test func `the version stands in one place, and its changes are told`() throws {
    let path = "Sources/Primitives/Text/EarshotVersion.swift"
    let parts = try #require(Repository.text(path)).components(separatedBy: "\"")
    let version = try #require(parts.count == 3 ? parts[1] : nil)
    let changes = try #require(Repository.text("docs/CHANGELOG.md"))
    let heading = try #require(changes.components(separatedBy: "\n## ").dropFirst().first)
    #expect(heading.hasPrefix(version))
    let others = Repository.files(below: ["Sources"], extensions: ["swift"])
      .filter { file in
        file.path != path && file.lines.contains { $0.contains("\"\(version)\"") }
      }.map(\.path)
    forbid(others, "Use EarshotVersion.")
  }

  /// A newcomer reads it to the end, and copies its code.
  @Test func `the front page is short, and its code is that of an example`() throws {
    let page = try #require(Repository.text("README.md"))
    #expect(page.components(separatedBy: "\n").count <= 120)
    let example = try #require(Repository.text("Examples/TinyCall/main.swift"))
    let codes = page.components(separatedBy: "```swift\n").dropFirst()
    #expect(!codes.isEmpty)
    for code in codes {
      let code = try #require(code.components(separatedBy: "```").first)
      #expect(example.contains(code), "Copy it from Examples/TinyCall.")
    }
  }

  @Test func `every cited section of the protocol exists`() {
    var offences: [String] = []
    for file in Repository.swiftFiles where file.target != "TidyTests" {
      for (page, section) in Self.citations(in: file.lines) {
        let text = Repository.text("docs/protocol/\(page)")
        if text?.contains("\n## \(section). ") != true {
          offences.append("\(file.path): docs/protocol/\(page) §\(section)")
        }
      }
    }
    forbid(offences, "Cite a numbered section that docs/protocol has.")
  }

  @Test func `every cited decision exists`() {
    let decisions = Repository.files(below: ["docs/decisions"], extensions: ["md"])
    let numbers = Set(decisions.map { String($0.stem.prefix(4)) })
    let manifest = Repository.text("Package.swift").map {
      SourceFile(path: "Package.swift", text: $0)
    }
    var offences: [String] = []
    for file in Repository.swiftFiles + (manifest.map { [$0] } ?? []) + Self.pages {
      for (index, line) in file.lines.enumerated() {
        for part in line.components(separatedBy: "docs/decisions/").dropFirst() {
          let number = String(part.prefix { $0.isNumber })
          if number.count == 4, !numbers.contains(number) {
            offences.append("\(file.place(index)): \(number)")
          }
        }
      }
    }
    forbid(offences, "Write the decision down, one page.")
  }

  @Test func `every error code is explained`() throws {
    let source = try #require(Repository.text("Sources/Earshot/Endpoint/EarshotError.swift"))
    let page = try #require(Repository.text("docs/errors.md"))
    let code = try #require(source.components(separatedBy: "enum Code").dropFirst().first)
    let names = code.prefix { $0 != "}" }.split(separator: "\n").compactMap { line -> String? in
      let words = line.split(separator: " ")
      return words.count == 2 && words[0] == "case" ? String(words[1]) : nil
    }
    #expect(names.count > 10, "the codes should be readable by this test")
    let offences = names.filter { !page.contains("| `\($0)` |") }
    forbid(offences, "Add a line to docs/errors.md: what it means, what to do, the exit code.")
  }

  @Test func `every limit has a sentence`() {
    var offences: [String] = []
    for file in Repository.sources {
      offences += Self.undocumentedLimits(in: file)
    }
    forbid(offences, "Say with `///` what it bounds, its unit, and why it is so.")
  }

  @Test func `a limit without a sentence is noticed`() {
    let file = SourceFile(
      path: "Sources/X/XLimits.swift",
      text: """
        package struct XLimits {
          /// Datagrams that wait to be sent: one flight.
          package var waiting = 64
          package static let most = 8
          package init() { let local = 1; _ = local }
        }
        struct Other { let free = 1 }
        """)
    #expect(Self.undocumentedLimits(in: file) == ["Sources/X/XLimits.swift:4: most"])
  }

  @Test func `the house tour names files that exist, and each says its station`() throws {
    let document = try #require(Repository.text("docs/ARCHITECTURE.md"), "it has the house tour")
    let parts = document.components(separatedBy: "## The house tour")
    let tour = try #require(parts.dropFirst().first?.components(separatedBy: "\n## ").first)
    let names = tour.split(separator: "\n").flatMap { DocumentedTarget.ticked($0[...]) }
      .filter { $0.hasSuffix(".swift") }
    #expect(names.count >= 10, "the tour should pass at least ten files")
    let offences = names.filter { !Repository.exists("Sources/\($0)") && !Repository.exists($0) }
    forbid(offences, "A station moved: change the tour in docs/ARCHITECTURE.md.")
    let silent = names.filter { name in
      Repository.text("Sources/\(name)")?.contains(" of the house") == false
    }
    forbid(silent, "Say in the file which station of the house tour it is, and what is next.")
  }

  /// Targets of `[text](target)` in a line of Markdown.
  private static func links(in line: String) -> [String] {
    line.components(separatedBy: "](").dropFirst().compactMap { part in
      part.contains(")") ? String(part.prefix { $0 != ")" }) : nil
    }
  }

  /// `docs/protocol/x.md §n` in comments, also where the line breaks in between.
  private static func citations(in lines: [String]) -> [(page: String, section: String)] {
    let text = lines.map { line in
      let trimmed = line.drop { $0 == " " }
      return String(trimmed.drop { $0 == "/" })
    }.joined(separator: " ").replacingOccurrences(of: "  ", with: " ")
    return text.components(separatedBy: "docs/protocol/").dropFirst().compactMap { part in
      guard let end = part.range(of: ".md") else { return nil }
      let page = String(part[..<end.upperBound])
      let rest = part[end.upperBound...].drop { $0 == " " || $0 == ")" || $0 == "`" || $0 == "," }
      guard rest.first == "§" else { return nil }
      return (page, String(rest.dropFirst().prefix { $0.isNumber }))
    }
  }

  /// Stored properties, and constants, of the types named `…Limits`.
  private static func undocumentedLimits(in file: SourceFile) -> [String] {
    var offences: [String] = []
    var depth = 0
    var isInside = false
    for (index, line) in file.code.enumerated() {
      let declares = NameTests.typeNames(in: SourceFile(path: file.path, text: line))
      if depth == 0 { isInside = declares.contains { $0.1.hasSuffix("Limits") } }
      if isInside, depth == 1, let name = propertyName(in: line) {
        let above = index > 0 ? file.lines[index - 1].drop { $0 == " " } : ""
        if !above.hasPrefix("///") { offences.append("\(file.place(index)): \(name)") }
      }
      depth += line.count { $0 == "{" } - line.count { $0 == "}" }
    }
    return offences
  }

  private static func propertyName(in line: String) -> String? {
    let words = line.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init)
    guard let keyword = words.firstIndex(where: { $0 == "let" || $0 == "var" }),
      words[..<keyword].allSatisfy({ ["package", "public", "private", "static"].contains($0) })
    else { return nil }
    return words.dropFirst(keyword + 1).first
  }
}
