import Testing

/// One engine runs the audio of every call, simulation and measurement (docs/decisions/0062).
@Suite struct CompositionTests {
  static let parts = WordRule(
    words: ["AudioSender(", "AudioReceiver(", "RedundancyPolicy(", "JitterBuffer("],
    advice: "Drive an AudioEngine: who puts its parts together anew has rules of their own.",
    exceptions: [
      "Sources/Audio/", "Tests/AudioTests/",
      "Tests/Fuzz/",  // bytes for one part at a time
      "Benchmarks/AudioPath/DriftTable.swift",  // an hour of the jitter buffer alone
      "Tests/TidyTests/",
    ])

  @Test func `nobody puts the parts of the audio engine together a second time`() {
    forbid(Self.parts.offences(in: Repository.swiftFiles), Self.parts.advice)
  }

  @Test func `the rule sees such a composition, and only outside the engine`() {
    let line = "    var receiver = try AudioReceiver(channels: 1)"
    for (path, count) in [
      ("Sources/Earshot/Audio/AudioPipeline.swift", 1), ("tools/listening/ListenRun.swift", 1),
      ("Sources/Audio/Engine/AudioEngine.swift", 0),
    ] {
      let file = SourceFile(path: path, text: line)
      #expect(Self.parts.offences(in: [file]).count == count, "\(path)")
    }
  }
}
