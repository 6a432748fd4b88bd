import Testing

/// No hubs: a type has at most 20 stored properties and 600 lines, over all its extensions
/// (docs/CONTRIBUTING.md §2). Records without mutating methods may have more properties. The lists
/// of exceptions may only shrink.
@Suite struct TypeSizeTests {
  static let types = TypeBody.all(in: Repository.sources)
  static let mostProperties = 20
  static let mostLines = 600

  /// Stored properties of the types that have more.
  static let manyProperties = [
    "Earshot.CallRecord": 29,
    "Earshot.CallStatistics.Inbound": 21,
    "Earshot.CallStatistics.VideoInbound": 29,
    "Earshot.CallStatistics.VideoOutbound": 26,
    "Earshot.Endpoint": 26,
    "Rendezvous.RendezvousMachine": 28,
  ]

  /// Lines of the types that have more.
  static let manyLines = [
    "Calling.CallLedger": 610,
    "Earshot.Endpoint": 1670,
    "Peer.PeerMachine": 1850,
    "Rendezvous.RendezvousMachine": 1690,
  ]

  @Test func `a type has at most 20 stored properties`() {
    let found = Self.types.filter { !$0.isRecord && $0.storedProperties > Self.mostProperties }
    check(found.map { ($0.name, $0.storedProperties) }, Self.manyProperties, "stored properties")
  }

  @Test func `a type has at most 600 lines`() {
    let found = Self.types.filter { $0.lineCount > Self.mostLines }
    check(found.map { ($0.name, $0.lineCount) }, Self.manyLines, "lines")
  }

  private func check(_ found: [(String, Int)], _ exceptions: [String: Int], _ what: String) {
    let offences = found.filter { $0.1 > exceptions[$0.0] ?? 0 }
    forbid(
      offences.map { "\($0.0): \($0.1) \(what)" },
      "Make a type of what belongs together; each owns its own state.")
    let stale = Set(exceptions.keys).subtracting(found.map(\.0)).sorted()
    forbid(stale, "No longer an exception: take it off the list, for good.")
  }

  @Test func `properties are counted over a type and its extensions`() {
    let text = """
      struct Outer {
        let a = 1, b = 2
        private(set) var c: Int { didSet { d = 1 } }
        static let e = 5
        var f: Int { 1 }
        lazy var g = { 3 }()
        struct Inner { var h = 1 }
        func i() { let j = 1 }
      }
      extension Outer {
        mutating func k() {}
      }
      final class Other {
        weak var l: Other?
      }
      """
    let types = TypeBody.all(in: [SourceFile(path: "Sources/M/X.swift", text: text)])
    #expect(types.map(\.name) == ["M.Other", "M.Outer", "M.Outer.Inner"])
    #expect(types.map(\.storedProperties) == [1, 3, 0])
    #expect(types.map(\.isRecord) == [false, false, true])
    #expect(types.map(\.lineCount) == [3, 11, 1])
  }
}
