import Arguments
import Glibc
import Primitives
import Relay
import Wire

/// The command line of `earshot-rendezvous`.
struct ServeOptions {
  static let version = EarshotVersion.text
  static let usage = """
    usage: earshot-rendezvous [options]
           earshot-rendezvous names list | free NAME | export
           earshot-rendezvous backup FILE | restore FILE
           earshot-rendezvous root new | sign NODES | show FILE

    Introduces peers to each other: they register here, look each other up, and
    exchange sealed invitations. It never sees keys or media. The options of a
    command: earshot-rendezvous help names, help backup, help root.

    The server:
      --listen HOST:PORT   UDP address to serve
                           (default: [::]:7400, both families)
      --data DIR           keys and database
                           (default: $XDG_DATA_HOME/earshot-rendezvous)
      --config FILE        these options from a file, a line each, like
                           metrics = HOST:PORT; the command line goes before it;
                           SIGHUP reads it again
      --limit-clients N    clients that are registered at once, 1...1048576
                           (default: 65536)
      --drain SECONDS      at the end let in nobody, and wait for so long until
                           messages under way are delivered
                           (default: 0; at most 600)

    Who may register:
      --open               anybody (default)
      --allow FILE         only these: ID, or NAME ID, on each line; # begins a
                           comment; SIGHUP reads it again
      --require-token FILE
                           only holders of an access token that the key signed
                           whose public half is in FILE
                           (earshot token new --public); SIGHUP reads it again

    Relays:
      --turn URI           a TURN server for clients, turn:HOST:PORT; up to 4 times
      --turn-secret FILE   what the servers have as static-auth-secret: clients get
                           credentials for 12 h with it
      --relay-key FILE     IDs of relays for channels that may register, one on
                           each line (earshot-relay --print-id); SIGHUP reads it
                           again

    Channels:
      --limit-channel-hosts N
                           hosts of a channel, 1...64 (default: 17); whoever comes
                           then may listen. All nodes of a service want the same.

    Several nodes as one service:
      --redis URL          a Redis server that all nodes share:
                           redis://[USER@]HOST[:PORT][/DB], unix:///SOCKET, or
                           sentinel://[USER@]HOST[:PORT][,HOST...]/NAME[/DB]
      --redis-password-file FILE
                           its password (default: $EARSHOT_REDIS_PASSWORD)
      --cluster-secret FILE
                           16 to 256 letters, the same at all nodes: Redis sees
                           nothing that is not hashed or sealed with it
      --nodes FILE         the signed list of all nodes (help root): clients that
                           pin its root spread over them, and move when one ends;
                           SIGHUP reads it again
      --print-id           print the ID that such a list wants, made on first use,
                           and end

    What it tells:
      --metrics HOST:PORT  Prometheus text at /metrics, by HTTP; /health and /ready
                           say how it is (default: off)
      --events FILE|-      JSON Lines of events (default: off; - is standard output)
      --json               print the line with the address as JSON
      --log-identities     let events and log name IDs, names and addresses
      --log-level LEVEL    error, warning, info or debug (default: info)
      --version            print the version (also -V, version)
      --help               print this (also -h, help)

    example:
      earshot-rendezvous --data /var/lib/earshot --metrics 127.0.0.1:9100
    """

  enum LogLevel: Int {
    case error, warning, info, debug

    init(_ word: String?) {
      self =
        switch word {
        case "error": .error
        case "warning": .warning
        case "debug": .debug
        default: .info
        }
    }
  }

