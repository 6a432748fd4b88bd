import Glibc
import Testing

/// The program earshot-relay and its rendezvous, on the loopback address.
@Suite(.serialized, .enabled(if: Program.exists, "the servers are not built"))
struct RelayProgramTests {
  private let scratch = "/tmp/earshot-relay-program-\(getpid())"
  private let nobody = String(repeating: "y", count: 52)

  private func relay(
    _ rendezvous: String, _ more: String..., reading stream: Int32 = 2
  ) throws -> Program {
    let words = ["--rendezvous", rendezvous, "--data", scratch] + more
    return try #require(Program(words, of: Program.relay, reading: stream))
  }

  @Test func `says that the rendezvous does not answer, and waits for it`() throws {
    defer { Program.remove(scratch) }
    let waiting = try relay("127.0.0.1:1#\(nobody)", "--listen", "127.0.0.1:0")
    #expect(
      waiting.readLine()
        == "earshot-relay: not registered: nothing answers at 127.0.0.1:1; asking on.")
    #expect(waiting.readLine().hasPrefix("Check --rendezvous"))
    let (code, seconds) = waiting.stop(SIGTERM)
    #expect(code == 0 && seconds < 1)
  }

  @Test func `says which ID the rendezvous has when it is told another`() throws {
    let data = scratch + "-rendezvous"
    defer {
      Program.remove(scratch)
      Program.remove(data)
    }
    let server = try #require(Program(["--listen", "127.0.0.1:0", "--data", data, "--json"]))
    let words = server.readLine().split(separator: "\"").map(String.init)
    let address = try #require(words.first { $0.hasPrefix("127.") })
    let id = try #require(words.first { $0.count == 52 })
    let (said, code) = try relay("\(address)#\(nobody)", "--listen", "127.0.0.1:0").finish()
    #expect(code == 7)
    #expect(said.contains("the rendezvous at \(address) has the ID \(id), not \(nobody)."))
    #expect(said.contains("start with --rendezvous \(address)#\(id)\n"))
    #expect(said.split(separator: "\n").count == 2, "said once")
    #expect(server.stop(SIGTERM).code == 0)
  }

  @Test func `names the option that is wrong`() throws {
    defer { Program.remove(scratch) }
    let first = try relay("127.0.0.1:1#\(nobody)", "--listen", "127.0.0.1:0", reading: 1)
    let address = try #require(first.readLine().split(separator: " ").dropFirst(2).first)
    let port = String(address.dropLast())
    let taken = try relay("127.0.0.1:1#\(nobody)", "--listen", port).finish()
    #expect(taken.code == 1 && taken.said.contains("give another one with --listen"))
    #expect(first.stop(SIGTERM).code == 0)
    for (option, value) in [("--listen", "7500"), ("--public", "7500"), ("--metrics", "9101")] {
      let bare = try relay("127.0.0.1:1#\(nobody)", option, value).finish()
      #expect(bare.code == 2 && bare.said.contains("\(option) wants HOST:PORT, not '\(value)'."))
      let bad = try relay("127.0.0.1:1#\(nobody)", option, "::1:x:y").finish()
      #expect(bad.code == 2 && bad.said.contains("\(option) wants an address like"))
    }
    let port7400 = try relay("7400#\(nobody)").finish()
    #expect(port7400.code == 2 && port7400.said.contains("--rendezvous wants HOST:PORT#ID"))
    let unknown = try relay("::1:x:y#\(nobody)", "--listen", "127.0.0.1:0").finish()
    #expect(unknown.code == 3 && unknown.said.contains("Check --rendezvous"))
  }
}

/// What is asked for in other ways than `--help`.
@Suite(.enabled(if: Program.exists, "the servers are not built"))
struct ServerHelpTests {
  @Test(arguments: [
    ["--help"], ["-h"], ["help"], ["?"], ["names", "--help"], ["names", "?"], ["help", "names"],
    ["backup", "-h"], ["help", "restore"],
  ])
  func `the help of the rendezvous fits 80 columns, in ASCII`(words: [String]) throws {
    let (said, code) = try #require(Program(words)).finish()
    let command = words.first { ["names", "backup", "restore"].contains($0) }
    let usage = command.map { $0 == "restore" ? " backup FILE" : " \($0)" } ?? " [options]"
    #expect(code == 0 && said.hasPrefix("usage: earshot-rendezvous\(usage)"), "\(said)")
    Self.checkLayout(said)
  }

  @Test(arguments: [["--help"], ["-h"], ["help"], ["?"]])
  func `the help of the relay fits 80 columns, in ASCII`(words: [String]) throws {
    let (said, code) = try #require(Program(words, of: Program.relay)).finish()
    #expect(code == 0 && said.hasPrefix("usage: earshot-relay --rendezvous"), "\(said)")
    Self.checkLayout(said)
  }

  @Test(arguments: [Program.rendezvous, Program.relay], ["--version", "-V", "version"])
  func `the version has three names`(program: String, word: String) throws {
    let (said, code) = try #require(Program([word], of: program)).finish()
    #expect(code == 0 && said.hasPrefix("\(program) 0."), "\(said)")
  }

  @Test func `there is no help for what is no command`() throws {
    #expect(try #require(Program(["help", "frobnicate"])).wait() == 2)
    let relay = try #require(Program(["help", "names"], of: Program.relay, reading: 2)).finish()
    #expect(relay.code == 2 && relay.said.contains("There is no help for 'names'."))
  }

  private static func checkLayout(_ said: String) {
    for line in said.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
    #expect(said.utf8.allSatisfy { $0 < 128 })
    #expect(said.split(separator: "\n").contains("What it tells:") || said.contains("--data DIR "))
  }
}
