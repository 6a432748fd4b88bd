import Arguments
import Primitives
import Reactor
import SecureSession
import Storage
import Wire

/// `earshot-rendezvous root`: the key that signs the list of nodes, and the list, off line.
struct RootCommand {
  static let usage = """
    usage: earshot-rendezvous root new --key FILE
           earshot-rendezvous root sign NODES --key FILE --out FILE [--expires TIME]
           earshot-rendezvous root show FILE

    Several nodes are one service for clients that pin its root. The root's key
    signs the list of nodes. It is needed for nothing else: keep it off line, and
    keep a copy. Without it no list is signed any more, and clients that pin it
    are lost.

      new             makes a key in FILE and prints its ID: clients pin it, as
                      HOST:PORT#ID
      sign NODES      signs what stands in NODES, one node a line:
                        ID WEIGHT ADDRESS [ADDRESS]
                      ID is the node's own. WEIGHT is its part of the clients, 0 to
                      100 (0: only when no other answers). ADDRESS is like
                      192.0.2.1:7400 or [2001:db8::1]:7400. # begins a comment
      show FILE       what a signed list says; exit code 7 if it does not hold now
      --key FILE      the root's key
      --out FILE      the signed list, for --nodes of every node; replaced if it is
                      there
      --expires TIME  until when clients believe the list
                      (default: 90d; 1h to 400d)
      --help          print this

    example:
      earshot-rendezvous root new --key root.key
      earshot-rendezvous root sign nodes.txt --key root.key --out nodes.list
    """

  private enum Action {
    case new(key: String)
    case sign(nodes: String, key: String, out: String, life: UInt64)
    case show(String)
  }

  /// What is to be printed, and the exit code.
  typealias Outcome = (text: String, isGood: Bool)

  private let action: Action

  init(_ arguments: consuming Arguments) throws(UsageError) {
    let key = try arguments.file("--key")
    let out = try arguments.file("--out")
    let life = try arguments.number("--expires", "minutes", in: 60...576_000)
    switch try arguments.positional("new, sign or show") {
    case "new": action = .new(key: try Self.require(key, "--key FILE"))
    case "sign":
      let nodes = try arguments.positional("file with the nodes")
      action = .sign(
        nodes: nodes, key: try Self.require(key, "--key FILE"),
        out: try Self.require(out, "--out FILE"), life: UInt64((life ?? Self.usualLife) * 60))
    case "show": action = .show(try arguments.positional("file with a signed list"))
    case let other: throw UsageError("'\(other)' is none of new, sign and show.")
    }
    try arguments.finish()
    if case .sign = action { return }
    if out != nil { throw UsageError("--out belongs to sign.") }
    if life != nil { throw UsageError("--expires belongs to sign.") }
    if case .show = action, key != nil { throw UsageError("show needs no --key.") }
  }

  private static func require(
    _ value: String?, _ option: String
  ) throws(UsageError) -> String {
    guard let value else {
      throw UsageError(
        "\(option) is missing.", advice: "earshot-rendezvous root --help has examples.")
    }
    return value
  }

  func run(unixSeconds now: UInt64) throws(ServeError) -> Outcome {
    switch action {
    case .new(let path):
      var random = RandomSource.system
      let id = try storage { () throws(StorageError) in
        try RootFiles.makeKey(at: path, random: &random)
      }
      return ("\(id)", true)
    case .sign(let nodes, let key, let out, let life):
      return try sign(nodes, key: key, out: out, life: life, now: now)
    case .show(let path):
      let list = try storage { () throws(StorageError) in try RootFiles.list(at: path) }
      return Self.show(list, now: now)
    }
  }

  private func sign(
    _ path: String, key keyPath: String, out: String, life: UInt64, now: UInt64
  ) throws(ServeError) -> Outcome {
    guard let text = try storage({ () throws(StorageError) in try TextFile.read(path) }) else {
      throw .unreadable(path: path, reason: "no such file")
    }
    let nodes: [NodeList.Node]
    do throws(UsageError) { nodes = try NodePlan.parse(text, path: path) } catch {
      throw .usage(error)
    }
    let key = try storage { () throws(StorageError) in try RootFiles.key(at: keyPath) }
    let former = try storage { () throws(StorageError) in try RootFiles.listIfThere(at: out) }
    // A clock that was set back must not make a list that clients refuse.
    let least = former.map { $0.root == key.id ? $0.serial &+ 1 : 0 } ?? 0
    let content = NodeList.Content(
      root: key.id, serial: max(now, least), notBefore: now, notAfter: now + life, nodes: nodes)
    let list: NodeList
    do throws(WireError) { list = try NodeList.sign(content, with: key) } catch {
      throw .usage(
        UsageError(
          "\(path) has more than fits into one list of \(NodeList.maximumByteCount) bytes.",
          advice: "Leave out the second addresses of some nodes."))
    }
    try storage { () throws(StorageError) in try RootFiles.write(list, to: out) }
    return ("wrote \(out)\n\(Self.show(list, now: now).text)", true)
  }

  private static func show(_ list: NodeList, now: UInt64) -> Outcome {
    var lines = [
      "root     \(list.root)", "serial   \(list.serial)",
      "signed   \(time(list.content.notBefore))",
    ]
    var isGood = true
    do throws(NodeListFault) {
      try list.verify(root: list.root, unixSeconds: now)
      lines.append("expires  \(time(list.content.notAfter))")
    } catch {
      isGood = false
      lines.append("expires  \(time(list.content.notAfter))")
      lines.append("refused  \(words(error))")
    }
    for node in list.nodes {
      let addresses = node.addresses.map { "\($0)" }.joined(separator: " ")
      lines.append("node     \(node.id) \(node.weight) \(addresses)")
    }
    return (lines.joined(separator: "\n"), isGood)
  }

  private static func words(_ fault: NodeListFault) -> String {
    switch fault {
    case .wrongRoot, .wrongSignature: "the signature is wrong: the file was changed"
    case .notYetValid: "it holds from later on: is the clock right?"
    case .expired: "it holds no more: sign it anew"
    case .older: "an older one"
    }
  }

  private static func time(_ unixSeconds: UInt64) -> String {
    Timestamp.text(wallNanoseconds: unixSeconds &* 1_000_000_000)
  }

  private func storage<Result: ~Copyable>(
    _ body: () throws(StorageError) -> Result
  ) throws(ServeError) -> Result {
    do throws(StorageError) { return try body() } catch { throw .file(error) }
  }

  /// Minutes: 90 days.
  private static let usualLife = 129_600.0
}