  /// The configuration file that the options came from as well.
  var config: String?
  var listen: String
  var data: String
  var metrics: String?
  var events: String?
  var allow: String?
  /// The file of the public key that access tokens are signed with.
  var requireToken: String?
  /// TURN servers for clients, and the file with the secret of their credentials.
  var relays: [String]
  var relaySecret: String?
  /// The file with the IDs of relays for channels.
  var relayKey: String?
  /// Hosts of a channel at the most; `nil` = as many as usual.
  var channelHosts: Int?
  /// The memory that several nodes share; `nil` = there is one node.
  var redis: RedisOptions?
  /// The file with the list of nodes that the root has signed.
  var nodes: String?
  /// Clients that may be registered at once; `nil` = as many as usual.
  var clientLimit: Int?
  /// How long the end waits for messages under way.
  var drain: Duration
  var printsJSON: Bool
  var logsIdentities: Bool
  var logLevel: LogLevel
  /// Rates and counts for measurements on one machine; for `tools/load`, and not in the usage.
  var isMeasurement: Bool

  init(
    _ arguments: consuming Arguments, environment: [String: String]
  ) throws(UsageError) {
    config = try arguments.option("--config")
    listen = try arguments.address("--listen", like: "[::]:7400") ?? "[::]:7400"
    let data = try arguments.option("--data")
    metrics = try arguments.address("--metrics", like: "127.0.0.1:9100")
    events = try arguments.option("--events")
    allow = try arguments.option("--allow")
    requireToken = try arguments.option("--require-token")
    relays = try Self.relays(&arguments)
    relaySecret = try arguments.option("--turn-secret")
    relayKey = try arguments.option("--relay-key")
    channelHosts = try arguments.integer("--limit-channel-hosts", "hosts", in: 1...64)
    redis = try RedisOptions(&arguments, environment: environment)
    nodes = try arguments.file("--nodes")
    clientLimit = try arguments.integer("--limit-clients", "clients", in: 1...1_048_576)
    drain = .seconds(try arguments.number("--drain", "seconds", in: 0...600) ?? 0)
    let isOpen = try arguments.flag("--open")
    printsJSON = try arguments.flag("--json")
    logsIdentities = try arguments.flag("--log-identities")
    let level = try arguments.choice(
      "--log-level", of: ["error", "warning", "info", "debug"])
    isMeasurement =
      try arguments.choice("--limits", of: ["normal", "measurement"]) == "measurement"
    try arguments.finish()
    guard relays.isEmpty == (relaySecret == nil) else {
      throw UsageError(
        "--turn and --turn-secret belong together.",
        advice: "Write --turn turn:HOST:3478 --turn-secret FILE.")
    }
    if isOpen, allow != nil {
      throw UsageError("--open and --allow contradict each other.", advice: "Give one of them.")
    }
    logLevel = LogLevel(level)
    self.data = try Self.dataDirectory(data, environment)
  }

  private static func relays(_ arguments: inout Arguments) throws(UsageError) -> [String] {
    let uris = try arguments.options("--turn")
    for uri in uris where RelayURI(uri) == nil {
      throw UsageError(
        "--turn wants a TURN server like turn:turn.example.org:3478, not '\(uri)'.")
    }
    guard uris.count <= RelayOffer.serverLimit else {
      throw UsageError(
        "--turn was given \(uris.count) times; it can be given \(RelayOffer.serverLimit) times.")
    }
    return uris
  }

  /// The directory given with `--data`, or the default one.
  static func dataDirectory(
    _ given: String?, _ environment: [String: String]
  ) throws(UsageError) -> String {
    guard let data = given ?? Self.defaultData(environment) else {
      throw UsageError(
        "There is no home directory to keep the data in.", advice: "Give --data DIR.")
    }
    return data
  }

  private static func defaultData(_ environment: [String: String]) -> String? {
    if let base = environment["XDG_DATA_HOME"], base.hasPrefix("/") {
      return base + "/earshot-rendezvous"
    }
    guard let home = environment["HOME"], home.hasPrefix("/") else { return nil }
    return home + "/.local/share/earshot-rendezvous"
  }

  /// The variables that are looked at.
  static var environment: [String: String] {
    var variables: [String: String] = [:]
    for name in ["XDG_DATA_HOME", "HOME", RedisOptions.passwordVariable] {
      if let value = unsafe getenv(name) { variables[name] = unsafe String(cString: value) }
    }
    return variables
  }
}
