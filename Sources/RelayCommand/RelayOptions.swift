import Arguments
import Forwarding
import Glibc
import Primitives

/// The command line of `earshot-relay`.
struct RelayOptions {
  static let usage = """
    usage: earshot-relay --rendezvous HOST:PORT#ID [options]

    Forwards the audio of channels between members that do not talk in a mesh, and
    the packets of calls whose two ends have no direct path. It is sealed by
    members for members: the relay hears nothing and learns no names. The
    rendezvous tells clients of it once its ID stands in the file of
    earshot-rendezvous --relay-key.

    The relay:
      --rendezvous HOST:PORT#ID
                           whose members it serves; the ID is that of the
                           rendezvous, which prints it when it starts
      --listen HOST:PORT   UDP address to serve
                           (default: [::]:7500, both families)
      --public HOST:PORT   where members find it (default: the address that the
                           rendezvous sees, with the port of --listen)
      --data DIR           its identity (default: $XDG_DATA_HOME/earshot-relay)

    What it forwards:
      --limit-loudest N    hosts of a channel that are forwarded at once, 1...64
                           (default: 3)
      --limit-chosen N     the most that a member may choose instead, 1...64
                           (default: 64)
      --limit-seats N      members of one channel, 2...4096 (default: 4096)
      --limit-channels N   channels, 1...8192 (default: 8192)
      --limit-pairs N      calls of two without a direct path, 0...4096
                           (default: 4096; 0: none)

    What it tells:
      --metrics HOST:PORT  Prometheus text at /metrics, by HTTP (default: off)
      --print-id           print the ID that --relay-key wants, made on first use,
                           and end
      --json               print the line with the address as JSON
      --version            print the version (also -V, version)
      --help               print this (also -h, help)

    example:
      earshot-relay --rendezvous 192.0.2.1:7400#ID --metrics 127.0.0.1:9101
    """

  var rendezvous: String
  var rendezvousID: PeerID
  var listen: String
  var publicAddress: String?
  var data: String
  var metrics: String?
  var limits = ForwardingLimits()
  var pairLimits = PairLimits()
  var printsJSON: Bool

  /// The folder of the identity, for `--print-id`, which needs nothing else.
  static func data(
    _ arguments: inout Arguments, environment: [String: String]
  ) throws(UsageError) -> String {
    guard let data = try arguments.option("--data") ?? defaultData(environment) else {
      throw UsageError(
        "There is no home directory to keep the identity in.", advice: "Give --data DIR.")
    }
    return data
  }

  init(_ arguments: consuming Arguments, environment: [String: String]) throws(UsageError) {
    let given = try arguments.option("--rendezvous")
    listen = try arguments.address("--listen", like: "[::]:7500") ?? "[::]:7500"
    publicAddress = try arguments.address("--public", like: "192.0.2.1:7500")
    data = try Self.data(&arguments, environment: environment)
    metrics = try arguments.address("--metrics", like: "127.0.0.1:9101")
    let usual = ForwardingLimits()
    limits.loudest = try arguments.integer("--limit-loudest", "hosts", in: 1...64) ?? usual.loudest
    limits.chosen = try arguments.integer("--limit-chosen", "hosts", in: 1...64) ?? usual.chosen
    limits.seats = try arguments.integer("--limit-seats", "members", in: 2...4096) ?? usual.seats
    limits.channels =
      try arguments.integer("--limit-channels", "channels", in: 1...8192) ?? usual.channels
    pairLimits.pairs =
      try arguments.integer("--limit-pairs", "calls", in: 0...4096) ?? pairLimits.pairs
    printsJSON = try arguments.flag("--json")
    try arguments.finish()
    let parts = (given ?? "").split(separator: "#", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, let id = PeerID(String(parts[1])) else {
      throw UsageError(
        "--rendezvous HOST:PORT#ID is needed, with the ID.",
        advice: "earshot-rendezvous prints it when it starts.")
    }
    guard parts[0].contains(where: { !$0.isNumber }) else {
      throw UsageError(
        "--rendezvous wants HOST:PORT#ID, not '\(given ?? "")'.",
        advice: "Write it like 192.0.2.1:7400#\(id).")
    }
    rendezvous = String(parts[0])
    rendezvousID = id
  }

  private static func defaultData(_ environment: [String: String]) -> String? {
    if let base = environment["XDG_DATA_HOME"], base.hasPrefix("/") {
      return base + "/earshot-relay"
    }
    guard let home = environment["HOME"], home.hasPrefix("/") else { return nil }
    return home + "/.local/share/earshot-relay"
  }

  /// The variables that are looked at.
  static var environment: [String: String] {
    var variables: [String: String] = [:]
    for name in ["XDG_DATA_HOME", "HOME"] {
      if let value = unsafe getenv(name) { variables[name] = unsafe String(cString: value) }
    }
    return variables
  }
}
