import Testing

/// Bytes from the network never trap, and unsafe code is where one looks for it.
@Suite struct SafetyTests {
  static let traps: [WordRule] = [
    WordRule(
      words: ["try!", "as!", "fatalError(", "unowned"],
      advice: "One packet may not stop the process: throw a typed error, or return nil and count."),
    WordRule(
      words: ["preconditionFailure()", "assertionFailure()"],
      advice: "Say in a sentence why control cannot come here."),
  ]

  /// Where C is called (files, databases, codecs, the program's own standard output), and the two
  /// places that hand the event loop to the language runtime.
  static let unsafe = WordRule(
    words: ["unsafe"],
    advice: "Go through Span, OutputSpan and ByteReader, or move the code to where C is called.",
    exceptions: [
      "Sources/Reactor/", "Sources/Primitives/Bytes/OutputSpan+LittleEndian.swift",
      "Sources/Cryptography/", "Sources/Audio/Opus/", "Sources/Video/VP8/", "Sources/MediaFiles/",
      "Sources/Storage/", "Sources/Routers/", "Sources/Redis/", "Sources/Earshot/Endpoint/Endpoint",
      "Sources/Earshot/Identity/LocalIdentityFile.swift",
      "Sources/Earshot/Channels/ChannelRelay.swift",
      "Sources/Primitives/Bytes/OutputSpan+LittleEndian.swift",  // one copy, after a check of room
      "Sources/PeerCommand/", "Sources/RendezvousCommand/", "Sources/RelayCommand/",
      "Sources/EarshotC/",
    ])

  @Test(arguments: traps.indices) func `no packet can stop the process`(rule: Int) {
    let rule = Self.traps[rule]
    let offences = rule.offences(in: Layers.packetPath)
    forbid(offences, rule.advice)
  }

  @Test func `nothing that comes from the network is unwrapped by force`() {
    var offences: [String] = []
    for file in Layers.packetPath {
      offences += file.places { line in
        Self.unwrapsByForce(line) && !line.contains(".take()!")
      }
    }
    forbid(offences, "Use `guard let … else`: throw, or return and count.")
  }

  @Test func `an error that is swallowed is counted by a counter with a name`() {
    var offences: [String] = []
    for file in Layers.packetPath {
      let counters = Self.counters(of: file.target)
      for (index, line) in file.code.enumerated() where WordRule.contains("try?", line) {
        let comments = file.lines[max(0, index - 1)...index].filter { $0.contains("//") }
        let names = comments.flatMap { $0.split(separator: "`").map(String.init) }
        if counters.isDisjoint(with: names) { offences.append(file.place(index)) }
      }
    }
    forbid(
      offences,
      "Catch the error and count its reason; if something else counts it, a comment names the counter in backticks."
    )
  }

  /// What a target adds to.
  static func counters(of target: String) -> Set<String> {
    var names: Set<String> = []
    for file in Repository.sources where file.target == target {
      for line in file.code {
        guard let sign = line.firstRange(of: "+= ") else { continue }
        let left = line[..<sign.lowerBound].filter { $0 != "&" && $0 != " " }
        let name = left.split { !($0.isLetter || $0.isNumber || $0 == "_") }.last
        if let name { names.insert(String(name)) }
      }
    }
    return names
  }

  @Test func `unsafe code is where C is called`() {
    let offences = Self.unsafe.offences(in: Repository.sources)
    forbid(offences, Self.unsafe.advice)
  }

  @Test func `the public interface has one unsafe expression`() {
    let folder = "Sources/Earshot/Endpoint/Endpoint"
    let endpoint = Repository.sources.filter { $0.path.hasPrefix(folder) }
    let places = endpoint.flatMap { $0.places { WordRule.contains("unsafe", $0) } }
    forbid(
      Array(places.dropFirst()), "Only the endpoint's executor may be unsafe, in one expression.")
  }

  @Test func `forced unwrapping is told from not and from unequal`() {
    #expect(Self.unwrapsByForce("let a = b[0]!"))
    #expect(Self.unwrapsByForce("f(x!, y)"))
    #expect(Self.unwrapsByForce("a!.count"))
    #expect(!Self.unwrapsByForce("if !a, b != c, x! = 3 {"))
    #expect(WordRule.contains("print(", "  print(x)"))
    #expect(!WordRule.contains("print(", "fingerprint(x) + log.print(y)"))
  }

  /// A `!` after a name or a closing bracket, and not before `=`.
  static func unwrapsByForce(_ line: String) -> Bool {
    let letters = Array(line)
    return letters.indices.dropFirst().contains { index in
      guard letters[index] == "!" else { return false }
      let before = letters[index - 1]
      let after = index + 1 < letters.count ? letters[index + 1] : " "
      let rest = letters[(index + 1)...].drop { $0 == " " }
      return (before.isLetter || before.isNumber || "_)]}".contains(before)) && after != "="
        && rest.first != "="
    }
  }
}
