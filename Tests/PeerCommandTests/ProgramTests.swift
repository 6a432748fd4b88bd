import Earshot
import Foundation
import PeerCommand
import Reactor
import Testing

/// The programs themselves, as they lie beside the tests: a rendezvous, a callee, a caller.
@Suite(.serialized) struct ProgramTests {
  @Test func `a call by the program has everything that was asked for`() throws {
    let stage = try Stage()
    defer { stage.end() }
    let bob = try stage.start(
      "earshot",
      ["answer", "--accept", "--calls", "1", "--name", "bob", "--json"] + stage.online("bob"))
    _ = try #require(bob.line { $0["name"]?.asString == "registered" })
    let alice = try stage.start(
      "earshot",
      [
        "call", "bob", "--duration", "1", "--json", "--events", stage.folder.file("events"),
        "--report", stage.folder.file("report.html"), "--pcap", stage.folder.file("call.pcapng"),
        "--save", stage.folder.file("heard.opus"),
      ] + stage.online("alice"))
    #expect(alice.exitCode == 0)
    #expect(bob.exitCode == 0)
    let story = try InspectCommand(subject: stage.folder.file("events")).explanation()
    #expect(story.contains("connected") && story.contains("the call ended: completed"))
    let capture = try CaptureStory(stage.folder.file("call.pcapng"))
    #expect(capture.streams.count == 2)
    #expect(capture.streams.allSatisfy { $0.packets >= 40 })
    #expect(try stage.folder.bytes(of: "report.html").count > 2000)
    #expect(try stage.folder.bytes(of: "heard.opus").count > 500)
  }

  @Test func `the example of the library makes a call`() throws {
    let stage = try Stage()
    defer { stage.end() }
    let bob = try stage.start(
      "earshot",
      ["answer", "--accept", "--calls", "1", "--name", "bob", "--json"] + stage.online("bob"))
    _ = try #require(bob.line { $0["name"]?.asString == "registered" })
    let tiny = try stage.start("TinyCall", [stage.address, "bob", "1"])
    #expect(tiny.exitCode == 0)
    #expect(bob.exitCode == 0)
    let summary = try #require(bob.line { $0["type"]?.asString == "summary" })
    #expect(summary["outcome"]?.asString == "completed")
    #expect(summary["audio"]?["received"]?["packets"]?.asNumber ?? 0 > 40)
  }

  @Test func `the example that tells every event of a call does`() throws {
    let stage = try Stage()
    defer { stage.end() }
    let bob = try stage.start(
      "earshot",
      ["answer", "--accept", "--calls", "1", "--name", "bob", "--json"] + stage.online("bob"))
    _ = try #require(bob.line { $0["name"]?.asString == "registered" })
    let story = try stage.start("CallStory", [stage.address, "bob", "8"])
    #expect(story.exitCode == 0, "\(story.errors)")
    #expect(bob.exitCode == 0)
    for words in ["connected, ", "audioPublish", "localMuted", "localUnmuted", "completed: "] {
      #expect(story.output.contains(words), "\(words) is not in: \(story.output)")
    }
  }

  @Test func `the examples of a file, of own sound and of a probe work`() throws {
    let stage = try Stage()
    defer { stage.end() }
    let echo = try stage.start("EchoSound", [stage.address, "echo", "1"], as: "echo")
    // The probe takes 8 s: the echo waits for calls by then.
    let probe = try stage.start("ProbeAdvice", [stage.address], as: "probe")
    #expect(probe.exitCode == 0)
    #expect(probe.output.contains("complete: ") && probe.output.contains("audio: "))
    try stage.folder.write(Self.sawtooth(seconds: 2), to: "saw.wav")
    let caller = try stage.start(
      "CallFromFile", [stage.address, "echo", stage.folder.file("saw.wav")], as: "caller")
    #expect(caller.exitCode == 0, "\(caller.errors)")
    #expect(echo.exitCode == 0, "\(echo.errors)")
    #expect(caller.output.hasPrefix("completed after "))
    #expect(echo.output.contains("completed: "))
    let refused = try stage.start("CallFromFile", [stage.address, "echo", "/dev/null"], as: "x")
    #expect(refused.exitCode == 2 && refused.errors.contains("no WAV file"))
  }

