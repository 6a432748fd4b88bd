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

  /// `@` at the beginning of a word stands for the folder.
  private func run(_ words: String, at now: UInt64 = now) throws -> (text: String, code: ExitCode) {
    let words = words.split(separator: " ").map {
      $0.hasPrefix("@") ? folder.file(String($0.dropFirst())) : String($0)
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
    // A rendezvous allows a minute for clocks that differ.
    #expect(try run("show @t", at: Self.now - 60_000).code == .done)
    #expect(try run("show @t", at: Self.now - 60_001).code == .identity)
    try folder.write(Array("nonsense".utf8), to: "t")
    #expect(try run("show @t").code == .identity)
  }

  @Test func `of a channel's token its name, the role and the end are shown`() throws {
    let key = try run("new --key @k --public @p").text
    _ = try run("new --key @other --public @q")
    func show(_ channel: String, _ more: String = "") throws -> (text: String, code: ExitCode) {
      let token = try run(
        "sign --key @k --sub \(Self.bob) --channel \(channel) --expires 12h --scope audience")
      try folder.write(Array(token.text.utf8), to: "t")
      return try run("show @t \(more)")
    }
    let (text, code) = try show("tea@\(key)", "--public @p")
    let lines = text.split(separator: "\n")
    #expect(code == .done && lines[0] == "channel    tea" && lines[1] == "role       audience")
    #expect(lines.contains("expires    2027-01-15T20:00:00Z"))
    #expect(try show("tea@\(key)").text.hasPrefix("channel    tea, as the token says; --public"))
    // Signed by the key, and for the channel of another one: the name is not what it says.
    let other = try #require(
      TokenPublicKey(String(decoding: folder.bytes(of: "q"), as: UTF8.self).filter { $0 != "\n" }))
    let wrong = try show("tea@\(other.text)", "--public @p")
    #expect(wrong.code == .identity && wrong.text.contains("that is wrong"))
    let long = String(repeating: "x", count: 63)
    #expect(try show("\(long)@\(key)", "--public @p").text.hasPrefix("channel    \(long)\n"))
  }

  @Test func `a token that would be too long does not name its channel`() throws {
    let key = try run("new --key @k").text
    let long = String(repeating: "x", count: 63)
    let scope = "host:" + String(repeating: "y", count: 60)
    let words = [
      "sign", "--key", folder.file("k"), "--sub", "\(Self.bob)", "--channel",
      "\(long)@\(key)", "--expires", "12h", "--scope", "host \(scope)",
    ]
    let token = try TokenCommand(Arguments(words)).text(wallMilliseconds: Self.now).0
    #expect(token.utf8.count <= TokenLimits.textByteCount)
    try folder.write(Array(token.utf8), to: "t")
    #expect(try run("show @t").text.contains("channel    the token does not say its name"))
  }

  @Test func `a token from a pipe is shown as one from a file`() throws {
    _ = try run("new --key @k")
    let token = try sign()
    try folder.write(Array(token.utf8), to: "t")
    let pipe = Pipe()
    try pipe.fileHandleForWriting.write(contentsOf: Data("\n \(token)\n".utf8))
    try pipe.fileHandleForWriting.close()
    let piped = try TokenCommand(Arguments(["show", "-"])).text(
      wallMilliseconds: Self.now,
      input: "/proc/self/fd/\(pipe.fileHandleForReading.fileDescriptor)")
    let read = try run("show @t")
    #expect(piped.0 == read.text && piped.1 == .done)
    let failure = #expect(throws: CommandFailure.self) {
      try TokenCommand(Arguments(["show", "-"])).text(
        wallMilliseconds: Self.now, input: folder.file("none"))
    }
    #expect(failure?.code == .file)
  }

  /// Method: whoever signs tokens writes orders to the terminal, and lines of this page, into one.
  @Test func `no token forges a line of what is shown`() throws {
    var random = RandomSource(seed: 1)
    let key = TokenSigningKey(random: &random)
    let json =
      #"{"aud":"x\nsignature  right","sub":"\#(Self.bob)","scp":"register\u001b[2J","#
      + #""exp":"2030-01-01T00:00:00Z","name":"bob\nexpires    never"}"#
    let token = PublicToken(signing: Array(json.utf8), by: key)
    try folder.write(Array(token.text.utf8), to: "t")
    let lines = try run("show @t").text.split(separator: "\n")
    #expect(lines.count == 6, "\(lines)")
    #expect(lines[0] == "for        xsignature  right" && lines[2] == "permits    register[2J")
    #expect(lines.count { $0.hasPrefix("signature") } == 1)
    #expect(lines.count { $0.hasPrefix("expires") } == 1)
  }

  @Test func `a token with other claims is told from a text that is no token`() throws {
    var random = RandomSource(seed: 1)
    let token = PublicToken(signing: Array("{}".utf8), by: TokenSigningKey(random: &random))
    try folder.write(Array(token.text.utf8), to: "t")
    try folder.write(Array("hello".utf8), to: "u")
    let (other, none) = (try run("show @t"), try run("show @u"))
    #expect(other.code == .identity && other.text.contains("other claims"))
    #expect(none.code == .identity && none.text.contains("cannot be read"))
  }

  @Test func `what no rendezvous would take is not signed`() throws {
    let key = try #require(TokenPublicKey(try run("new --key @k").text))
    let rule = TokenRule(key: key, audience: "\(Self.server)")
    let longest = String(repeating: "n", count: 63)
    let words = [
      "sign", "--key", folder.file("k"), "--sub", "\(Self.bob)", "--aud", "\(Self.server)",
      "--expires", "12h", "--name", longest, "--scope",
    ]
    var count = 0
    for length in 0..<200 {
      let scope = "register " + String(repeating: "x", count: length)
      let command = try TokenCommand(Arguments(words + [scope]))
      let token: String
      do throws(CommandFailure) {
        token = try command.text(wallMilliseconds: Self.now).0
      } catch {
        #expect(error.code == .usage && error.advice.contains("--scope"))
        continue
      }
      let grant = try? rule.check(Array(token.utf8), of: Self.bob, unixMilliseconds: Self.now)
      #expect(grant?.name == longest)
      count += 1
    }
    #expect((10..<190).contains(count), "\(count) of 200 lengths")
    for scope in ["call", " ", "registers", "register\n"] {
      #expect(throws: UsageError.self, "\(scope)") {
        try TokenCommand(Arguments(words + [scope]))
      }
    }
  }

  @Test func `both keys are written, or neither`() throws {
    try folder.write([], to: "p")
    #expect(code { _ = try run("new --key @k --public @p") } == .file)
    #expect(!FileManager.default.fileExists(atPath: folder.file("k")))
    #expect(throws: UsageError.self) { try run("new --key @k --public @k") }
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
