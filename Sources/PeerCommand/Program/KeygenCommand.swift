package import Arguments
internal import Earshot
internal import Reactor

/// The options of the commands that only read the identity.
package struct IdentityOptions: Sendable {
  package var identity: String?
  package var name: String?
  package var rendezvous: String?
  package var isJSON: Bool

  package init(_ arguments: inout Arguments) throws(UsageError) {
    identity = try arguments.file("--identity")
    name = try arguments.option("--name", wants: "a name of 1 to 63 of A-Z a-z 0-9 . _ -") { text in
      OnlineOptions.isName(text) ? text : nil
    }
    rendezvous = try arguments.option("--rendezvous")
    if let rendezvous, !rendezvous.contains("#") {
      throw UsageError(
        "A card names the rendezvous with its ID: '\(rendezvous)' lacks #ID.",
        advice: "earshot-rendezvous prints the ID when it starts; write HOST:PORT#ID.")
    }
    isJSON = try arguments.flag("--json")
  }

  func open(replacesKey: Bool = false) throws(CommandFailure) -> LocalIdentityFile.Summary {
    do throws(EarshotError) {
      try LocalIdentityFile.requireFolder(of: identity)
      return try LocalIdentityFile.open(
        at: identity, name: name, rendezvous: rendezvous, replacesKey: replacesKey)
    } catch {
      throw CommandFailure(error)
    }
  }

  func json(_ identity: LocalIdentityFile.Summary) -> String {
    var object = JSONObject()
    object.add("type", "identity")
    object.add("ts", Timestamp.text(wallNanoseconds: SystemClock.wallNanoseconds))
    object.add("id", "\(identity.id)")
    object.add("card", identity.card)
    object.add("file", identity.path)
    object.add("new", identity.isNew)
    return object.value.text
  }
}

/// `earshot keygen`: makes the identity, or gives it a new device key; prints its ID and card.
package struct KeygenCommand: Sendable {
  package var options: IdentityOptions
  /// The device key may have been copied.
  package var rotates: Bool

  package init(_ arguments: consuming Arguments) throws(UsageError) {
    var arguments = arguments
    options = try IdentityOptions(&arguments)
    rotates = try arguments.flag("--rotate")
    try arguments.finish(OnlineOptions.ownName)
  }

  package func run() throws(CommandFailure) -> ExitCode {
    let identity = try options.open(replacesKey: rotates)
    if options.isJSON {
      print(options.json(identity))
    } else {
      print(
        """
        \(sentence(identity)) in \(identity.path).
        id    \(identity.id)
        card  \(identity.card)
        """)
      if rotates {
        print(
          """
          Start the programs that run with this identity anew. Once one of them has registered, the
          rendezvous refuses the former key, and so does everybody who has called or pinned you and
          has seen the new card.
          """)
      }
    }
    return .done
  }

  private func sentence(_ identity: LocalIdentityFile.Summary) -> String {
    if rotates { return "The device key was replaced" }
    return identity.isNew ? "A new identity was made" : "There is an identity already"
  }
}

/// `earshot card`: prints the own contact card.
package struct CardCommand: Sendable {
  package var options: IdentityOptions
  package var showsQR: Bool

  package init(_ arguments: consuming Arguments) throws(UsageError) {
    var arguments = arguments
    options = try IdentityOptions(&arguments)
    showsQR = try arguments.flag("--qr")
    try arguments.finish(OnlineOptions.ownName)
  }

  package func run() throws(CommandFailure) -> ExitCode {
    let identity = try options.open()
    if identity.isNew {
      // A misspelt --identity makes somebody else.
      Console(isJSON: options.isJSON, isQuiet: false).log(
        .warning, "a new identity was made in \(identity.path)")
    }
    guard showsQR else {
      print(options.isJSON ? options.json(identity) : identity.card)
      return .done
    }
    let link = ContactLink(id: identity.id, rendezvous: options.rendezvous).text
    guard let code = QRCode(link) else {
      throw CommandFailure(.failed, "The name of the rendezvous is too long for a QR code.")
    }
    print(Self.drawn(code), terminator: "")
    print(options.isJSON ? options.json(identity) : link)
    return .done
  }

  private static func drawn(_ code: QRCode) -> String {
    guard PlainLetters.isWanted else { return code.halfBlocks }
    let isPlain = ["", "dumb"].contains(ProcessSurroundings.variable("TERM") ?? "")
    // Blanks in the other colours leave no gaps.
    let isReversed = OutputFile.standardOutput.isTerminal && !isPlain
    return code.plainLetters(light: isReversed ? "\u{1B}[7m  \u{1B}[m" : "##")
  }
}
