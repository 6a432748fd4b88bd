import Arguments
import Glibc
import Primitives
import Reactor
import Testing
import Wire

@testable import RendezvousCommand

/// `earshot-rendezvous root`, and the list of nodes as a person writes it.
struct RootCommandTests {
  private static let one = "\(PeerID(word0: 1, word1: 2, word2: 3, word3: 4))"
  private static let two = "\(PeerID(word0: 5, word1: 6, word2: 7, word3: 8))"

  private static func complaint(_ text: String) -> String? {
    do throws(UsageError) {
      _ = try NodePlan.parse(text, path: "nodes.txt")
      return nil
    } catch {
      return error.message
    }
  }

  @Test func `a line is a node with its weight and its addresses`() throws {
    let text = """
      # ID, weight, addresses

      \(Self.one) 2 192.0.2.1:7400 [2001:db8::1]:7400  # the large one
      \(Self.two) 0 192.0.2.2:7400
      """
    let nodes = try NodePlan.parse(text, path: "nodes.txt")
    #expect(nodes.map { "\($0.id)" } == [Self.one, Self.two])
    #expect(nodes.map(\.weight) == [2, 0] && nodes.map(\.addresses.count) == [2, 1])
  }

  @Test func `what is no node is told with its line`() {
    let wrong = [
      "": "has 0 nodes", "\(Self.one) 1": "line 1: that is no node",
      "alice 1 192.0.2.1:7400": "'alice' is no ID",
      "\(Self.one) 101 192.0.2.1:7400": "'101' is no weight",
      "\(Self.one) 1 node.example:7400": "'node.example:7400' is no address",
      "\(Self.one) 1 192.0.2.1:7400 192.0.2.2:7400": "of one family",
      "\(Self.one) 0 192.0.2.1:7400": "all weights are 0",
      "\(Self.one) 1 192.0.2.1:7400\n\(Self.one) 1 192.0.2.2:7400": "line 2: that ID stands",
    ]
    for (text, words) in wrong {
      #expect(Self.complaint(text)?.contains(words) == true, "\(text)")
    }
    let many = (1...UInt64(17)).map { number in
      "\(PeerID(word0: number, word1: 0, word2: 0, word3: 0)) 1 192.0.2.1:7400\n"
    }
    #expect(Self.complaint(many.joined())?.contains("has 17 nodes") == true)
  }

  private static func run(
    _ words: String..., at time: UInt64 = 1_790_000_000
  ) throws -> RootCommand.Outcome {
    try RootCommand(Arguments(words)).run(unixSeconds: time)
  }

  @Test func `a list is signed, shown, and signed anew with a higher serial`() throws {
    let folder = "/tmp/earshot-root-\(getpid())"
    _ = unsafe mkdir(folder, 0o700)
    let (key, plan, list) = (folder + "/key", folder + "/plan", folder + "/list")
    defer {
      for path in [key, plan, list] { _ = unsafe unlink(path) }
      _ = unsafe rmdir(folder)
    }
    let text = Array("\(Self.one) 1 192.0.2.1:7400\n".utf8)
    let file = unsafe open(plan, O_WRONLY | O_CREAT, 0o600)
    #expect(unsafe write(file, text, text.count) == text.count)
    close(file)
    let id = try Self.run("new", "--key", key).text
    #expect(PeerID(id) != nil)
    #expect(throws: ServeError.self) { try Self.run("new", "--key", key) }
    let signed = try Self.run("sign", plan, "--key", key, "--out", list, "--expires", "2d")
    #expect(signed.isGood && signed.text.contains(id) && signed.text.contains(Self.one))
    // A clock that was set back.
    let again = try Self.run(
      "sign", plan, "--key", key, "--out", list, at: 1_790_000_000 - 50)
    #expect(again.text.contains("serial   1790000001"))
    let shown = try Self.run("show", list)
    #expect(shown.isGood && !shown.text.contains("refused"))
    let late = try Self.run("show", list, at: 1_800_000_000)
    #expect(!late.isGood && late.text.contains("it holds no more"))
    #expect(throws: ServeError.self) { try Self.run("show", plan) }
    #expect(throws: ServeError.self) { try Self.run("sign", plan, "--key", plan, "--out", list) }
  }

