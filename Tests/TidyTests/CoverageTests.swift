import Testing

/// Every source file is held to something by a test. `tools/coverage` measured how much of each the
/// unit tests run; a file that came since must be named by a test.
@Suite struct CoverageTests {
  /// Of a file's lines, in %, those that the unit tests run at least.
  static let least = 70
  /// Files that came after the table was written: with more of them it is measured anew.
  static let mostUnmeasured = 40

  private static let table = CoverageTable(
    Repository.text("tools/lib/coverage.txt") ?? "")
  /// All but the first lines of the programs.
  private static let sources = Repository.sources.filter { $0.stem != "main" }

  @Test func `tests run seven lines of ten of every source file`() {
    forbid(Self.table.unread, "A row of coverage.txt is `SHARE PATH`, and each path is there once.")
    let low = Set(Self.table.paths(below: Self.least))
    forbid(
      low.subtracting(LittleRunFiles.paths).sorted(),
      "Write tests that run these files; then tools/coverage --write.")
    forbid(
      LittleRunFiles.paths.subtracting(low).sorted(),
      "Seven lines of ten run now, or it is gone: take it off the list.")
    #expect(LittleRunFiles.paths.count <= LittleRunFiles.most, "the list may only shrink")
    let gone = Self.table.gone(since: Self.sources.map(\.path))
    forbid(gone, "It is gone: take its row out of coverage.txt.")
  }

  @Test func `a file that is not measured yet is named by a test`() {
    let tests = Repository.tests.filter {
      $0.target.hasSuffix("Tests") && $0.target != "TidyTests"
    }
    let stems = Set(tests.map(\.stem))
    let mentioned = Set(
      tests.flatMap { file in file.code.flatMap(Self.identifiers) })
    let unmeasured = Set(Self.table.unmeasured(of: Self.sources.map(\.path)))
    #expect(unmeasured.count <= Self.mostUnmeasured, "Run tools/coverage --write.")
    let missing = Self.sources.filter { file in
      guard unmeasured.contains(file.path) else { return false }
      let stem = String(file.stem.prefix { $0 != "+" })
      let types = NameTests.typeNames(in: file).map(\.1)
      return !stems.contains(stem + "Tests")
        && !(types + [stem]).contains(where: mentioned.contains)
    }
    forbid(
      missing.map(\.path),
      "Write Tests/<Target>Tests/<File>Tests.swift: no test names a type of these files.")
  }

  @Test func `the first lines of a program only begin it`() {
    let long = Repository.sources.filter { $0.stem == "main" && $0.lines.count > 10 }
    forbid(long.map(\.path), "Coverage does not judge main.swift: move what it does to a file.")
  }

  @Test func `a file that tests hardly run, a new one and one that is gone are found`() {
    let table = CoverageTable(
      """
       69 Sources/M/Low.swift
       70 Sources/M/Run.swift
        - Sources/M/Words.swift
      100 Sources/M/Gone.swift
      half Sources/M/Other.swift
      101 Sources/M/More.swift
       80 Sources/M/Low.swift
      """)
    #expect(table.paths(below: 70) == ["Sources/M/Low.swift"])
    #expect(
      table.unread == [
        "half Sources/M/Other.swift", "101 Sources/M/More.swift", " 80 Sources/M/Low.swift",
      ])
    let there = ["Low", "New", "Run", "Words"].map { "Sources/M/\($0).swift" }
    #expect(table.unmeasured(of: there) == ["Sources/M/New.swift"])
    #expect(table.gone(since: there) == ["Sources/M/Gone.swift"])
  }

  @Test func `no work is left for later in a comment`() {
    let words = ["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]
    let others = Repository.files(
      below: ["docs", "tools", ".ci", "Sources"], extensions: ["", "md", "sh", "py", "h", "c"])
    var offences: [String] = []
    for file in Repository.swiftFiles + others {
      for (index, line) in file.lines.enumerated()
      where words.contains(where: { WordRule.contains($0, line) }) {
        offences.append(file.place(index))
      }
    }
    forbid(offences, "Do it, or put it where work is planned.")
  }

  private static func identifiers(_ line: String) -> [String] {
    line.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init)
  }
}
