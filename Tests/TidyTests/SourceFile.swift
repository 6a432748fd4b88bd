import Foundation
import Testing

/// One text file of the package, as the house rules look at it.
struct SourceFile {
  /// From the package root, for instance `Sources/Wire/TLV.swift`.
  let path: String
  /// As written.
  let lines: [String]
  /// The same lines with comments and the contents of strings blanked: what the compiler acts on.
  let code: [String]

  init(path: String, text: String) {
    self.path = path
    lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    code = CodeText.blanked(text).split(separator: "\n", omittingEmptySubsequences: false)
      .map(String.init)
  }

  /// The folder below `Sources` or `Tests`: the target's name.
  var target: String {
    let parts = path.split(separator: "/")
    return parts.count > 2 ? String(parts[1]) : ""
  }

  /// The file's name without folders and extension, for instance `TLV`.
  var stem: String {
    String((path.split(separator: "/").last ?? "").prefix { $0 != "." })
  }

  /// `path:line`, with lines counted from 1, as editors and compilers do.
  func place(_ index: Int) -> String { "\(path):\(index + 1)" }

  /// The places whose code contains one of `words`.
  func places(where matches: (String) -> Bool) -> [String] {
    code.indices.filter { matches(code[$0]) }.map(place)
  }
}

/// The package this test belongs to.
enum Repository {
  static let root: URL = {
    var folder = URL(fileURLWithPath: #filePath)
    while folder.path != "/" {
      folder.deleteLastPathComponent()
      let manifest = folder.appendingPathComponent("Package.swift").path
      if FileManager.default.fileExists(atPath: manifest) { return folder }
    }
    return folder
  }()

  /// All Swift files; the rules hold for all of them unless they say otherwise.
  static let swiftFiles = files(
    below: ["Sources", "Tests", "tools", "Benchmarks", "Examples"], extensions: ["swift"])
  static let sources = swiftFiles.filter { $0.path.hasPrefix("Sources/") }
  static let tests = swiftFiles.filter { $0.path.hasPrefix("Tests/") }

  static func text(_ path: String) -> String? {
    try? String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }

  static func exists(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: root.appendingPathComponent(path).path)
  }

  /// All files below some folders, by path, whose extension is one of `extensions`.
  static func files(below folders: [String], extensions: Set<String>) -> [SourceFile] {
    var paths: [String] = []
    for folder in folders {
      let names = FileManager.default.enumerator(
        atPath: root.appendingPathComponent(folder).path)
      while let name = names?.nextObject() as? String {
        let isHidden = name.split(separator: "/").contains { $0.hasPrefix(".") }
        if !isHidden, extensions.contains((name as NSString).pathExtension) {
          paths.append("\(folder)/\(name)")
        }
      }
    }
    return paths.sorted().compactMap { path in
      text(path).map { SourceFile(path: path, text: $0) }
    }
  }
}

/// How a rule reports: one line for each offence, and what to do instead.
func forbid(
  _ offences: [String], _ advice: String, sourceLocation: SourceLocation = #_sourceLocation
) {
  if offences.isEmpty { return }
  let text = offences.map { "\n  " + $0 }.joined()
  Issue.record("\(advice)\(text)", sourceLocation: sourceLocation)
}
