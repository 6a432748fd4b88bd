import Arguments
import Primitives
import Rendezvous
import Storage
import Wire

/// `earshot-rendezvous names`: what an operator does with the names of a server.
struct NamesCommand {
  static let usage = """
    usage: earshot-rendezvous names list [--data DIR]
           earshot-rendezvous names free NAME [--data DIR]
           earshot-rendezvous names free NAME --redis URL
               --cluster-secret FILE [--again]
           earshot-rendezvous names export [--data DIR]

    Shows who has which name, also while the server runs, and takes a name from
    whoever has it. For that the server must be stopped; several nodes with one
    Redis go on.

      list         a line a name: the name, its ID, the day of its last use
      free NAME    whoever registers with NAME next has it
      export       the same as list as JSON Lines: name, id, used
      --data DIR   the server's directory
                   (default: $XDG_DATA_HOME/earshot-rendezvous)
      --redis URL, --redis-password-file FILE, --cluster-secret FILE
                   as at the nodes: the name is taken at all of them
      --again      there also where it was freed within 10 minutes: from whoever
                   has got it since
      --help       print this

    A name that nobody registers or looks up for a year is free by itself.

    example:
      systemctl stop earshot-rendezvous
      earshot-rendezvous names free alice --data /var/lib/earshot
      systemctl start earshot-rendezvous
    """

  private enum Action {
    case list, export
    case free(PeerName)
  }

  private let action: Action
  private let data: String
  /// Of a service of several nodes.
  private let redis: RedisOptions?
  private let isAgain: Bool

  init(
    _ arguments: consuming Arguments, environment: [String: String]
  ) throws(UsageError) {
    data = try ServeOptions.dataDirectory(try arguments.option("--data"), environment)
    redis = try RedisOptions(&arguments, environment: environment)
    isAgain = try arguments.flag("--again")
    switch try arguments.positional("list, free or export") {
    case "list": action = .list
    case "export": action = .export
    case "free":
      let word = try arguments.positional("NAME")
      guard let name = PeerName(word) else {
        throw UsageError(
          "'\(word)' is not a name.", advice: "A name is 1..63 of A-Z a-z 0-9 . _ -")
      }
      action = .free(name)
    case let other:
      throw UsageError("'\(other)' is none of list, free and export.")
    }
    try arguments.finish()
    if isAgain, redis == nil {
      throw UsageError(
        "--again is for names at Redis.", advice: "Write names free NAME --redis URL --again.")
    }
    if case .free = action { return }
    guard redis == nil else {
      throw UsageError(
        "Names at Redis cannot be listed: it has them as hashes.",
        advice: "Leave --redis out, or write names free NAME.")
    }
  }

  /// Writes what it says on standard output.
  ///
  /// - Returns: Why it is not done; `nil` where it is.
  func run(_ write: (String) -> Void) throws(ServeError) -> String? {
    if let redis, case .free(let name) = action {
      return try free(name, in: redis, write)
    }
    do throws(StorageError) { return try runHere(write) ? nil : Self.nobodys } catch {
      throw .file(error)
    }
  }

  private func free(
    _ name: PeerName, in redis: RedisOptions, _ write: (String) -> Void
  ) throws(ServeError) -> String? {
    switch try Server.free(name, isAgain: isAgain, in: redis) {
    case .freed(let id): write("freed \(name), which \(id) had")
    case .freedBefore: write("\(name) was freed within the last 10 minutes, and nobody has it")
    case .nobodys: return Self.nobodys
    case .kept(let id):
      return "\(name) was freed within the last 10 minutes, and \(id) has got it since. "
        + "--again takes it from them too."
    }
    return nil
  }

  private static let nobodys = "Nobody has that name."

  private func runHere(_ write: (String) -> Void) throws(StorageError) -> Bool {
    let path = data + "/registrations.db"
    switch action {
    case .list:
      let register = try NameRegister(path: path, for: .seeing)
      try register.forEach { write("\($0.name) \($0.id) \(Self.text($0.used).prefix(10))") }
      return true
    case .export:
      let register = try NameRegister(path: path, for: .seeing)
      try register.forEach { entry in
        write(
          JSONLine.make(
            "name",
            [
              ("name", .text("\(entry.name)")), ("id", .text("\(entry.id)")),
              ("used", .text(Self.text(entry.used))),
            ]))
      }
      return true
    case .free(let name):
      let register = try NameRegister(path: path, for: .freeing)
      guard let id = try register.free(name) else { return false }
      write("freed \(name), which \(id) had")
      return true
    }
  }

  private static func text(_ unixSeconds: UInt64) -> String {
    Timestamp.text(wallNanoseconds: unixSeconds &* 1_000_000_000)
  }
}
