import Arguments
import Earshot
import Foundation
import PeerCommand
import Primitives
import Testing

/// `earshot contacts`: what it takes, prints and returns.
struct ContactsCommandTests {
  private static let bob = PeerID(word0: 1, word1: 2, word2: 3, word3: 4)
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func run(_ words: String) throws -> String {
    let words = words.split(separator: " ").map(String.init)
    return try ContactsCommand(Arguments(words + ["--identity", folder.file("id")])).text()
  }

  /// Lines of the file's format, with the sum made right.
  private func pin(_ lines: String..., version: Int = 1) throws {
    let body = (["earshot known-peers \(version)"] + lines).map { $0 + "\n" }.joined()
    let sum = body.utf8.reduce(UInt64(0xCBF2_9CE4_8422_2325)) {
      ($0 ^ UInt64($1)) &* 0x100_0000_01B3
    }
    try folder.write(
      Array("\(body)end \(String(sum, radix: 16))\n".utf8), to: "id.known-peers")
  }

  @Test func `lists who is pinned, in lines and as JSON`() throws {
    #expect(try run("list").hasPrefix("Nobody is pinned in /"))
    #expect(try run("list --json").isEmpty)
    try pin(
      "name bob \(Self.bob) pinned 86400 172800 -", "rendezvous h:7400 \(Self.bob) verified 1 2 -")
    #expect(
      try run("list").split(separator: "\n") == [
        "bob                pinned    last seen 1970-01-03  \(Self.bob)",
        "rendezvous h:7400  verified  last seen 1970-01-01  \(Self.bob)",
      ])
    let lines = try run("list --json").split(separator: "\n").map { JSONReader.value(of: $0) }
    #expect(lines.map { $0?["type"]?.asString } == ["contact", "contact"])
    #expect(lines[0]?["name"]?.asString == "bob" && lines[0]?["trust"]?.asString == "pinned")
    #expect(lines[0]?["lastSeen"]?.asString == "1970-01-03T00:00:00.000Z")
    #expect(lines[1]?["rendezvous"]?.asString == "h:7400")
    #expect(lines[1]?["id"]?.asString == "\(Self.bob)")
  }

  @Test func `forgets and verifies, and says so`() throws {
    try pin("name bob \(Self.bob) pinned 1 2 -", "rendezvous h:7400 \(Self.bob) pinned 1 2 -")
    #expect(try run("verify bob --id \(Self.bob)") == "bob is verified: \(Self.bob).")
    let line = try #require(JSONReader.value(of: try run("verify bob --json")))
    #expect(line["change"]?.asString == "verified" && line["trust"]?.asString == "verified")
    #expect(try run("forget h:7400") == "rendezvous h:7400 is forgotten.")
    #expect(try run("forget bob") == "bob is forgotten.")
    #expect(try run("list").hasPrefix("Nobody is pinned"))
  }

  /// A caller without a name: the call has shown an ID alone.
  @Test func `pins an ID by a name of the host's own, unverified`() throws {
    let other = PeerID(word0: 5, word1: 2, word2: 3, word3: 4)
    #expect(try run("import \(Self.bob) --as b").hasPrefix("b is kept: \(Self.bob).\n"))
    #expect(try run("list").hasPrefix("b  pinned    last seen "))
    #expect(try run("import \(Self.bob) --as b").hasPrefix("b is kept"), "and again")
    let failure = #expect(throws: CommandFailure.self) { try run("import \(other) --as b") }
    #expect(failure?.code == .identity)
    #expect(try run("verify b --id \(Self.bob)") == "b is verified: \(Self.bob).")
    #expect(try run("import \(Self.bob) --as b").hasPrefix("b is kept"))
    #expect(try run("list").hasPrefix("b  verified"), "it stays so")
    #expect(try run("import EARSHOT:\(other) --as c").hasPrefix("c is kept: \(other)."))
    #expect(throws: UsageError.self) { try run("import \(other)") }
  }

  @Test func `lists, verifies, names and forgets who has no name`() throws {
    let made = try LocalIdentityFile.open(at: folder.file("other"), name: nil)
    try pin("id - \(Self.bob) pinned 86400 172800 -", version: 2)
    #expect(try run("list") == "no name  pinned    last seen 1970-01-03  \(Self.bob)")
    let line = try #require(JSONReader.value(of: try run("list --json")))
    #expect(line["name"] == nil && line["id"]?.asString == "\(Self.bob)")
    #expect(try run("verify \(Self.bob)") == "\(Self.bob) is verified.")
    #expect(try run("list").contains("verified"))
    #expect(throws: CommandFailure.self) { try run("verify \(PeerID.zero)") }
    #expect(try run("forget \(Self.bob)") == "\(Self.bob) is forgotten.")
    #expect(try run("list").hasPrefix("Nobody is pinned"))

    try pin("id - \(Self.bob) verified 1 2 -", version: 2)
    #expect(try run("import \(Self.bob) --as b").hasPrefix("b is kept: \(Self.bob).\n"))
    #expect(try run("list").hasPrefix("b  verified"), "which it was already")
    _ = try run("forget b")

    let book = try ContactBook(identityFile: folder.file("id"))
    let said = CallRun.confirmed(try book.confirm(made.id), book.commands)
    #expect(said.contains("import \(made.id) --as NAME --identity "))
    #expect(throws: CommandFailure.self) { try run("rename \(made.id) dan") }
    #expect(try run("import \(made.card) --as dan") == "dan is kept, as verified: \(made.id).")
    #expect(try run("list").split(separator: "\n").count == 1)
    #expect(try run("rename \(made.id) daniel").hasPrefix("\(made.id) is called daniel"))
    let again = CallRun.confirmed(try book.confirm(made.id), book.commands)
    #expect(again.contains("daniel is verified"))
  }

  @Test func `keeps who signed a card, and renames them`() throws {
    let made = try LocalIdentityFile.open(
      at: folder.file("other"), name: "dave", rendezvous: "h:7400#\(Self.bob)")
    #expect(try run("import \(made.card)") == "dave is kept, as verified: \(made.id).")
    let line = try #require(JSONReader.value(of: try run("import \(made.card) --as d --json")))
    #expect(line["change"]?.asString == "imported" && line["trust"]?.asString == "verified")
    #expect(try run("rename d david") == "d is called david from now on: \(made.id).")
    #expect(try run("list").split(separator: "\n").count == 2)
    // Where the contact is found is on the card that was kept.
    let words = ["--identity", folder.file("id")]
    for target in ["david", made.card, "\(made.id)"] {
      let call = try CallCommand(Arguments([target] + words)) { _ in nil }
      #expect(call.online.rendezvous == "h:7400#\(Self.bob)")
      #expect(call.targetName == (target == made.card ? "dave" : target))
      let probe = try ProbeOptions(Arguments([target] + words)) { _ in nil }
      #expect(probe.online.rendezvous == "h:7400#\(Self.bob)" && !probe.isRendezvous)
      let other = try CallCommand(Arguments([target, "--rendezvous", "x:1"] + words)) { _ in nil }
      #expect(other.online.rendezvous == "x:1")
    }
    let cut = String(made.card.dropLast())
    #expect(throws: UsageError.self) { try CallCommand(Arguments([cut] + words)) { _ in nil } }
    #expect(throws: UsageError.self) { try CallCommand(Arguments(["bob"] + words)) { _ in nil } }
  }

  @Test(
    arguments: [
      ("forget bob", ExitCode.failed), ("rename bob robert", .failed), ("verify bob", .failed),
      ("list", .file),
      ("verify bob --id \(PeerID.zero)", .identity),
    ])
  func `what cannot be done has its exit code`(words: String, code: ExitCode) throws {
    switch code {
    case .identity: try pin("name bob \(Self.bob) pinned 1 2 -")
    case .file: try folder.write(Array("earshot known-peers 1\nname".utf8), to: "id.known-peers")
    default: break
    }
    let failure = #expect(throws: CommandFailure.self) { try run(words) }
    #expect(failure?.code == code)
    #expect(failure?.advice.isEmpty == false)
  }

  @Test(
    arguments: [
      "", "lst", "forget", "verify", "verify b:1", "list bob", "forget bob --id \(bob)",
      "verify bob --id 7", "import x", "import", "import earshot:AAAA", "rename a", "rename a b:1",
      "list --as x", "import x --as a:b", "verify \(bob)".dropLast() + "", "rename a \(bob)",
    ])
  func `a wrong command line is refused with what to write`(words: String) {
    let error = #expect(throws: UsageError.self) {
      try ContactsCommand(Arguments(words.split(separator: " ").map(String.init)))
    }
    #expect(error?.message.isEmpty == false)
  }
}
