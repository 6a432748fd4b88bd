import Arguments
import Earshot
import MediaFiles
import PeerCommand
import Testing

struct OptionsTests {
  static let id = String(repeating: "y", count: 52)

  private static func call(
    _ words: [String], variable: (String) -> String? = { _ in nil }
  ) throws(UsageError) -> CallCommand {
    try CallCommand(Arguments(words), variable: variable)
  }

  private static func answer(
    _ words: [String], isOnTerminal: Bool = false
  ) throws(UsageError) -> AnswerCommand {
    try AnswerCommand(Arguments(words), isOnTerminal: isOnTerminal) { _ in "127.0.0.1:7400" }
  }

  @Test func `a call has every option of the contract`() throws {
    let words = [
      "bob", "--rendezvous", "host:7400#\(Self.id)", "--identity", "me", "--name", "alice",
      "--bind", "[::]:5000", "--json", "--events", "e", "--report", "r.html", "--pcap", "p",
      "--log-level", "debug", "--quiet", "--play", "in.wav", "--loop", "--mute", "--save",
      "out.OPUS", "--duration", "2.5", "--ring-timeout", "3", "--bitrate", "64000", "--frame",
      "40", "--no-fec", "--no-nack", "--extension", #"{"a":1}"#, "--min-mos", "3.5",
    ]
    let call = try Self.call(words)
    #expect(call.target == "bob")
    #expect(call.ringTimeout == 3)
    #expect(call.online.rendezvous == "host:7400#\(Self.id)")
    #expect(call.online.configuration.identityFile == "me")
    #expect(call.online.configuration.name == "alice")
    #expect(call.online.configuration.bind == "[::]:5000")
    #expect(call.online.isJSON && call.online.isQuiet && call.online.logLevel == .debug)
    #expect(call.online.events == "e" && call.online.report == "r.html" && call.online.pcap == "p")
    #expect(call.sound.play == "in.wav" && call.sound.isLooped && call.sound.startsMuted)
    #expect(call.sound.save == "out.OPUS" && call.sound.duration == 2.5)
    #expect(call.sound.bitrate == 64_000 && call.sound.frame == 40 && !call.sound.usesFEC)
    #expect(!call.sound.usesNACK)
    #expect(call.sound.userExtension == #"{"a":1}"# && call.sound.leastMOS == 3.5)
  }

  @Test func `what is not given has the defaults of the contract`() throws {
    let call = try Self.call([Self.id]) { $0 == "EARSHOT_RENDEZVOUS" ? "10.0.0.1:7400" : nil }
    #expect(call.online.rendezvous == "10.0.0.1:7400")
    #expect(call.online.bind == "[::]:0" && call.online.logLevel == .warning)
    #expect(call.ringTimeout == 15 && call.sound.bitrate == 32_000 && call.sound.frame == 20)
    #expect(call.sound.usesFEC && !call.sound.isLooped && call.sound.play == nil)
  }