  /// Its clients learn from it that it is none any more.
  @Test func `a node that runs takes a newer list of its root, without it too, and no other`()
    throws
  {
    let folder = ListFolder()
    let (on, off) = (try #require(PeerID(Self.one)), try #require(PeerID(Self.two)))
    let root = PeerID(try Self.run("new", "--key", folder.key).text)
    _ = try Self.run("new", "--key", folder.otherKey)
    let now = SystemClock.wallNanoseconds / 1_000_000_000
    try folder.sign([Self.one], at: now - 60)
    let first = try #require(try folder.read(on))
    let left = try folder.read(off, after: first)
    #expect(first.root == root && left?.root == root)
    #expect(throws: ServeError.self) { try folder.read(off) }
    try folder.sign([Self.one], at: now)
    let second = try #require(try folder.read(on, after: first))
    #expect(try folder.read(on, after: second)?.serial == second.serial)
    // One that was signed before, and one of somebody else.
    try folder.sign([Self.one], at: now - 60)
    #expect(throws: ServeError.self) { try folder.read(on, after: second) }
    try folder.sign([Self.one], at: now, by: folder.otherKey)
    for id in [on, off] {
      #expect(throws: ServeError.self) { try folder.read(id, after: second) }
    }
  }

  /// They would give the same names, and say of each other's clients that they are offline.
  @Test func `several nodes that share no memory do not start`() throws {
    let folder = ListFolder()
    let id = try #require(PeerID(Self.one))
    _ = try Self.run("new", "--key", folder.key)
    try folder.sign(
      [Self.one, Self.two], at: SystemClock.wallNanoseconds / 1_000_000_000)
    #expect(throws: ServeError.self) { try folder.read(id) }
    let shared = ["--redis", "unix:///tmp/none", "--cluster-secret", "/tmp/none"]
    #expect(try folder.read(id, after: nil, shared)?.nodes.count == 2)
  }

  /// Keys, and a list of nodes that is signed.
  private final class ListFolder {
    private let folder = "/tmp/earshot-lists-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
    private var plan: String { folder + "/plan" }
    private var list: String { folder + "/list" }
    var key: String { folder + "/key" }
    var otherKey: String { folder + "/other" }

    init() { _ = unsafe mkdir(folder, 0o700) }

    deinit {
      for path in [key, otherKey, plan, list] { _ = unsafe unlink(path) }
      _ = unsafe rmdir(folder)
    }

    func sign(_ nodes: [String], at seconds: UInt64, by other: String? = nil) throws {
      let lines = nodes.enumerated().map { "\($1) 1 192.0.2.\($0 + 1):7400\n" }
      let file = unsafe open(plan, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
      let text = Array(lines.joined().utf8)
      #expect(unsafe write(file, text, text.count) == text.count)
      close(file)
      _ = unsafe unlink(list)
      _ = try RootCommandTests.run("sign", plan, "--key", other ?? key, "--out", list, at: seconds)
    }

    func read(
      _ id: PeerID, after present: NodeList? = nil, _ more: [String] = []
    ) throws -> NodeList? {
      let words = ["--nodes", list, "--data", folder] + more
      let options = try ServeOptions(Arguments(words), environment: [:])
      return try RendezvousCommand.Server.nodes(
        options, of: id, after: present, isShared: options.redis != nil)
    }
  }

  @Test func `what belongs elsewhere, or is missing, is told`() {
    let wrong = [
      ["sign", "plan", "--key", "k"], ["sign", "plan", "--out", "l"], ["new"], ["nonsense"],
      ["new", "--key", "k", "--out", "l"], ["show", "l", "--key", "k"], ["show"],
      ["show", "l", "--expires", "2d"],
      ["sign", "plan", "--key", "k", "--out", "l", "--expires", "500d"],
    ]
    for words in wrong {
      #expect(throws: UsageError.self, "\(words)") { try RootCommand(Arguments(words)) }
    }
  }
}
