import Testing

/// House numbers (docs/CONTRIBUTING.md §2). The lists of exceptions may only shrink.
@Suite struct SizeTests {
  /// Files of more than 400 lines, none of more than 600.
  static let longFiles: Set<String> = []
  /// Functions of more than 40 lines, none of more than 60: `path name`.
  static let longFunctions: Set<String> = [
    "Tests/AudioTests/JitterBufferPropertyTests.swift gives five milliseconds a pull whatever comes",
    "Tests/EarshotTests/CallTests.swift two endpoints talk through a rendezvous",
    "Tests/MessagingTests/FlowTests.swift asks for credit that got lost",
    "Tests/MessagingTests/RestingTests.swift remembers what matters",
    "Tests/ReactorTests/MachineDriverTests.swift a thousand datagrams go out and come back",
  ]

  @Test func `a file has at most 400 lines`() {
    let long = Repository.swiftFiles.filter { $0.lines.count > 401 }
    let offences = long.filter { $0.lines.count > 601 || !Self.longFiles.contains($0.path) }
    forbid(
      offences.map { "\($0.path): \($0.lines.count - 1) lines" },
      "Split by what changes together; a new file is better than a longer one.")
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
    forbid(
      offences.map { "\($0.key): \($0.value) lines" }.sorted(),
      "Name the steps: move each into a function of its own.")
    expectNeeded(Self.longFunctions, Set(long.keys))
  }

  @Test func `a line has at most 100 columns`() {
    let scripts = Repository.files(below: ["tools", ".ci"], extensions: ["", "sh"])
    var offences: [String] = []
    for file in Repository.swiftFiles + scripts where !file.lines[0].contains("python") {
      for (index, line) in file.lines.enumerated() where isTooLong(line, code: file.code[index]) {
        offences.append("\(file.place(index)): \(line.count) columns")
      }
    }
    forbid(offences, "Break the line (tools/format does most).")
  }

  /// The formatter leaves a bracket or a comma behind the 100th column; what stands inside a
  /// string it cannot break at all, and a link or a test's sentence nobody should.
  private func isTooLong(_ line: String, code: String) -> Bool {
    guard line.count > 100, !line.contains("https://"), !line.contains("func `") else {
      return false
    }
    let text = line.drop { $0 == " " }
    let isComment = text.hasPrefix("//")
    let isString = line.contains("\"") || text.hasPrefix("`") || code.allSatisfy { $0 == " " }
    return isComment || (line.count > 103 && !isString)
  }

  private func expectNeeded(_ exceptions: Set<String>, _ offenders: Set<String>) {
    let stale = exceptions.subtracting(offenders).sorted()
    forbid(stale, "No longer an exception: take it off the list, for good.")
  }
}
