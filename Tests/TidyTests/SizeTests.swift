import Testing

/// House numbers (docs/CONTRIBUTING.md §2). The lists of exceptions may only shrink.
@Suite struct SizeTests {
  /// Files of more than 400 lines, none of more than 600.
  static let longFiles: Set<String> = []
  /// Functions of more than 40 lines, none of more than 60: `path name`.
  static let longFunctions: Set<String> = []

  @Test func `a file has at most 400 lines`() {
    let long = Repository.swiftFiles.filter { $0.lines.count > 401 }
    let offences = long.filter { $0.lines.count > 601 || !Self.longFiles.contains($0.path) }
    #expect(
      offences.isEmpty,
      "\(report(offences.map { "\($0.path): \($0.lines.count - 1) lines" }, "Split by what changes together; a new file is better than a longer one."))"
    )
    expectNeeded(Self.longFiles, Set(long.map(\.path)))
  }

  @Test func `a function has at most 40 lines`() {
    var long: [String: Int] = [:]
    for file in Repository.swiftFiles {
      for function in Function.all(in: file) where function.lineCount > 40 {
        long["\(file.path) \(function.name)"] = function.lineCount
      }
    }
    let offences = long.filter { $0.value > 60 || !Self.longFunctions.contains($0.key) }
    #expect(
      offences.isEmpty,
      "\(report(offences.map { "\($0.key): \($0.value) lines" }.sorted(), "Name the steps: move each into a function of its own."))"
    )
    expectNeeded(Self.longFunctions, Set(long.keys))
  }

  @Test func `a line has at most 100 columns`() {
    let scripts = Repository.files(below: ["tools", ".ci"], extensions: ["", "sh", "py"])
    var offences: [String] = []
    for file in Repository.swiftFiles + scripts {
      for (index, line) in file.lines.enumerated()
      where line.count > 100 && !isOnlyLongText(line) {
        offences.append("\(file.place(index)): \(line.count) columns")
      }
    }
    #expect(offences.isEmpty, "\(report(offences, "Break the line (tools/format does most)."))")
  }

  /// A line that no formatter can break: one string literal, a link, or a test's sentence.
  private func isOnlyLongText(_ line: String) -> Bool {
    let trimmed = line.drop { $0 == " " }
    return trimmed.hasPrefix("\"") || trimmed.hasPrefix("`") || trimmed.contains("https://")
      || trimmed.contains("func `")
  }

  private func expectNeeded(_ exceptions: Set<String>, _ offenders: Set<String>) {
    let stale = exceptions.subtracting(offenders).sorted()
    #expect(
      stale.isEmpty, "\(report(stale, "No longer an exception: take it off the list, for good."))")
  }
}
