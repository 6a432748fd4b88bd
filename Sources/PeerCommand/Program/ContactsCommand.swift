package import Arguments
package import Earshot
internal import Primitives
internal import Reactor

/// `earshot contacts`: who is pinned, and what a person changes of it.
package struct ContactsCommand: Sendable {
  package enum Action: Equatable, Sendable {
    case list
    case forget(String)
    /// The ID is compared with the pinned one; without it the user has compared the short code.
    case verify(String, id: PeerID?)
    /// Under another name than the one on the card, or under that.
    case keep(PeerCard, name: String?)
    /// An ID, by a name of this host's own.
    case pin(PeerID, name: String)
    case rename(String, to: String)
  }

  package var action: Action
  package var identity: String?
  package var isJSON: Bool

  package init(_ arguments: consuming Arguments) throws(UsageError) {
    var arguments = arguments
    identity = try arguments.file("--identity")
    isJSON = try arguments.flag("--json")
    let id = try arguments.option("--id", wants: "an ID of 52 letters") { PeerID($0) }
    let other = try arguments.option("--as")
    let word = arguments.optionalPositional()
    guard id == nil || word == "verify" else {
      throw UsageError("--id belongs to verify.", advice: "Name the ID itself.")
    }
    guard other == nil || word == "import" else {
      throw UsageError("--as belongs to import.", advice: "Write: earshot contacts rename NAME NEW")
    }
    switch word {
    case "list": action = .list
    case "forget": action = .forget(try arguments.positional("name, ID or HOST:PORT"))
    case "verify":
      action = .verify(
        try Self.target(&arguments, "Write: earshot contacts verify NAME --id ID"), id: id)
    case "import":
      if let other { try Self.check(name: other, "Write: earshot contacts import CARD --as NAME") }
      action = try Self.keeping(&arguments, as: other)
    case "rename":
      let advice = "Write: earshot contacts rename NAME NEW"
      action = .rename(
        try Self.target(&arguments, advice), to: try Self.name(&arguments, advice))
    default: throw Self.unknown(word)
    }
    try arguments.finish()
  }

  /// A name or an ID.
  private static func target(
    _ arguments: inout Arguments, _ advice: String
  ) throws(UsageError) -> String {
    let target = try arguments.positional("name or ID")
    if PeerID(target) != nil { return target }
    try OnlineOptions.checkID(target)
    try check(name: target, advice)
    return target
  }

  private static func name(
    _ arguments: inout Arguments, _ advice: String
  ) throws(UsageError) -> String {
    let name = try arguments.positional("name")
    try check(name: name, advice)
    return name
  }

  private static func check(name: String, _ advice: String) throws(UsageError) {
    guard OnlineOptions.isName(name) else {
      throw UsageError("'\(name)' is not a name.", advice: advice)
    }
  }

  /// A card has its name on it, an ID needs one.
  private static func keeping(
    _ arguments: inout Arguments, as name: String?
  ) throws(UsageError) -> Action {
    let text = try arguments.positional("card or ID")
    let link = ContactLink(text)
    guard let id = PeerID(text) ?? link?.id else { return .keep(try card(text), name: name) }
    guard let name else {
      throw UsageError(
        "\(link == nil ? "An ID" : "A link") has no name, and is no card to keep.",
        advice: "Add --as NAME.")
    }
    return .pin(id, name: name)
  }

  private static func card(_ text: String) throws(UsageError) -> PeerCard {
    guard !ContactLink.isMeant(text) else { throw ContactLink.damaged }
    guard let card = try OnlineOptions.card(text) else {
      throw UsageError(
        "'\(text)' is not a contact card.",
        advice: "It begins with earshot:, and is what 'earshot card' prints.")
    }
    return card
  }

  private static func unknown(_ word: String?) -> UsageError {
    guard let word else {
      return UsageError(
        "It is not said what to do with the contacts.",
        advice: "Write: earshot contacts \(words.joined(separator: ", ")).")
    }
    let near =
      otherWords[word].map { "Did you mean \($0)?" } ?? Arguments.suggestion(word, words)
    return UsageError(
      "'\(word)' is nothing to do with contacts.",
      advice: near.isEmpty ? "There are \(words.joined(separator: ", "))." : near)
  }

  /// What other programs call the same.
  private static let otherWords = [
    "remove": "forget", "delete": "forget", "rm": "forget", "unpin": "forget",
    "add": "import", "keep": "import", "pin": "import", "show": "list", "ls": "list",
    "mv": "rename", "confirm": "verify",
  ]
  private static let words = ["list", "import", "rename", "verify", "forget"]

  package func run() throws(CommandFailure) -> ExitCode {
    print(Printable.lines(try text()))
    return .done
  }

  /// Does it; what is to be printed.
  package func text() throws(CommandFailure) -> String {
    do throws(EarshotError) {
      let book = try ContactBook(identityFile: identity)
      switch action {
      case .list: return list(try book.entries(), in: book)
      case .forget(let target):
        let gone = try book.forget(target)
        guard !gone.isEmpty else { throw Self.notPinned(target, in: book) }
        return gone.map { changed($0, "forgotten", "\(Self.owner(of: $0)) is forgotten.") }
          .joined(separator: "\n")
      case .verify(let name, let id):
        guard let entry = try book.verify(name, as: id) else {
          throw Self.notPinned(name, in: book)
        }
        return changed(entry, "verified", Self.verified(entry))
      case .keep(let card, let name):
        let entry = try book.keep(card, as: name)
        return changed(
          entry, "imported", "\(Self.name(of: entry)) is kept, as verified: \(entry.id).")
      case .pin(let id, let name):
        let entry = try book.keep(id, as: name)
        return changed(
          entry, "imported",
          "\(name) is kept: \(entry.id).\nIt is reached by this name as soon as it has called, or "
            + "was called by its ID.")
      case .rename(let name, let other):
        guard let entry = try book.rename(name, to: other) else {
          throw Self.notPinned(name, in: book)
        }
        return changed(entry, "renamed", "\(name) is called \(other) from now on: \(entry.id).")
      }
    } catch {
      throw CommandFailure(error)
    }
  }

  private static func notPinned(_ target: String, in book: ContactBook) -> EarshotError {
    EarshotError(
      .contactUnknown, "'\(target)' is not pinned in \(book.path).",
      advice: "earshot contacts list shows who is; a call to a name or an ID pins it.")
  }

  // MARK: - Words

  private func list(_ entries: [ContactBook.Entry], in book: ContactBook) -> String {
    if isJSON { return entries.map { json($0).text }.joined(separator: "\n") }
    guard !entries.isEmpty else { return "Nobody is pinned in \(book.path)." }
    let columns = TerminalInput.columnCount
    let width = entries.map { Self.name(of: $0).count }.max() ?? 0
    return entries.map { entry in
      let name = Self.name(of: entry)
      let gap = String(repeating: " ", count: width - name.count)
      let trust = entry.trust == .verified ? "verified" : "pinned  "
      let line = "\(name)\(gap)  \(trust)  last seen \(Self.day(entry.lastSeen))"
      // Nothing is broken inside an ID.
      let isLong = columns.map { line.count + 54 > $0 } ?? false
      return line + (isLong ? "\n    " : "  ") + "\(entry.id)"
    }
    .joined(separator: "\n")
  }

  private func changed(_ entry: ContactBook.Entry, _ change: String, _ words: String) -> String {
    isJSON ? json(entry, change: change).text : words
  }

  private func json(_ entry: ContactBook.Entry, change: String? = nil) -> JSONValue {
    var object = JSONObject()
    object.add("type", "contact")
    object.add("ts", Timestamp.text(wallNanoseconds: SystemClock.wallNanoseconds))
    object.add("change", change)
    switch entry.place {
    case .name(let name): object.add("name", name)
    case .rendezvous(let address): object.add("rendezvous", address)
    case .id: break
    }
    object.add("id", "\(entry.id)")
    object.add("trust", entry.trust.rawValue)
    object.add("firstSeen", Self.moment(entry.firstSeen))
    object.add("lastSeen", Self.moment(entry.lastSeen))
    return object.value
  }

  private static func name(of entry: ContactBook.Entry) -> String {
    switch entry.place {
    case .name(let name): name
    case .rendezvous(let address): "rendezvous \(address)"
    case .id: "no name"
    }
  }

  private static func owner(of entry: ContactBook.Entry) -> String {
    entry.place == .id(entry.id) ? "\(entry.id)" : name(of: entry)
  }

  private static func verified(_ entry: ContactBook.Entry) -> String {
    entry.place == .id(entry.id)
      ? "\(entry.id) is verified." : "\(name(of: entry)) is verified: \(entry.id)."
  }

  private static func moment(_ seconds: UInt64) -> String {
    Timestamp.text(wallNanoseconds: seconds.multipliedReportingOverflow(by: 1_000_000_000).0)
  }

  private static func day(_ seconds: UInt64) -> String { String(moment(seconds).prefix(10)) }
}
