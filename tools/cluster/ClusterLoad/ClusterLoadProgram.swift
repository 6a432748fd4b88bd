import Arguments
import Glibc
import Primitives
import Reactor
import Storage
import Wire

/// From command line to exit code.
enum ClusterLoadProgram {
  static let usage = """
    usage: ClusterLoad --nodes FILE [--clients N] [--net 1...250] [--joins PER_SECOND]
                       [--calls PER_MINUTE] [--hold MS] [--pairs any|same|other] [--seconds S]

    Registers clients with a service of rendezvous nodes by the list of them that its root has
    signed. Each has an address of its own: 127.NET.x.y. They stay as they are, or call each other
    in turns, and hang up after so long. Prints a line of JSON for each registration and each call
    that is over. Times are seconds since the host began. A call counts from its beginning to the
    first sound at the caller. Ends after so many seconds, or at SIGTERM.

    """

  static func run(_ words: [String]) -> Int32 {
    SignalWatch.block(SignalWatch.Signal.allCases)
    var arguments = Arguments(words)
    if arguments.wantsHelp {
      print(usage, terminator: "")
      return 0
    }
    do {
      let options = try ClusterLoadOptions(&arguments)
      try arguments.finish()
      return try ClusterLoad(options).run()
    } catch {
      print("ClusterLoad: \(error)")
      return 2
    }
  }
}

struct ClusterLoadOptions {
  var nodes: NodeList
  var clients: Int
  /// The second byte of the clients' addresses.
  var net: UInt8
  /// Clients that begin, a second.
  var joins: Int
  /// Calls that begin, a minute; 0 = all are idle.
  var calls: Int
  /// How long a call lasts after its first sound.
  var hold: Duration
  var pairs: Pairs
  var seconds: Int

  /// Who calls whom.
  enum Pairs: String, CaseIterable {
    case any
    /// Clients of one node.
    case same
    /// Clients of two nodes.
    case other
  }

  init(_ arguments: inout Arguments) throws {
    let path = try arguments.option("--nodes") ?? ""
    clients = try arguments.integer("--clients", "clients", in: 1...900) ?? 900
    net = UInt8(try arguments.integer("--net", "number", in: 1...250) ?? 1)
    joins = try arguments.integer("--joins", "clients a second", in: 1...1000) ?? 100
    calls = try arguments.integer("--calls", "calls a minute", in: 0...60_000) ?? 0
    hold = .milliseconds(try arguments.integer("--hold", "milliseconds", in: 0...60_000) ?? 200)
    seconds = try arguments.integer("--seconds", "seconds", in: 1...86_400) ?? 86_400
    let word = try arguments.option("--pairs") ?? Pairs.any.rawValue
    guard let pairs = Pairs(rawValue: word) else {
      throw UsageError("--pairs \(word) is none.", advice: "Use any, same or other.")
    }
    self.pairs = pairs
    nodes = try RootFiles.list(at: path)
  }
}
