import Arguments
import Rendezvous
import Testing

@testable import RendezvousCommand

@Suite struct ConfigFileTests {
  private func words(_ text: String, beside given: [String] = []) throws -> [String] {
    try ConfigFile.words(text, path: "/etc/e.conf", beside: given)
  }

  private func complaint(_ text: String) -> String? {
    do { _ = try words(text) } catch { return (error as? UsageError)?.message }
    return nil
  }

  @Test func `a line is an option of the command line`() throws {
    let text = """
      # A comment.
      [earshot-rendezvous]
      listen = 192.0.2.1:7400
        metrics=127.0.0.1:9100\t
      ; Another.

      turn = turn:a:3478
      turn = turn:b:3478
      json = yes
      log-identities = no
      """
    #expect(
      try words(text) == [
        "--listen=192.0.2.1:7400", "--metrics=127.0.0.1:9100", "--turn=turn:a:3478",
        "--turn=turn:b:3478", "--json",
      ])
  }

  @Test func `every option in the usage is one of the file, but for those about the call itself`() {
    let named = ServeOptions.usage.split(separator: "\n").compactMap { line -> String? in
      let line = line.drop { $0 == " " }
      guard line.hasPrefix("--") else { return nil }
      return String(line.dropFirst(2).prefix { $0 != " " })
    }
    let known = Set(ConfigFile.values.keys).union(ConfigFile.flags)
    #expect(Set(named).subtracting(known) == ["config", "print-id", "version", "help"])
    #expect(known.subtracting(named).isEmpty)
  }

  @Test func `the clients of a node may be more than usual, and no more than it can count`() throws
  {
    func options(_ words: [String]) throws -> ServeOptions {
      try ServeOptions(Arguments(["--data", "d"] + words), environment: [:])
    }
    func sessions(_ words: String...) throws -> Int {
      RendezvousCommand.Server.limits(try options(words)).sessions
    }
    #expect(try sessions() == 65_536)
    #expect(try sessions("--limit-clients", "100000") == 100_000)
    #expect(try sessions("--limits", "measurement", "--limit-clients", "7") == 7)
    for count in ["0", "1048577", "many"] {
      #expect(throws: UsageError.self) { try sessions("--limit-clients", count) }
    }
    let other = try options(["--limit-clients=9"])
    #expect(try options([]).firstToRestart(for: other) == "--limit-clients")
  }

  @Test func `the hosts of a channel are 1 to 64, by the command line or the file`() throws {
    let home = ["HOME": "/tmp"]
    for (given, hosts) in [([], 17), (["18"], 18), (["1"], 1), (["64"], 64)] as [([String], Int)] {
      let words = given.flatMap { ["--limit-channel-hosts", $0] }
      let options = try ServeOptions(Arguments(words), environment: home)
      #expect(RendezvousCommand.Server.limits(options).channelHosts == hosts)
    }
    #expect(try words("limit-channel-hosts = 18") == ["--limit-channel-hosts=18"])
    for bad in ["0", "65", "-1", "many", "1.5"] {
      let complaint = #expect(throws: UsageError.self) {
        try ServeOptions(Arguments(["--limit-channel-hosts=\(bad)"]), environment: home)
      }
      let words = "--limit-channel-hosts wants a whole number of hosts between 1 and 64, not"
      #expect(complaint?.message == words + " '\(bad)'.")
    }
  }

  @Test func `the command line goes before the file`() throws {
    let text = "listen = a\nallow = f\nlog-level = debug\n"
    #expect(
      try words(text, beside: ["--listen", "b", "--open"]) == ["--log-level=debug"])
    #expect(try words(text, beside: ["--allow=g"]) == ["--listen=a", "--log-level=debug"])
  }

  @Test func `what cannot be understood is refused with its line`() {
    #expect(complaint("\nlisen = x") == "/etc/e.conf, line 2: 'lisen' is not an option.")
    #expect(complaint("listen") == "/etc/e.conf, line 1: 'listen' has no '='.")
    #expect(complaint("listen =") == "/etc/e.conf, line 1: 'listen' wants a value.")
    #expect(complaint("open = maybe") == "/etc/e.conf, line 1: 'open' is yes or no, not 'maybe'.")
    #expect(complaint("data = a\ndata = b") == "/etc/e.conf, line 2: 'data' stands above already.")
    #expect(complaint("[turn]") == "/etc/e.conf, line 1: there is no section [turn].")
    #expect(complaint("config = x") == "/etc/e.conf, line 1: 'config' is not an option.")
  }
}
