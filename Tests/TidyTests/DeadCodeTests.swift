import Testing

/// What nothing in the product names is dead.
@Suite struct DeadCodeTests {
  /// Called by the language or the system: nothing names them.
  static let calledByTheLanguage: Set<String> = [
    "main", "description", "debugDescription", "callAsFunction", "unownedExecutor",
    "checkIsolated", "isIsolatingCurrentContext", "hash", "errorDescription",
  ]

  /// Named by tests, tools and benchmarks alone. The list may only shrink.
  static let onlyInTests: Set<String> = [
    "DatagramList", "PictureQuality", "TestPictureReader", "announcement",
    "freshKeyCount", "frozenFraction", "hasOpenPackets",
    "hasQueued", "isOneWay", "isPlayingMusic", "keyInUse", "localConnectionIDs",
    "longestDistance", "mac2Range", "messageByteLimit", "newestGeneration",
    "packetsInFlight", "pathCount", "presences", "psnr", "realTimeLimit",
    "ssim", "stretchedFraction",
    "turnCount",
  ]

  @Test func `everything that is declared is named somewhere else`() {
    var mentions: [Substring: Int] = [:]
    for file in Repository.sources {
      // As written: a name may stand in an interpolation.
      for line in file.lines {
        let end = line.firstRange(of: "//")?.lowerBound ?? line.endIndex
        for word in Self.words(String(line[..<end])) { mentions[word, default: 0] += 1 }
      }
    }
    var places: [Substring: [String]] = [:]
    for file in Repository.sources {
      for (index, line) in file.code.enumerated() {
        guard let name = Self.declared(line) else { continue }
        places[name, default: []].append(file.place(index))
      }
    }
    let dead = places.filter { name, places in
      mentions[name] == places.count && !Self.calledByTheLanguage.contains(String(name))
    }
    let offences = dead.filter { !Self.onlyInTests.contains(String($0.key)) }
    forbid(
      offences.flatMap { name, places in places.map { "\($0): \(name)" } }.sorted(),
      "Nothing in Sources names it: delete it.")
    let stale = Self.onlyInTests.filter { dead[Substring($0)] == nil }.sorted()
    forbid(stale, "Named by the product now, or gone: take it off the list.")
  }

  /// The function, property or type that a line declares, unless it is part of the public
  /// interface or replaces an inherited one.
  static func declared(_ line: String) -> Substring? {
    let words = words(line)
    let keywords: Set<Substring> = ["func", "var", "let", "struct", "class", "enum", "actor"]
    guard let place = words.firstIndex(where: { keywords.contains($0) }), place + 1 < words.count,
      !words[..<place].contains(where: { $0 == "public" || $0 == "override" || $0 == "case" })
    else { return nil }
    // `class func`, `static let`: the name stands behind the last of the keywords.
    let name = words[place + 1]
    return keywords.contains(name) ? words.dropFirst(place + 2).first : name
  }

  private static func words(_ line: String) -> [Substring] {
    line.split { !($0.isLetter || $0.isNumber || $0 == "_") }
  }

  @Test func `declarations are found`() {
    #expect(Self.declared("  package mutating func handle(_ x: Int) {") == "handle")
    #expect(Self.declared("  private(set) var count = 0") == "count")
    #expect(Self.declared("  public var shown = 1") == nil)
    #expect(Self.declared("  case .some(let found): break") == nil)
  }
}
