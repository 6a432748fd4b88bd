import Arguments
import Foundation
import PeerCommand
import Primitives
import Testing
import Tokens

/// `earshot token`: what it takes, prints and returns.
struct TokenCommandTests {
  private static let bob = PeerID(word0: 1, word1: 2, word2: 3, word3: 4)
  private static let server = PeerID(word0: 5, word1: 6, word2: 7, word3: 8)
  private static let now: UInt64 = 1_800_000_000_000
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// `@` stands for the folder.
  private func run(_ words: String, at now: UInt64 = now) throws -> (text: String, code: ExitCode) {
    let words = words.split(separator: " ").map {
      String($0).replacing("@", with: folder.path + "/")
    }
    return try TokenCommand(Arguments(words)).text(wallMilliseconds: now)
  }

  private func sign(_ more: String = "") throws -> String {
    try run("sign --key @k --sub \(Self.bob) --aud \(Self.server) --expires 12h \(more)").text
  }

  private func code(_ body: () throws -> Void) -> ExitCode? {
    do { try body() } catch let failure as CommandFailure { return failure.code } catch {}
    return nil
  }

  @Test func `makes a key for its owner alone, and never again`() throws {
    let text = try run("new --key @k --public @p").text
    #expect(TokenPublicKey(text) != nil)
    #expect(String(decoding: try folder.bytes(of: "p"), as: UTF8.self) == text + "\n")
    let mode = try FileManager.default.attributesOfItem(atPath: folder.file("k"))[.posixPermissions]
    #expect(mode as? Int == 0o600)
    let before = try folder.bytes(of: "k")
    let failure = #expect(throws: CommandFailure.self) { try run("new --key @k") }
    #expect(failure?.code == .file && failure?.message.contains("is there already") == true)
    #expect(try folder.bytes(of: "k") == before)
  }

  @Test func `signs what the rendezvous accepts`() throws {
    let key = try #require(TokenPublicKey(try run("new --key @k").text))
    let token = try sign("--name bob")
    let rule = TokenRule(key: key, audience: "\(Self.server)")
    let grant = try rule.check(Array(token.utf8), of: Self.bob, unixMilliseconds: Self.now + 1000)
    #expect(grant.remainingMilliseconds == 43_199_000 && grant.name == "bob")
  }

  @Test func `shows what a token says, and whether it holds`() throws {
    _ = try run("new --key @k --public @p")
    _ = try run("new --key @other --public @q")
    try folder.write(Array((try sign("--name bob") + "\n").utf8), to: "t")
    let (text, code) = try run("show @t --public @p")
    let lines = text.split(separator: "\n")
    #expect(code == .done && lines.count == 7)
    #expect(lines[0] == "for        \(Self.server)" && lines[1] == "holder     \(Self.bob)")
    #expect(lines[5] == "expires    2027-01-15T20:00:00Z")
    #expect(lines[6].hasPrefix("signature  right, by k4.pid."))
    let wrong = try run("show @t --public @q")
    #expect(wrong.code == .identity && wrong.text.contains("signature  wrong"))
    let late = try run("show @t", at: Self.now + 43_200_000)
    #expect(late.code == .identity && late.text.contains("expired    2027-01-15T20:00:00Z"))
    #expect(late.text.contains("signature  not checked"))
    #expect(try run("show @t", at: Self.now - 1).code == .identity)
    try folder.write(Array("nonsense".utf8), to: "t")
    #expect(try run("show @t").code == .identity)
  }

  @Test func `a key that others may read is refused, and so is one of the wrong kind`() throws {
    _ = try run("new --key @k --public @p")
    #expect(code { _ = try run("show @none") } == .file)
    #expect(code { _ = try run("show @p --public @k") } == .file)
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o644], ofItemAtPath: folder.file("k"))
    #expect(code { _ = try sign() } == .file)
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o600], ofItemAtPath: folder.file("p"))
    let words = "sign --key @p --sub \(Self.bob) --aud \(Self.server) --expires 1s"
    let failure = #expect(throws: CommandFailure.self) { try run(words) }
    #expect(failure?.advice.contains("earshot token new") == true)
  }

  @Test(arguments: [
    "", "make", "new", "sign --key k", "sign --sub x --key k", "show", "new --key k --scope x",
    "sign --key k --sub \(bob) --aud \(server)", "new --key k extra",
    "sign --key k --sub \(bob) --aud \(server) --expires 12",
    "sign --key k --sub \(bob) --aud \(server) --expires 0s",
    "sign --key k --sub \(bob) --aud \(server) --expires 367d",
    "sign --key k --sub \(bob) --aud \(server) --expires 1h --scope A",
    "sign --key k --sub \(bob) --aud \(server) --expires 1h --name a/b",
  ])
  func `a command line that makes no sense is refused`(words: String) {
    #expect(throws: UsageError.self) {
      try TokenCommand(Arguments(words.split(separator: " ").map(String.init)))
    }
  }
}
