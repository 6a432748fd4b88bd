import Testing

/// No hubs: a type has at most 20 stored properties and 600 lines, over all its extensions
/// (docs/CONTRIBUTING.md §2). Records without mutating methods may have more properties. The lists
/// of exceptions may only shrink.
@Suite struct TypeSizeTests {
  static let types = TypeBody.all(in: Repository.sources)
  static let mostProperties = 20
  static let mostLines = 600

  /// What a type may have beyond the rule, and why it does.
  struct Exception {
    var most: Int
    var reason: String
  }

  /// Stored properties of the types that have more.
  static let manyProperties = [
    "Earshot.CallRecord": Exception(
      most: 29, reason: "each is a part of its own or a fact that the report tells"),
    "Earshot.CallStatistics.Inbound": Exception(
      most: 21, reason: "members of webrtc-stats, filled in steps"),
    "Earshot.CallStatistics.VideoInbound": Exception(
      most: 29, reason: "members of webrtc-stats, filled in steps"),
    "Earshot.CallStatistics.VideoOutbound": Exception(
      most: 26, reason: "members of webrtc-stats, filled in steps"),
    "Earshot.Endpoint": Exception(
      most: 26, reason: "the actor that joins the parts; what they do stands in them"),
    "Rendezvous.RendezvousMachine": Exception(
      most: 28, reason: "tables and queues, each a type with a limit of its own"),
  ]

  /// Lines of the types that have more.
  static let manyLines = [
    "Calling.CallLedger": Exception(
      most: 610, reason: "the rules by which calls give way to each other, in one place"),
    "Earshot.Endpoint": Exception(
      most: 1670, reason: "the public functions of the library with their comments"),
    "Peer.PeerMachine": Exception(
      most: 1850, reason: "inputs, commands and questions of a host: 162 functions"),
    "Rendezvous.RendezvousMachine": Exception(
      most: 1690, reason: "inputs and the steps of each request; what is kept is in parts"),
  ]

  @Test func `a type has at most 20 stored properties`() {
    let found = Self.types.filter { !$0.isRecord && $0.storedProperties > Self.mostProperties }
    check(found.map { ($0.name, $0.storedProperties) }, Self.manyProperties, "stored properties")
  }

  @Test func `a type has at most 600 lines`() {
    let found = Self.types.filter { $0.lineCount > Self.mostLines }
    check(found.map { ($0.name, $0.lineCount) }, Self.manyLines, "lines")
  }

  private func check(_ found: [(String, Int)], _ exceptions: [String: Exception], _ what: String) {
    let offences = found.filter { $0.1 > exceptions[$0.0]?.most ?? 0 }
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
