import Testing

@testable import Arguments

struct ArgumentsTests {
  @Test func `options, flags and positional arguments come in any order`() throws {
    var arguments = Arguments([
      "call", "--play=a b.wav", "--stun", "one", "bob", "--stun=two", "--duration", "2.5", "--loop",
    ])
    #expect(arguments.command() == "call")
    #expect(try arguments.option("--play") == "a b.wav")
    #expect(try arguments.options("--stun") == ["one", "two"])
    #expect(try arguments.number("--duration", "seconds", in: 0.1...86400) == 2.5)
    #expect(try arguments.flag("--loop"))
    #expect(try !arguments.flag("--mute"))
    #expect(try arguments.option("--record") == nil)
    #expect(try arguments.positional("peer") == "bob")
    #expect(arguments.optionalPositional() == nil)
    try arguments.finish()
  }

  @Test func `a value may be a dash, a negative number or empty`() throws {
    var arguments = Arguments(["--events", "-", "--offset", "-3", "--name=", "-"])
    #expect(try arguments.option("--events") == "-")
    #expect(try arguments.integer("--offset", "frames", in: -10...10) == -3)
    #expect(try arguments.option("--name") == "")
    #expect(try arguments.positional("file") == "-")
    try arguments.finish()
  }

  @Test(arguments: ["7400", ""])
  func `a number alone is no address`(text: String) throws {
    var arguments = Arguments(["--listen=\(text)"])
    let error = #expect(throws: UsageError.self) {
      _ = try arguments.address("--listen", like: "[::]:7400")
    }
    #expect(
      error?.description == "--listen wants HOST:PORT, not '\(text)'.\nWrite it like [::]:7400.")
    var others = Arguments(["--listen", "::1", "--metrics", "host"])
    #expect(try others.address("--listen", like: "") == "::1")
    #expect(try others.address("--metrics", like: "") == "host")
    #expect(try others.address("--public", like: "") == nil)
  }

  @Test func `what follows two dashes is positional`() throws {
    var arguments = Arguments(["say", "--", "--hello", "-x"])
    #expect(arguments.command() == "say")
    #expect(try !arguments.flag("--hello"))
    #expect(try arguments.positional("text") == "--hello")
    #expect(try arguments.positional("text") == "-x")
    try arguments.finish()
  }

  @Test(arguments: [["--help"], ["call", "-h"], ["call", "--nonsense", "--help"]])
  func `help is seen wherever it stands`(words: [String]) {
    #expect(Arguments(words).wantsHelp)
    #expect(!Arguments(["--", "--help"]).wantsHelp)
  }

  @Test(arguments: [
    (
      ["--duraton", "5"], "--duraton is not an option of this command.", "Did you mean --duration?"
    ),
    (["--zzz"], "--zzz is not an option of this command.", ""),
    (["bob", "carol"], "'carol' is one argument too many.", ""),
    (["bob", "--loop=yes"], "--loop takes no value, but was given '--loop=yes'.", ""),
    (["bob", "--play"], "--play wants a value.", "Write --play VALUE, or --play=VALUE."),
    (["--play", "--loop"], "--play wants a value.", "Write --play VALUE, or --play=VALUE."),
    (
      ["--play", "a", "--play=b"], "--play was given 2 times; it can be given once.", ""
    ),
    (
      ["--duration", "abc"],
      "--duration wants a number of seconds between 0.1 and 86400, not 'abc'.", ""
    ),
    (
      ["--duration=nan"], "--duration wants a number of seconds between 0.1 and 86400, not 'nan'.",
      ""
    ),
    (["--duration=0"], "--duration wants a number of seconds between 0.1 and 86400, not '0'.", ""),
    (["--count=1.5"], "--count wants a whole number of packets between 1 and 9, not '1.5'.", ""),
    (["--count=10"], "--count wants a whole number of packets between 1 and 9, not '10'.", ""),
    (["--video=vpp8"], "--video wants one of none, vp8, not 'vpp8'.", "Did you mean vp8?"),
    ([], "<peer> is missing.", ""),
  ])
  func `a mistake is named, with advice`(words: [String], message: String, advice: String) {
    let error = #expect(throws: UsageError.self) {
      var arguments = Arguments(words)
      _ = try arguments.flag("--loop")
      _ = try arguments.option("--play")
      _ = try arguments.number("--duration", "seconds", in: 0.1...86400)
      _ = try arguments.integer("--count", "packets", in: 1...9)
      _ = try arguments.choice("--video", of: ["none", "vp8"])
      _ = try arguments.positional("peer")
      try arguments.finish()
    }
    #expect(error == UsageError(message, advice: advice))
  }

  @Test func `a conversion of one's own says what it wants`() throws {
    var arguments = Arguments(["--listen", "here"])
    let error = #expect(throws: UsageError.self) {
      _ = try arguments.option("--listen", wants: "an address") { Int($0) }
    }
    #expect(error?.message == "--listen wants an address, not 'here'.")
  }

  @Test(arguments: [
    ("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("abcd", "acbd", 1), ("mute", "mute", 0),
    ("--statistics", "--statistic", 1),
  ])
  func `edit distance counts single letters and swaps`(a: String, b: String, distance: Int) {
    #expect(Arguments.editDistance(a, b) == distance)
    #expect(Arguments.editDistance(b, a) == distance)
  }

  @Test(arguments: [
    ("2500000", 2_500_000), ("2.5M", 2_500_000), ("2500k", 2_500_000), ("32K", 32_000),
    ("0.1G", 100_000_000), ("1e3K", 1_000_000), ("0.5", nil), ("2.0005k", nil), ("M", nil),
    ("2m", nil), ("2 M", nil), ("2MM", nil), ("0x2M", nil), ("1e99G", nil),
  ])
  func `a whole number may be of thousands`(text: String, value: Int?) throws {
    var arguments = Arguments(["--rate", text])
    do {
      #expect(
        try arguments.integer("--rate", "bits a second", in: 1...1_000_000_000) == value)
    } catch {
      #expect(value == nil)
    }
  }

  @Test(arguments: [
    ("10", 10), ("10s", 10), ("1500ms", 1.5), ("5m", 300), ("0.5h", 1800), ("1d", 86_400),
    ("s", nil), ("10 s", nil), ("10x", nil), ("infs", nil), ("3m5s", nil), ("2d", nil),
  ])
  func `a time may have a unit`(text: String, seconds: Double?) throws {
    var arguments = Arguments(["--for", text, "--rejoin=90s", "--mos", "3"])
    #expect(try arguments.number("--rejoin", "minutes", in: 0.5...20) == 1.5)
    #expect(try arguments.number("--mos", "points", in: 1...5) == 3)
    do {
      #expect(try arguments.number("--for", "seconds", in: 0.1...86_400) == seconds)
    } catch {
      #expect(seconds == nil)
    }
    var points = Arguments(["--mos", "3s"])
    #expect(throws: UsageError.self) { try points.number("--mos", "points", in: 1...5) }
  }

  @Test func `one number is not taken for another`() {
    #expect(Arguments.suggestion("30", ["10", "20"]).isEmpty)
    #expect(Arguments.suggestion("vpp8", ["none", "vp8"]) == "Did you mean vp8?")
  }
}
