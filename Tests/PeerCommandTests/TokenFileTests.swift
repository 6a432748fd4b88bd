import Foundation
import PeerCommand
import Primitives
import Reactor
import Testing
import Tokens

/// The file of an access token, read while a program runs.
struct TokenFileTests {
  private let folder: TemporaryFolder
  private let tokens: [String]

  init() throws {
    folder = try TemporaryFolder()
    var random = RandomSource(seed: 1)
    let key = TokenSigningKey(random: &random)
    var texts: [String] = []
    for number in 1...2 {
      texts.append(PublicToken(signing: Array("\(number)".utf8), by: key).text)
    }
    tokens = texts
  }

  /// What the file tells of.
  private final class Told {
    var texts: [String] = []
    var faults: [String] = []
  }

  /// A file on a loop that does not run: it is read when it is watched, and not besides.
  private func open(_ text: String) throws -> (TokenFile, Told) {
    let told = Told()
    let file = TokenFile(
      folder.file("token"), text: text, on: try EventLoop(), change: { told.texts.append($0) },
      fault: { told.faults.append($0) })
    return (file, told)
  }

  private func put(_ text: String) throws { try folder.write(Array(text.utf8), to: "token") }

  @Test func `another token that is there already is told at once, and once`() throws {
    try put(tokens[1] + "\n")
    let (file, told) = try open(tokens[0])
    #expect(try file.watch())
    #expect(told.texts == [tokens[1]] && file.text == tokens[1])
    #expect(try !file.watch())
    #expect(told.texts.count == 1)
    file.stop()
    try put(tokens[0])
    #expect(try file.watch(), "watched anew")
    #expect(told.texts == [tokens[1], tokens[0]])
  }

  @Test func `a file that is away, empty or half written tells nothing`() throws {
    let (file, told) = try open(tokens[0])
    #expect(try !file.watch(), "there is none")
    for text in [
      "", "\n", tokens[0], " " + tokens[0] + "\n\n", String(tokens[1].prefix(9)),
      String(tokens[1].prefix(60)), "nonsense", "<html>",
    ] {
      try put(text)
      #expect(try !file.watch(), "\(text)")
    }
    try FileManager.default.removeItem(atPath: file.path)
    #expect(try !file.watch(), "removed")
    #expect(told.texts.isEmpty && file.text == tokens[0])
    // What was half written is there whole in the end.
    try put(tokens[1])
    #expect(try file.watch())
    #expect(told.texts == [tokens[1]])
  }

  @Test func `what is no token for two looks is told, once, and the one of before stays`() throws {
    let (file, told) = try open(tokens[0])
    try put(String(tokens[1].prefix(60)))
    file.look()
    #expect(told.faults == [], "it may be half written")
    for _ in 0..<3 { file.look() }
    #expect(told.faults == ["There is no token in \(file.path)."])
    #expect(told.texts == [] && file.text == tokens[0])
    try put("nonsense")
    file.look()
    try put(tokens[1])
    file.look()
    #expect(told.faults.count == 1 && told.texts == [tokens[1]])
    try FileManager.default.removeItem(atPath: file.path)
    for _ in 0..<3 { file.look() }
    #expect(told.faults.count == 2 && file.text == tokens[1])
  }

  /// Method: a loop that runs; another token comes after the first look.
  @Test(.timeLimit(.minutes(1)))
  func `while it is watched it is read again by itself`() async throws {
    try put(tokens[0])
    let (path, before, after) = (folder.file("token"), tokens[0], tokens[1])
    let loop = try EventLoop()
    try loop.start()
    defer { loop.stop() }
    let told = try await Task(executorPreference: loop) {
      let (stream, feed) = AsyncStream.makeStream(of: String.self)
      let file = TokenFile(path, text: before, on: loop) { text in
        feed.yield(text)
        feed.finish()
      }
      let isThere = try file.watch()
      try Data(after.utf8).write(to: URL(fileURLWithPath: path))
      var found: [String] = []
      for await text in stream { found.append(text) }
      file.stop()
      return isThere ? [] : found
    }.value
    #expect(told == [tokens[1]])
  }
}
