import Testing

/// Every source file is held to something by a test.
@Suite struct CoverageTests {
  /// What tools/acceptance holds to its contract instead: the programs, as people run them, and the
  /// library for C.
  static let programs: Set<String> = [
    "PeerCommand", "PeerMain", "RendezvousCommand", "RelayCommand", "EarshotC",
  ]

  @Test func `every source file has a test`() {
    let tests = Repository.tests.filter {
      $0.target.hasSuffix("Tests") && $0.target != "TidyTests"
    }
    let stems = Set(tests.map(\.stem))
    let mentioned = Set(
      tests.flatMap { file in file.code.flatMap(Self.identifiers) })
    let missing = Repository.sources.filter { file in
      if Self.programs.contains(file.target) { return false }
      let stem = String(file.stem.prefix { $0 != "+" })
      let types = NameTests.typeNames(in: file).map(\.1)
      return !stems.contains(stem + "Tests")
        && !(types + [stem]).contains(where: mentioned.contains)
    }
    let offences = missing.map(\.path).filter { !UntestedFiles.paths.contains($0) }
    forbid(
      offences, "Write Tests/<Target>Tests/<File>Tests.swift: no test names a type of these files.")
    let stale = UntestedFiles.paths.subtracting(missing.map(\.path)).sorted()
    forbid(stale, "Tested now, or gone: take it off the list.")
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