  @Test(arguments: [
    ("h", "h:7400"), ("192.0.2.1", "192.0.2.1:7400"), ("[2001:db8::1]", "[2001:db8::1]:7400"),
    ("h#\(id)", "h:7400#\(id)"), ("h:1", "h:1"), ("[::1]:2#\(id)", "[::1]:2#\(id)"),
  ])
  func `a rendezvous without a port is at 7400`(text: String, whole: String) throws {
    #expect(try Self.call(["bob", "--rendezvous", text]).online.rendezvous == whole)
    #expect(
      try DoctorCommand(Arguments(["--rendezvous", text])) { _ in nil }.plan.rendezvous == [text])
  }

  /// Goal: an IPv6 address that stands without brackets is given back as it is to be written.
  @Test(arguments: [
    ("fd99::1", "[fd99::1]:7400"), ("2001:db8::1:7401", "[2001:db8::1]:7401"),
    ("::1", "[::1]:7400"), ("fd99::1#\(id)", "[fd99::1]:7400"),
    ("1:2:3:4:5:6:7:8", "[1:2:3:4:5:6:7:8]:7400"), ("1:2:3:4:5:6:7:8:99", "[1:2:3:4:5:6:7:8]:99"),
  ])
  func `an address without brackets is told with them`(text: String, whole: String) {
    let error = #expect(throws: UsageError.self) {
      try Self.call(["bob", "--rendezvous", text])
    }
    #expect(error?.advice == "Put an IPv6 address into brackets: \(whole).")
  }

  @Test func `sound and pictures come and go by pipes`() throws {
    let words = ["bob", "--rendezvous", "h:1", "--save", "-", "--play", "-"]
    let call = try Self.call(words + ["--play-format", "44100/2"])
    #expect(call.sound.readsInput && call.sound.savesToOutput)
    #expect(call.sound.playFormat.rateHz == 44_100 && call.sound.playFormat.channels == 2)
    #expect(call.sound.saveName(call: 2) == "-")
    #expect(call.sound.freeNumber(from: 3, overwrites: false) == 3)
    #expect(try Self.call(["bob", "--rendezvous", "h:1", "--video", "-"]).sound.readsInput)
    for word in ["--json", "--events=-"] {
      let call = try Self.call(words + [word])
      let failure = #expect(throws: CommandFailure.self) {
        try call.sound.checkStreams(call.online)
      }
      #expect(failure?.code == .usage && failure?.message.hasPrefix("--save - and") == true)
    }
  }

  @Test(arguments: [
    ["bob"], ["--rendezvous", "h:1"], ["bob", "carol", "--rendezvous", "h:1"],
    ["b ob", "--rendezvous", "h:1"], ["bob", "--rendezvous", "#\(id)"],
    ["bob", "--rendezvous", ":7400"], ["bob", "--rendezvous", "h:0"],
    ["bob", "--rendezvous", "h:70000"], ["bob", "--rendezvous", "h:1#short"],
    ["bob", "--rendezvous", "h:1", "--name", "a b"],
    ["bob", "--rendezvous", "h:1", "--name", String(repeating: "a", count: 64)],
    ["bob", "--rendezvous", "h:1", "--name", id],
    ["bob", "--rendezvous", "h:1", "--bind", "here"],
    ["bob", "--rendezvous", "h:1", "--save", "out.mp3"],
    ["bob", "--rendezvous", "h:1", "--bitrate", "5999"],
    ["bob", "--rendezvous", "h:1", "--bitrate", "510001"],
    ["bob", "--rendezvous", "h:1", "--bitrate", "500000"],
    ["bob", "--rendezvous", "h:1", "--frame", "30"],
    ["bob", "--rendezvous", "h:1", "--duration", "0"],
    ["bob", "--rendezvous", "h:1", "--loop"],
    ["bob", "--rendezvous", "h:1", "--extension", "{"],
    ["bob", "--rendezvous", "h:1", "--min-mos", "6"],
    ["bob", "--rendezvous", "h:1", "--log-level", "loud"],
    ["bob", "--rendezvous", "h:1", "--ring-timeout", "x"],
    ["bob", "--rendezvous", "h:1", "--turn", "turn:h:3478"],
    ["bob", "--rendezvous", "h:1", "--turn-user", "u"],
    ["bob", "--rendezvous", "h:1", "--turn-password", "p"],
    ["bob", "--rendezvous", "h:1", "--video", ""],
    ["bob", "--rendezvous", "h:1", "--loop", "--video", "test"],
    ["bob", "--rendezvous", "h:1", "--save-video", "v.webm"],
    ["bob", "--rendezvous", "h:1", "--max-video-bitrate", "29999"],
    ["bob", "--rendezvous", "h:1", "--max-video-bitrate", "20000001"],
    ["bob", "--rendezvous", "h:1", "--fallback", "none"],
    ["bob", "--rendezvous", "h:1", "--unknown"],
    ["bob", "--rendezvous", "h:1", "--play", "-", "--video", "-"],
    ["bob", "--rendezvous", "h:1", "--play", "-", "--loop"],
    ["bob", "--rendezvous", "h:1", "--video", "-", "--loop"],
    ["bob", "--rendezvous", "h:1", "--play", "a.wav", "--play-format", "48000"],
    ["bob", "--rendezvous", "h:1", "--play", "-", "--play-format", "48000/3"],
  ])
  func `a wrong call is refused with a sentence`(words: [String]) {
    let error = #expect(throws: UsageError.self) { _ = try Self.call(words) }
    #expect(error?.message.hasSuffix(".") == true)
    #expect(error.map { CommandFailure($0).code } == .usage)
  }

  @Test func `the router is asked for a port unless that is switched off`() throws {
    let words = ["bob", "--rendezvous", "h:1"]
    #expect(try Self.call(words).online.configuration.mapsPort)
    #expect(try !Self.call(words + ["--no-port-mapping"]).online.configuration.mapsPort)
  }

  @Test func `a relay has a server, a user and a password`() throws {
    let words = ["bob", "--rendezvous", "h:1", "--turn", "turn:h", "--turn-user", "u"]
    let relays = try Self.call(words + ["--turn-password", "p"]).online.configuration.relays
    #expect(relays == [RelayOptions(uri: "turn:h", user: "u", password: "p")])
    #expect(try Self.call(["bob", "--rendezvous", "h:1"]).online.configuration.relays.isEmpty)
    let error = #expect(throws: UsageError.self) {
      try Self.call(["bob", "--rendezvous", "h:1", "--turn", "turnt:h"])
    }
    #expect(error?.message.contains("turnt:h") == true)
  }

  @Test func `relays are up to four, of one user or of one each`() throws {
    let two = ["bob", "--rendezvous", "h:1", "--turn", "turn:h", "--turn=turn:i"]
    let shared = two + ["--turn-user", "u", "--turn-password", "p"]
    #expect(try Self.call(shared).online.relays.map(\.user) == ["u", "u"])
    let own = shared + ["--turn-user", "v", "--turn-password", "q"]
    #expect(try Self.call(own).online.relays.map(\.password) == ["p", "q"])
    #expect(try Self.call(own).online.relays.map(\.uri) == ["turn:h", "turn:i"])
    for words in [shared + ["--turn-user", "v"], own + ["--turn", "turn:j"]] {
      #expect(throws: UsageError.self) { try Self.call(words) }
    }
    let four = shared + ["--turn", "turn:j", "--turn", "turn:k"]
    #expect(try Self.call(four).online.relays.count == 4)
    #expect(throws: UsageError.self) { try Self.call(four + ["--turn", "turn:l"]) }
  }

  @Test func `an answer asks on a terminal and wants to be told elsewhere`() throws {
    #expect(throws: UsageError.self) { _ = try Self.answer([]) }
    #expect(throws: UsageError.self) { _ = try Self.answer(["--from", "known"]) }
    #expect(try Self.answer([], isOnTerminal: true).policy == .ask)
    #expect(try Self.answer(["--accept"], isOnTerminal: true).policy == .accept)
    #expect(try Self.answer(["--reject", "not now"]).policy == AnswerPolicy.reject("not now"))
    let answer = try Self.answer(["--accept", "--calls", "3", "--ring-for", "2"])
    #expect(answer.callLimit == 3 && answer.ringFor == 2 && answer.echo == nil)
    #expect(try Self.answer(["--accept", "--echo"]).echo == 3)
    #expect(try Self.answer(["--accept", "--echo", "--echo-delay", "5"]).echo == 5)
    // Whoever comes first must not hold the line of a program that answers everybody.
    #expect(try Self.answer(["--accept", "--echo"]).sound.duration == 300)
    #expect(try Self.answer(["--accept", "--echo", "--duration", "9"]).sound.duration == 9)
    #expect(try Self.answer(["--accept"]).sound.duration == nil)
    for words in [
      ["--echo-delay", "5"], ["--echo", "--play", "a.wav"], ["--echo", "--echo-delay", "1"],
    ] {
      #expect(throws: UsageError.self) { _ = try Self.answer(["--accept"] + words) }
    }
  }

  @Test(arguments: [
    ["--accept", "--ask"], ["--ask"], ["--reject", String(repeating: "a", count: 129)],
    ["--calls", "0"], ["--ring-for", "-1"], ["bob"],
  ])
  func `a wrong answer is refused`(words: [String]) {
    #expect(throws: UsageError.self) { _ = try Self.answer(words) }
  }

  @Test func `a filter admits by what is pinned, never by what is claimed`() throws {
    let known = try CallerFilter("known")
    func admits(_ filter: CallerFilter, _ name: String?, _ trust: Trust) -> Bool {
      filter.admits(.zero, name: name, trust: trust)
    }
    #expect(admits(known, "bob", .pinned) && admits(known, nil, .verified))
    #expect(admits(known, nil, .pinned) && !admits(known, nil, .new))
    #expect(!admits(known, "bob", .new) && !admits(known, "bob", .changed))
    let bob = try CallerFilter("bob,verified")
    #expect(admits(bob, "bob", .pinned) && admits(bob, "eve", .verified))
    #expect(admits(bob, nil, .verified) && !admits(bob, nil, .pinned))
    #expect(!admits(bob, "eve", .pinned) && !admits(bob, "bob", .new))
    #expect(admits(try CallerFilter(nil), nil, .new))
    let id = try CallerFilter("\(PeerID.zero)")
    #expect(admits(id, nil, .new) && admits(id, "eve", .pinned))
    let other = PeerID(word0: 1, word1: 2, word2: 3, word3: 4)
    #expect(!id.admits(other, name: nil, trust: .verified))
    for text in ["", ",", "no name", "\(PeerID.zero)".dropLast() + ""] {
      #expect(throws: UsageError.self) { _ = try CallerFilter(text) }
    }
  }

  @Test func `recordings of several calls do not fall on each other`() throws {
    let numbered = try Self.answer(["--accept", "--save", "call-{n}.wav"]).sound
    #expect(numbered.saveName(call: 1) == "call-1.wav")
    #expect(numbered.saveName(call: 12) == "call-12.wav")
    let plain = try Self.answer(["--accept", "--save", "heard.wav"]).sound
    #expect(plain.saveName(call: 1) == "heard.wav")
    #expect(plain.saveName(call: 2) == "heard-2.wav")
  }

  @Test func `the commands without a network take their options`() throws {
    let card = try CardCommand(Arguments(["--qr", "--identity", "i", "--json"]))
    #expect(card.showsQR && card.options.identity == "i" && card.options.isJSON)
    #expect(try KeygenCommand(Arguments(["--name", "bob"])).options.name == "bob")
    #expect(throws: UsageError.self) { try KeygenCommand(Arguments(["--name", "b b"])) }
    #expect(throws: UsageError.self) { try KeygenCommand(Arguments(["--qr"])) }
    #expect(try InspectCommand(Arguments(["-"])).subject == "-")
    #expect(throws: UsageError.self) { try InspectCommand(Arguments([])) }
  }

  @Test(arguments: Subcommand.allCases)
  func `help names the options and has an example`(command: Subcommand) {
    let text = Help.text(command)
    #expect(text.hasPrefix("usage: earshot \(command.rawValue)"))
    #expect(text.contains("example: earshot"))
    #expect(Help.overview.contains("earshot \(command.rawValue)"))
  }
}
