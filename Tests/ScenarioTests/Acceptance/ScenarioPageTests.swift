import Foundation
import Testing

/// docs/scenarios.md names what there is, and all of it.
@Suite struct ScenarioPageTests {
  private static var root: URL {
    var folder = URL(fileURLWithPath: #filePath)
    for _ in 0..<4 { folder.deleteLastPathComponent() }
    return folder
  }

  private static func page() throws -> String {
    try String(contentsOf: root.appending(path: "docs/scenarios.md"), encoding: .utf8)
  }

  /// The text of all files of a folder that end so.
  private static func text(of folder: String, _ suffix: String) -> String {
    let base = root.appending(path: folder)
    let names = FileManager.default.enumerator(atPath: base.path)?.allObjects as? [String] ?? []
    return names.filter { $0.hasSuffix(suffix) }.sorted()
      .compactMap { try? String(contentsOf: base.appending(path: $0), encoding: .utf8) }
      .joined(separator: "\n")
  }

  @Test func `each scenario of two people has a row`() throws {
    let page = try Self.page()
    for number in 1...40 { #expect(page.contains("\n| \(number) | "), "\(number)") }
  }

  @Test func `each test that a row names is there`() throws {
    let page = try Self.page()
    let (tests, rows) = (Self.text(of: "Tests", ".swift"), Self.text(of: "tools/acceptance", ".py"))
    let suites = page.matches(of: #/`([A-Za-z]+Tests)`/#).map { String($0.output.1) }
    #expect(suites.count >= 30)
    for suite in suites {
      let isThere = tests.contains("struct \(suite) ")
      #expect(isThere, "\(suite)")
    }
    let programs = page.matches(of: #/"([a-z0-9 ]+)"/#).map { String($0.output.1) }
    #expect(programs.count >= 10)
    for name in programs {
      let function = "def \(name.split(separator: " ").joined(separator: "_"))("
      let isThere = rows.contains(function)
      #expect(isThere, "\(name)")
    }
  }

  @Test func `each file of events is named, and each that is named is there`() throws {
    let page = try Self.page()
    let folder = Self.root.appending(path: "Tests/ScenarioTests/Acceptance/Golden")
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .map { String($0.dropLast(".txt".count)) }.sorted()
    let named = page.matches(of: #/`([0-9]{2}-[a-zA-Z0-9-]+)`/#).map { String($0.output.1) }
    #expect(files == Array(Set(named)).sorted())
  }
}
