package import Arguments
package import Earshot

/// The options of every subcommand that goes online.
package struct OnlineOptions: Sendable {
  package var rendezvous: String
  package var identity: String?
  package var name: String?
  package var bind: String
  package var isJSON: Bool
  package var events: String?
  package var report: String?
  package var pcap: String?
  package var logLevel: LogLevel
  package var isQuiet: Bool
  /// Whether what is written may replace files that are there.
  package var overwrites: Bool
  /// When addresses are told; `nil` = early to those who are known.
  package var paths: String?

  /// The file of the access token.
  package var token: String?
  /// What is in it.
  package private(set) var tokenText: String?

  /// TURN servers; none = those that the rendezvous names.
  package var relays: [RelayOptions]
  /// File with the authorities of TURN servers.
  package var relayAuthorities: String?

  /// Whether the router is asked to open a port.
  package var mapsPort: Bool

  /// How much is said on standard error.
  package enum LogLevel: String, CaseIterable, Comparable, Sendable {
    case error, warning, info, debug

    package static func < (left: LogLevel, right: LogLevel) -> Bool {
      left.rank < right.rank
    }
    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
  }

  /// Whether there is a rendezvous is asked by `requireRendezvous`, after all options were read.
  package init(
    _ arguments: inout Arguments, variable: (String) -> String?
  ) throws(UsageError) {
    let given = try arguments.option("--rendezvous")
    identity = try arguments.file("--identity")
    name = try arguments.option(
      "--name", wants: "a name of 1 to 63 of A-Z a-z 0-9 . _ - that does not read as an ID"
    ) { text in Self.isName(text) ? text : nil }
    bind = try Self.bind(&arguments) ?? "[::]:0"
    isJSON = try arguments.flag("--json")
    events = try arguments.file("--events")
    report = try Self.page(arguments.file("--report"))
    pcap = try arguments.file("--pcap")
    let level = try arguments.choice("--log-level", of: LogLevel.allCases.map(\.rawValue))
    logLevel = level.flatMap(LogLevel.init) ?? .warning
    isQuiet = try arguments.flag("--quiet")
    overwrites = try arguments.flag("--overwrite")
    paths = try arguments.choice("--paths", of: ["early", "on-accept"])
    token = try arguments.file("--token")
    mapsPort = !(try arguments.flag("--no-port-mapping"))
    relays = try Self.relays(&arguments)
    relayAuthorities = try arguments.file("--turn-ca")
    rendezvous = given ?? variable("EARSHOT_RENDEZVOUS") ?? ""
    if !rendezvous.isEmpty { rendezvous = try Self.checked(rendezvous) }
  }

  /// The file of a page. One that bears the name of another format would not open.
  static func page(_ path: String?) throws(UsageError) -> String? {
    guard let path, let dot = path.lastIndex(of: ".") else { return path }
    let ending = path[path.index(after: dot)...].lowercased()
    guard ["pdf", "png", "jpg", "jpeg", "json", "csv"].contains(ending) else { return path }
    throw UsageError(
      "--report writes a page of HTML, not \(ending).",
      advice: "Write --report \(path[..<dot]).html.")
  }

  /// The own address.
  static func bind(_ arguments: inout Arguments) throws(UsageError) -> String? {
    try arguments.option("--bind", wants: "an address like [::]:5000 or 192.0.2.1:0") { text in
      let address =
        text.hasPrefix("localhost:") ? "127.0.0.1:\(text.dropFirst(10))" : text
      return SocketAddress(address) == nil ? nil : address
    }
  }

  /// The three options of a relay: all of them, or none. Each may be repeated; one user and one
  /// password stand for all servers.
  static func relays(_ arguments: inout Arguments) throws(UsageError) -> [RelayOptions] {
    let uris = try arguments.options("--turn")
    let users = try arguments.options("--turn-user")
    let passwords = try arguments.options("--turn-password")
    for uri in uris where RelayOptions(uri: uri, user: "", password: "").server == nil {
      throw UsageError(
        "--turn wants a TURN server like turn:turn.example.org:3478, not '\(uri)'.")
    }
    guard uris.count <= 4 else {
      throw UsageError("--turn was given \(uris.count) times; it can be given 4 times.")
    }
    let counts = [1, uris.count]
    guard uris.isEmpty == users.isEmpty, uris.isEmpty == passwords.isEmpty,
      uris.isEmpty || counts.contains(users.count) && users.count == passwords.count
    else {
      throw UsageError(
        "A relay needs --turn, --turn-user and --turn-password.",
        advice: "Write --turn turn:HOST:3478 --turn-user USER --turn-password PASSWORD.")
    }
    return uris.indices.map { index in
      let place = users.count == 1 ? 0 : index
      return RelayOptions(uri: uris[index], user: users[place], password: passwords[place])
    }
  }

  /// The contact card that is dialled, if it is one.
  package static func card(_ target: String) throws(UsageError) -> PeerCard? {
    guard PeerCard.isCard(target) else { return nil }
    do throws(EarshotError) {
      return try PeerCard(target)
    } catch {
      throw UsageError(error.message, advice: error.advice)
    }
  }

  /// What is dialled for a link: its ID, at its rendezvous unless another one was given. Everything
  /// else is dialled as it is.
  ///
  /// - Throws: For a link of which something is missing, before it is asked who it leads to.
  mutating func follow(_ target: String) throws(UsageError) -> String {
    guard let link = ContactLink(target) else {
      guard !ContactLink.isMeant(target) else { throw ContactLink.damaged }
      return target
    }
    if rendezvous.isEmpty { rendezvous = link.rendezvous ?? "" }
    return "\(link.id)"
  }

  /// Without a rendezvous on the command line: the one on the card that is dialled, or on the card
  /// of the contact that is.
  mutating func adoptRendezvous(of target: String, _ card: PeerCard?) {
    guard rendezvous.isEmpty else { return }
    if let card {
      rendezvous = card.rendezvous ?? ""
      return
    }
    do throws(EarshotError) {
      rendezvous = try ContactBook(identityFile: identity).rendezvous(of: target) ?? ""
    } catch {
      // The pins cannot be read: then there is none, which is said.
    }
  }

  /// Refuses a command line without a rendezvous. Asked last: a misspelt `--rendezvous` is the
  /// likelier mistake, and is named first.
  ///
  /// - Parameter given: What is dialled, as it was written.
  package func requireRendezvous(for given: String? = nil) throws(UsageError) {
    guard rendezvous.isEmpty else { return }
    if let given, ContactLink(given) != nil {
      throw UsageError(
        "The link says who is dialled, and no rendezvous: its end may be missing.",
        advice: "Copy all of it, or add --rendezvous HOST:PORT.")
    }
    throw UsageError(
      "No rendezvous is given.",
      advice: given.flatMap(Self.split)
        ?? "Write --rendezvous HOST:PORT, or set EARSHOT_RENDEZVOUS.")
  }

  /// How `bob@HOST:PORT` and `HOST:PORT` are written; `nil` for what is neither.
  private static func split(_ given: String) -> String? {
    let parts = given.split(separator: "@", omittingEmptySubsequences: false).map(String.init)
    guard let place = parts.last, parts.count <= 2, !PeerCard.isCard(given),
      parts.count == 2 ? isName(parts[0]) && !place.isEmpty : isPlace(place)
    else { return nil }
    return "Write \(parts.count == 2 ? parts[0] : "NAME") --rendezvous \(place)."
  }

  /// Tells which files are kept and written.
  package func claim(in claims: inout FileClaims) {
    claims.keepsIdentity(identity)
    claims.writes(events, "--events")
    claims.writes(report, "--report")
    claims.writes(pcap, "--pcap")
  }

  /// What the program is registered for; each command sets its own.
  package var presence = Configuration.Presence.answering
  /// Who may learn that the program is there.
  package var visibility = Configuration.Visibility.everybody
  /// What the endpoint is made with, besides what every command has.
  package var transport = Transport()

  package struct Transport: Sendable {
    /// Calls at once.
    package var maximumCalls = 1
    /// Of all that is sent (RFC 2474).
    package var dscp: UInt8 = 0
  }

  package var configuration: Configuration {
    var configuration = Configuration(rendezvous: rendezvous)
    configuration.identityFile = identity
    configuration.name = name
    configuration.bind = bind
    configuration.presence = presence
    configuration.visibility = visibility
    configuration.token = tokenText
    configuration.relays = relays
    configuration.relayAuthorities = relayAuthorities
    configuration.mapsPort = mapsPort
    configuration.maximumCalls = transport.maximumCalls
    configuration.dscp = transport.dscp
    switch paths {
    case "early": configuration.pathPolicy = .prepareOnRinging
    case "on-accept": configuration.pathPolicy = .prepareOnAccept
    default: break
    }
    return configuration
  }

  /// The same options with the access token that is in its file.
  package func withToken() throws(CommandFailure) -> OnlineOptions {
    var options = self
    do throws(EarshotError) {
      options.tokenText = try token.map { path throws(EarshotError) in
        try TokenIssuer.token(at: path)
      }
    } catch {
      throw CommandFailure(error)
    }
    return options
  }

  /// Refuses what can only be an ID with a slip in it; it would pass for a name.
  package static func checkID(_ target: String) throws(UsageError) {
    let letters = Array("ybndrfg8ejkmcpqxot1uwisza345h769".utf8)
    let count = target.utf8.count
    guard (48...56).contains(count), PeerID(target) == nil else { return }
    if target.utf8.allSatisfy({ letters.contains($0) }), count != 52 {
      throw UsageError(
        "'\(target)' has \(count) letters; an ID has 52.", advice: "Copy the ID whole.")
    }
    if PeerID(target.lowercased()) != nil {
      throw UsageError(
        "An ID has small letters; '\(target)' has capitals.", advice: "Copy the ID as it is.")
    }
  }

  /// What to write instead of a name that stands alone.
  static func ownName(_ word: String) -> String {
    isName(word) ? "Write --name \(word) to be called by that name." : ""
  }

  /// Whether an address may be meant: no name has a colon.
  static func isPlace(_ word: String) -> Bool {
    word == "localhost" || word.contains(":") || SocketAddress("\(word):1") != nil
  }

  package static func isName(_ text: String) -> Bool {
    let letters = Array(
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-".utf8)
    return (1...63).contains(text.utf8.count) && text.utf8.allSatisfy { letters.contains($0) }
      && PeerID(text) == nil
  }

  /// An IPv6 address that stands without brackets, as it is to be written. Its last group is the
  /// port where it can be one that a person chose, 1024 and above, and an address is left.
  private static func bracketed(_ text: String, usual: UInt16) -> String {
    let last = text.lastIndex(of: ":") ?? text.endIndex
    let (host, port) = (text[..<last], UInt16(text[last...].dropFirst()) ?? 0)
    let isWhole = SocketAddress("[\(text)]:\(usual)") != nil
    let isHost = SocketAddress("[\(host)]:\(usual)") != nil
    return isHost && port >= 1024 || !isWhole ? "[\(host)]:\(port)" : "[\(text)]:\(usual)"
  }

  /// `HOST:PORT` or `HOST:PORT#ID`, from text that may leave out the port.
  ///
  /// - Parameters:
  ///   - usual: The port where it is left out.
  ///   - what: What listens there.
  package static func checked(
    _ text: String, usual: UInt16 = 7400, of what: String = "rendezvous"
  ) throws(UsageError) -> String {
    func fault(_ advice: String, _ detail: String = "") -> UsageError {
      UsageError("'\(text)' is not the address of a \(what)\(detail).", advice: advice)
    }
    guard !text.contains(where: \.isWhitespace) else {
      throw fault("Leave the blank out.", ": there is a blank in it")
    }
    if let scheme = text.firstRange(of: "://") {
      throw fault("Write HOST:PORT, without \(text[..<scheme.upperBound]).")
    }
    let rendezvous = Configuration.completedRendezvous(text, usual: usual)
    let parts = rendezvous.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
    let address = parts.first.map(String.init) ?? ""
    let port = address.lastIndex(of: ":").flatMap { colon in
      colon == address.startIndex ? nil : UInt16(address[address.index(after: colon)...])
    }
    guard let port, port > 0 else {
      throw fault("Write HOST:PORT or HOST:PORT#ID, for example 192.0.2.1:\(usual).")
    }
    let host = address.dropLast("\(port)".utf8.count + 1)
    if address.hasPrefix("::") && !host.dropFirst(2).contains(where: { $0 != ":" }) {
      throw fault("Put an IPv6 address into brackets: [\(address)]:\(usual).")
    }
    if host.contains(":"), !host.hasPrefix("[") {
      throw fault("Put an IPv6 address into brackets: \(bracketed(address, usual: usual)).")
    }
    if parts.count == 2, PeerID(String(parts[1])) == nil {
      throw UsageError(
        "'\(parts[1])' is not the ID of a \(what).",
        advice: "An ID has 52 letters; copy the whole of it.")
    }
    return rendezvous
  }
}
