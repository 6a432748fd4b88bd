import Testing

/// The picture in docs/ARCHITECTURE.md, the manifest and the imports say the same.
@Suite struct DependencyTests {
  static let manifest = Manifest(text: Repository.text("Package.swift") ?? "")
  static let documented = DocumentedTarget.all(in: Repository.text("docs/ARCHITECTURE.md") ?? "")

  @Test func `the manifest has the targets and edges of the documented table`() {
    #expect(Self.manifest.targets.count > 15, "Package.swift should be readable by this test")
    var offences: [String] = []
    let table = Dictionary(Self.documented.map { ($0.name, $0.imports) }) { first, _ in first }
    for target in Self.manifest.targets {
      guard let imports = table[target.name] else {
        offences.append("\(target.name): not in the table")
        continue
      }
      let added = target.imports.subtracting(imports).sorted()
      let lost = imports.subtracting(target.imports).sorted()
      if !added.isEmpty { offences.append("\(target.name): the table lacks \(added)") }
      if !lost.isEmpty { offences.append("\(target.name): the manifest lacks \(lost)") }
    }
    let names = Set(Self.manifest.targets.map(\.name))
    offences += Self.documented.filter { !names.contains($0.name) }
      .map { "\($0.name): not in the manifest" }
    forbid(offences, "Change Package.swift and the table in docs/ARCHITECTURE.md §2 together.")
  }

  @Test func `a target imports only what lies below it`() {
    let levels = Dictionary(Self.documented.map { ($0.name, $0.level) }) { first, _ in first }
    let offences = Self.documented.flatMap { target in
      target.imports.sorted().filter { (levels[$0] ?? -1) >= target.level }
        .map { "\(target.name) (level \(target.level)) imports \($0)" }
    }
    forbid(offences, "Move what both need down, if it knows no protocol, or up, if it composes.")
  }

  @Test func `sources import only what the manifest lets them`() {
    let table = Dictionary(Self.manifest.targets.map { ($0.name, $0.imports) }) { first, _ in first
    }
    let own = Set(table.keys)
    var offences: [String] = []
    for file in Repository.sources {
      for (index, line) in file.code.enumerated() {
        let words = line.split(separator: " ")
        guard let keyword = words.firstIndex(of: "import"), keyword + 1 < words.count else {
          continue
        }
        let name = String(words[keyword + 1])
        if own.contains(name), table[file.target]?.contains(name) != true {
          offences.append("\(file.place(index)): import \(name)")
        }
      }
    }
    forbid(offences, "The layers forbid it: docs/ARCHITECTURE.md §2.")
  }
}