  @Test func `two of the example of a channel hear each other`() throws {
    let stage = try Stage()
    defer { stage.end() }
    try stage.folder.write(Self.sawtooth(seconds: 1), to: "saw.wav")
    let members = try ["alice", "bob"].map { name in
      try stage.start(
        "JoinChannel",
        [
          stage.address, "tea", stage.folder.file("saw.wav"), stage.folder.file(name + ".wav"), "4",
        ],
        as: name)
    }
    for (member, name) in zip(members, ["alice", "bob"]) {
      #expect(member.exitCode == 0, "\(member.errors)")
      #expect(member.output.contains(" is heard\n") && member.output.contains("ended: left"))
      // Two seconds and more of 48 kHz.
      #expect(try stage.folder.bytes(of: name + ".wav").count > 192_000)
    }
    let refused = try stage.start("JoinChannel", [stage.address, "not a name"], as: "x")
    #expect(refused.exitCode == 2)
  }

  /// A WAV file of 16 bits, 48 kHz, mono.
  private static func sawtooth(seconds: Int) -> [UInt8] {
    func number(_ value: Int, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    let samples = (0..<48_000 * seconds).flatMap { number($0 % 100 * 100, 2) }
    return Array("RIFF".utf8) + number(36 + samples.count, 4) + Array("WAVEfmt ".utf8)
      + number(16, 4) + number(1, 2) + number(1, 2) + number(48_000, 4) + number(96_000, 4)
      + number(2, 2) + number(16, 2) + Array("data".utf8) + number(samples.count, 4) + samples
  }

  @Test(arguments: [SIGHUP, SIGTERM])
  func `a signal hangs up, and everything is written`(signal: Int32) throws {
    let stage = try Stage()
    defer { stage.end() }
    let bob = try stage.start(
      "earshot",
      ["answer", "--accept", "--calls", "1", "--name", "bob", "--json"] + stage.online("bob"))
    _ = try #require(bob.line { $0["name"]?.asString == "registered" })
    let alice = try stage.start(
      "earshot",
      [
        "call", "bob", "--json", "--events", stage.folder.file("events"), "--report",
        stage.folder.file("report.html"), "--pcap", stage.folder.file("call.pcapng"), "--save",
        stage.folder.file("heard.wav"),
      ] + stage.online("alice"))
    // Each has heard the other, so that the capture has both streams.
    _ = try #require(alice.line { $0["name"]?.asString == "firstFrameReceived" })
    _ = try #require(bob.line { $0["name"]?.asString == "firstFrameReceived" })
    // A terminal that closes often says so twice.
    alice.signal(signal)
    if signal == SIGHUP { alice.signal(signal) }
    #expect(alice.exitCode == 0)
    #expect(bob.exitCode == 0)
    #expect(bob.output.contains(#""outcome":"completed""#))
    let events = String(decoding: try stage.folder.bytes(of: "events"), as: UTF8.self)
    #expect(events.split(separator: "\n").last?.contains(#""type":"summary""#) == true)
    #expect(try stage.folder.bytes(of: "report.html").count > 2000)
    #expect(try CaptureStory(stage.folder.file("call.pcapng")).streams.count == 2)
    for name in ["report.html", "call.pcapng", "heard.wav", "events"] {
      let attributes = try FileManager.default.attributesOfItem(atPath: stage.folder.file(name))
      #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
    }
  }

  @Test func `a call that comes to nothing costs no file`() throws {
    let stage = try Stage()
    defer { stage.end() }
    try stage.folder.write(Array(repeating: 7, count: 4000), to: "old.wav")
    let old = stage.folder.file("old.wav")
    func start(_ words: [String]) throws -> Running {
      try stage.start("earshot", ["call", "nobody"] + words + stage.online("alice"))
    }
    let refused = try start(["--save", old])
    #expect(refused.exitCode == 8)
    #expect(refused.errors.contains("--overwrite"))
    #expect(try start(["--save", old, "--overwrite"]).exitCode == 3)
    #expect(try start(["--play", old, "--save", old, "--overwrite"]).exitCode == 2)
    let lost = try start(["--save", stage.folder.file("new.wav"), "--quiet"])
    #expect(lost.exitCode == 3)
    // Quiet is not mute about a failure.
    #expect(lost.errors.hasPrefix("earshot: nobody: ") && lost.output.isEmpty)
    #expect(try stage.folder.bytes(of: "old.wav") == Array(repeating: 7, count: 4000))
    let names = try FileManager.default.contentsOfDirectory(atPath: stage.folder.path)
    #expect(names.filter { $0.contains("wav") } == ["old.wav"])
  }

  @Test(
    arguments: [
      (["call", "bob", "--rendezvous", "127.0.0.1:1", "--play", "/nowhere.wav"], 8),
      (["call", "bob", "--rendezvous", "127.0.0.1:1", "--events", "/nowhere/file"], 8),
      (["call", "bob", "--rendezvous", "127.0.0.1:1", "--report", "/nowhere/file"], 8),
      (["call", "bob", "--rendezvous", "127.0.0.1:1", "--pcap", "/nowhere/file"], 8),
      (["call", "bob", "--rendezvous", "127.0.0.1:1", "--identity", "/dev/null"], 8),
      (["call", "bob", "--rendezvous", "not.a.host.invalid:1", "--bind", "127.0.0.1:0"], 3),
      (
        ["answer", "--accept", "--save", "/nowhere/x.wav", "--rendezvous", "127.0.0.1:1"], 8
      ), (["answer", "--rendezvous", "127.0.0.1:1"], 2),
      (["keygen", "--identity", "no/dir/id"], 8), (["send", "bob", "--text", "x"], 2),
      (["call", "bob", "--turn", "turn:h"], 2), (["answer", "--from", "known"], 2),
      (["call"], 2), ([], 2), (["join", "x"], 2), (["probe", "x"], 2), (["--help"], 0),
      (["--version"], 0), (["call", "--help"], 0), (["inspect", "/nowhere"], 8),
      (["keygen", "--identity", "/dev/null/x"], 8),
    ] as [([String], Int32)])
  func `a bad start ends at once with its code`(words: [String], code: Int32) throws {
    let folder = try TemporaryFolder()
    let program = try Running("earshot", words, home: folder.path)
    #expect(program.exitCode == code)
    #expect(program.errors.isEmpty == (code == 0))
    #expect(program.errors.hasPrefix(code == 0 ? "" : "earshot: "))
  }

  @Test func `keygen --rotate replaces the key of an identity that is there`() throws {
    let folder = try TemporaryFolder()
    #expect(try Running("earshot", ["keygen", "--rotate"], home: folder.path).exitCode == 8)
    let words = ["keygen", "--json"]
    let cards = try [words, words, words + ["--rotate"], words].map { words in
      let program = try Running("earshot", words, home: folder.path)
      let line = try #require(program.line { _ in true })
      return (id: line["id"]?.asString, card: line["card"]?.asString.flatMap(Self.staticKey))
    }
    #expect(Set(cards.map(\.id)).count == 1)
    #expect(cards[0].card == cards[1].card && cards[2].card == cards[3].card)
    #expect(cards[0].card != cards[2].card && cards[0].card != nil)
  }

  @Test(arguments: [
    ["keygen"], ["card"], ["contacts", "list", "--json"], ["completions", "bash"], ["--help"],
    ["call", "--help"],
  ])
  func `standard output that is full is told, with code 8`(words: [String]) throws {
    let folder = try TemporaryFolder()
    let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
    let program = try Running("earshot", words, home: folder.path, output: full)
    #expect(program.exitCode == 8)
    #expect(program.errors.contains("standard output cannot be written to the end"))
    #expect(program.errors.contains("df -h"))
  }

  private static func staticKey(ofCard text: String) -> [UInt8]? {
    let base64 = text.dropFirst("earshot:".count)
      .replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
    let padded = base64 + String(repeating: "=", count: (4 - base64.count % 4) % 4)
    return Data(base64Encoded: padded).map { Array($0[38..<70]) }
  }

  @Test func `a card is printed, as text and as a code`() throws {
    let folder = try TemporaryFolder()
    let first = try Running("earshot", ["keygen", "--json"], home: folder.path)
    #expect(first.exitCode == 0)
    let identity = try #require(first.line { _ in true })
    #expect(identity["id"]?.asString?.count == 52)
    let card = try Running("earshot", ["card", "--qr"], home: folder.path)
    #expect(card.exitCode == 0)
    // The locale of these programs is C.
    #expect(card.output.contains("####") && card.output.contains("EARSHOT:"))
    #expect(card.output.utf8.allSatisfy { $0 < 128 } && card.errors.isEmpty)
    let slip = ["card", "--identity", folder.file("typo")]
    let other = try Running("earshot", slip, home: folder.path)
    #expect(other.errors.contains("a new identity was made in \(folder.file("typo"))"))
  }
}
