import Glibc
import Testing

/// The program itself, on the loopback address: starts, says where it listens, stops.
@Suite(.serialized) struct ProgramTests {
  @Test(.enabled(if: Program.exists, "earshot-rendezvous is not built"))
  func `says where it listens, and stops within a second of SIGTERM`() throws {
    let scratch = "/tmp/earshot-program-\(getpid())"
    defer { Program.remove(scratch) }
    let program = try #require(
      Program(["--listen", "127.0.0.1:0", "--data", scratch, "--json"]))
    let line = program.readLine()
    #expect(line.hasPrefix("{\"type\":\"listening\",\"address\":\"127.0.0.1:"))
    #expect(line.contains("\",\"identity\":\""))
    let (code, seconds) = program.stop(SIGTERM)
    #expect(code == 0)
    #expect(seconds < 1)
    let again = try #require(
      Program(["--listen", "127.0.0.1:0", "--data", scratch, "--json"]))
    // The same identity, from the file.
    #expect(again.readLine().suffix(56) == line.suffix(56))
    #expect(again.stop(SIGINT).code == 0)
  }

  /// Goal: neither lines nor what is read go to a file of the service's own.
  @Test(.enabled(if: Program.exists, "earshot-rendezvous is not built"))
  func `nothing that is opened takes the place of a closed standard stream`() throws {
    let scratch = "/tmp/earshot-program-cut-\(getpid())"
    defer { Program.remove(scratch) }
    let program = try #require(
      Program(["--listen", "127.0.0.1:0", "--data", scratch, "--json"], isCut: true))
    #expect(program.readLine().contains("listening"))
    #expect(program.target(of: 0) == "/dev/null")
    #expect(program.stop(SIGTERM).code == 0)
  }

  @Test(.enabled(if: Program.exists, "earshot-rendezvous is not built"))
  func `outlives the signals that ask a service for something else than its end`() throws {
    let scratch = "/tmp/earshot-program-signals-\(getpid())"
    defer { Program.remove(scratch) }
    let program = try #require(
      Program(["--listen", "127.0.0.1:0", "--data", scratch, "--json"]))
    #expect(program.readLine().contains("listening"))
    for number in [SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE, SIGXFSZ] { program.signal(number) }
    let (code, seconds) = program.stop(SIGTERM)
    #expect(code == 0 && seconds < 1)
  }

  /// Method: SIGHUP, and another one at once, after a line that is none was added.
  @Test(.enabled(if: Program.exists, "earshot-rendezvous is not built"))
  func `a mistake in the options is told, also right after they were read again`() throws {
    let scratch = "/tmp/earshot-program-options-\(getpid())"
    let config = scratch + ".conf"
    defer {
      Program.remove(scratch)
      _ = unsafe unlink(config)
    }
    func append(_ line: String) {
      let bytes = Array((line + "\n").utf8)
      let file = unsafe open(config, O_WRONLY | O_CREAT | O_APPEND, 0o600)
      let count = unsafe write(file, bytes, bytes.count)
      close(file)
      #expect(count == bytes.count)
    }
    append("drain = 1")
    let words = ["--listen", "127.0.0.1:0", "--data", scratch, "--config", config]
    let program = try #require(Program(words, reading: 2))
    program.signal(SIGHUP)
    #expect(program.readLine().hasSuffix("\(config) was read again"))
    append("nonsense = 1")
    program.signal(SIGHUP)
    #expect(program.readLine().contains("\(config) stays as it was: "))
    #expect(program.stop(SIGTERM).code == 0)
  }

  @Test(.enabled(if: Program.exists, "earshot-rendezvous is not built"))
  func `with nothing under way --drain waits for nobody`() throws {
    let scratch = "/tmp/earshot-program-drain-\(getpid())"
    defer { Program.remove(scratch) }
    let program = try #require(
      Program(["--listen", "127.0.0.1:0", "--data", scratch, "--drain", "30", "--json"]))
    #expect(program.readLine().contains("listening"))
    let (code, seconds) = program.stop(SIGTERM)
    #expect(code == 0 && seconds < 1)
  }

  /// Method: bob stands still while the invitation of alice is under way to him. The server is told
  /// to end, and alice to leave; then bob answers her. It waited 8 s for her to hear of it.
  @Test(
    .enabled(
      if: Program.areThere(Program.rendezvous, Program.peer), "the programs are not built"),
    .timeLimit(.minutes(1)))
  func `--drain ends when what was under way is there, whoever was told to leave`() throws {
    let scratch = "/tmp/earshot-program-drained-\(getpid())"
    let ends = ["alice", "bob"].map { "\(scratch)-\($0)" }
    defer {
      Program.remove(scratch)
      for end in ends {
        for more in ["", ".known-peers", ".known-peers.lock"] { _ = unsafe unlink(end + more) }
      }
    }
    let server = try #require(
      Program([
        "--listen", "127.0.0.1:0", "--data", scratch, "--drain", "30", "--json", "--events", "-",
      ]))
    let words = try #require(server.readLine(with: "listening")).split(separator: "\"")
    let address = String(try #require(words.first { $0.hasPrefix("127.") }))
    let online = ["--rendezvous", address, "--no-port-mapping", "--json", "--identity"]
    let bob = try #require(
      Program(["answer", "--accept", "--name", "bob"] + online + [ends[1]], of: Program.peer))
    try #require(bob.readLine(with: "\"registered\"") != nil)
    bob.signal(SIGSTOP)
    let alice = try #require(Program(["call", "bob"] + online + [ends[0]], of: Program.peer))
    try #require(server.readLine(with: "\"forwarded\"") != nil)
    server.signal(SIGTERM)
    try #require(server.readLine(with: "\"goingAway\"") != nil)
    let start = ContinuousClock.now
    bob.signal(SIGCONT)
    #expect(server.wait() == 0)
    #expect(start.duration(to: .now) < .seconds(3))
    for program in [alice, bob] { #expect(program.stop(SIGKILL).code == -SIGKILL) }
  }

  @Test(
    .enabled(
      if: Program.areThere(Program.rendezvous, Program.peer), "the programs are not built"),
    .timeLimit(.minutes(1)))
  func `--limit-clients says how many may be registered`() throws {
    let scratch = "/tmp/earshot-program-limit-\(getpid())"
    let ends = ["alice", "bob"].map { "\(scratch)-\($0)" }
    defer {
      Program.remove(scratch)
      for end in ends {
        for more in ["", ".known-peers", ".known-peers.lock"] { _ = unsafe unlink(end + more) }
      }
    }
    let server = try #require(
      Program([
        "--listen", "127.0.0.1:0", "--data", scratch, "--json", "--events", "-",
        "--limit-clients", "1",
      ]))
    let words = try #require(server.readLine(with: "listening")).split(separator: "\"")
    let address = String(try #require(words.first { $0.hasPrefix("127.") }))
    let online = [
      "answer", "--accept", "--rendezvous", address, "--no-port-mapping", "--json", "--identity",
    ]
    let programs = try ends.map { end in
      let program = try #require(Program(online + [end], of: Program.peer))
      let isTold = server.readLine { $0.contains("registered") || $0.contains("serverFull") }
      #expect(isTold?.contains("serverFull") == (end == ends[1]))
      return program
    }
    for program in programs { #expect(program.stop(SIGKILL).code == -SIGKILL) }
    #expect(server.stop(SIGTERM).code == 0)
  }

  @Test(
    .enabled(if: Program.exists, "earshot-rendezvous is not built"),
    arguments: [
      ["backup"], ["restore", "f", "g"], ["--turn", "turn:h"], ["--turn-secret=f"],
      ["--turn", "http://h", "--turn-secret", "f"],
      ["--redis", "u"], ["--limit-clients", "0"],
      ["--config"], ["--relay-key"], ["--drain", "601"],
      ["--limit-channel-hosts", "0"], ["--limit-channel-hosts", "65"],
      ["serve"],
    ])
  func `what is not there yet is refused, and a relay without its secret`(words: [String]) throws {
    #expect(try #require(Program(words)).wait() == 2)
  }

  @Test(.enabled(if: Program.exists, "earshot-rendezvous is not built"))
  func `lists names also while a server runs, and frees them while none does`() throws {
    let scratch = "/tmp/earshot-program-names-\(getpid())"
    defer { Program.remove(scratch) }
    let missing = try #require(Program(["names", "list", "--data", scratch]))
    #expect(missing.wait() == 8)
    let server = try #require(Program(["--listen", "127.0.0.1:0", "--data", scratch]))
    #expect(server.readLine().hasPrefix("listening"))
    for word in ["list", "export"] {
      #expect(try #require(Program(["names", word, "--data", scratch])).wait() == 0)
    }
    #expect(try #require(Program(["names", "free", "bob", "--data", scratch])).wait() == 8)
    #expect(server.stop(SIGTERM).code == 0)
    let list = try #require(Program(["names", "export", "--data", scratch]))
    #expect(list.readLine() == "" && list.wait() == 0)
    #expect(try #require(Program(["names", "free", "bob", "--data", scratch])).wait() == 1)
    #expect(try #require(Program(["names", "free", "no name", "--data", scratch])).wait() == 2)
    #expect(try #require(Program(["names", "lose", "--data", scratch])).wait() == 2)
  }

  @Test(.enabled(if: Program.exists, "earshot-rendezvous is not built"))
  func `is backed up while it runs, and restored`() throws {
    let scratch = "/tmp/earshot-program-backup-\(getpid())"
    let (file, other) = (scratch + ".file", scratch + "-2")
    defer {
      Program.remove(scratch)
      Program.remove(other)
      _ = unsafe unlink(file)
    }
    let server = try #require(Program(["--listen", "127.0.0.1:0", "--data", scratch, "--json"]))
    let line = server.readLine()
    #expect(try #require(Program(["backup", file, "--data", scratch])).wait() == 0)
    #expect(try #require(Program(["backup", file, "--data", scratch])).wait() == 8)
    #expect(server.stop(SIGTERM).code == 0)
    #expect(try #require(Program(["restore", file, "--data", other])).wait() == 0)
    let again = try #require(Program(["--listen", "127.0.0.1:0", "--data", other, "--json"]))
    #expect(again.readLine().suffix(56) == line.suffix(56), "the same identity")
    for (wrong, sentence) in [
      (
        scratch + "-none",
        "There is no \(scratch)-none. Give the file that earshot-rendezvous backup"
      ),
      ("/proc/version", "/proc/version is no backup of a rendezvous."),
    ] {
      let words = ["restore", wrong, "--data", scratch + "-3"]
      let (said, code) = try #require(Program(words, reading: 2)).finish()
      #expect(code == 8 && said.contains(sentence), "\(said)")
    }
    #expect(again.stop(SIGTERM).code == 0)
  }

  @Test(.enabled(if: Program.exists, "earshot-rendezvous is not built"))
  func `ends with the code of the contract when it cannot start`() throws {
    let scratch = "/tmp/earshot-program-codes-\(getpid())"
    defer { Program.remove(scratch) }
    let usage = try #require(Program(["--listen", "nowhere:at:all"]))
    #expect(usage.wait() == 2)
    for words in [["--listen", "7400"], ["--metrics", "9100"]] {
      let bare = try #require(Program(words, reading: 2)).finish()
      #expect(
        bare.code == 2 && bare.said.contains("\(words[0]) wants HOST:PORT, not '\(words[1])'"))
    }
    let unknown = try #require(Program(["--lisen", "x"]))
    #expect(unknown.wait() == 2)
    let unwritable = try #require(Program(["--listen", "127.0.0.1:0", "--data", "/proc/none"]))
    #expect(unwritable.wait() == 8)
    let holder = try #require(
      Program(["--listen", "127.0.0.1:0", "--data", scratch, "--json"]))
    let address = holder.readLine().split(separator: "\"").first { $0.hasPrefix("127.") } ?? ""
    let taken = try #require(
      Program(["--listen", String(address), "--data", scratch + "-2"]))
    #expect(taken.wait() == 1)
    Program.remove(scratch + "-2")
    #expect(holder.stop(SIGTERM).code == 0)
    let help = try #require(Program(["--help"]))
    #expect(help.readLine().hasPrefix("usage: earshot-rendezvous"))
    #expect(help.wait() == 0)
  }
}
