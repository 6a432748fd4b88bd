package import Arguments
internal import Earshot
package import Reactor

/// `earshot send NAME|ID|CARD --file FILE` or `--text TEXT`: gives it to `earshot receive` there.
package struct SendCommand: Sendable {
  package var online: OnlineOptions
  package var target: String
  /// The target in a word.
  package var targetName: String
  package var file: String?
  package var text: String?
  /// The name that the other side is told.
  package var name: String?
  /// Seconds.
  package var ringTimeout: Double
  /// Seconds without progress after which an interrupted transfer is given up.
  package var retryFor: Double

  package init(
    _ arguments: consuming Arguments, variable: (String) -> String?
  ) throws(UsageError) {
    var arguments = arguments
    online = try OnlineOptions(&arguments, variable: variable)
    online.presence = .calling
    file = try arguments.file("--file")
    text = try arguments.option("--text")
    name = try arguments.option("--as")
    ringTimeout = try arguments.number("--ring-timeout", "seconds", in: 0.5...3600) ?? 15
    retryFor = try arguments.number("--retry-for", "seconds", in: 0...86_400) ?? 120
    let given = try arguments.positional("name, ID, link or card")
    target = try online.follow(given)
    try arguments.finish { [file, text] word in
      file == nil && text == nil ? "Write --file \(word)." : ""
    }
    try OnlineOptions.checkID(target)
    let card = try OnlineOptions.card(target)
    targetName = card.map { $0.name ?? "\($0.id)" } ?? target
    online.adoptRendezvous(of: target, card)
    try online.requireRendezvous(for: given)
    try online.refusePages()
    guard card != nil || OnlineOptions.isTarget(target) else {
      throw OnlineOptions.noTarget(target)
    }
    try checkContent()
  }

  private func checkContent() throws(UsageError) {
    guard (file == nil) != (text == nil) else {
      throw UsageError(
        file == nil ? "It is not said what to send." : "--file and --text are two things to send.",
        advice: "Write --file FILE or --text TEXT.")
    }
    guard text != "" else {
      throw UsageError("--text is empty.", advice: "Write --text TEXT.")
    }
    guard file != "-" else {
      throw UsageError(
        "--file takes no pipe: what breaks off is read again from where it was.",
        advice: "Put it into a file first, and write --file FILE.")
    }
    guard name == nil || file != nil else {
      throw UsageError("--as names a file.", advice: "A text has no name; leave it out.")
    }
    if let text, text.utf8.count > Int(IncomingTransfer.longestText) {
      throw UsageError(
        "The text has \(text.utf8.count) bytes; a text has 65536.",
        advice: "Put it into a file and write --file FILE.")
    }
  }

  package func run(on loop: EventLoop) async throws(CommandFailure) -> ExitCode {
    let console = Console(
      isJSON: online.isJSON, isQuiet: online.isQuiet, logLevel: online.logLevel)
    var claims = FileClaims()
    online.claim(in: &claims)
    claims.reads(file, "--file")
    try claims.check()
    let transfer = try transfer()
    let session = try await OnlineSession(online, console, on: loop, readsKeys: false)
    session.tellsMessages = false
    _ = try await session.waitUntilRegistered()
    let run = SendRun(self, transfer, session)
    await run.begin()
    while !run.isOver, let input = await session.next() { await run.handle(input) }
    run.writeSummary()
    return await session.finish(page: nil, run.code)
  }

  private func transfer() throws(CommandFailure) -> OutgoingTransfer {
    guard let file else { return OutgoingTransfer(text: text ?? "") }
    do throws(ReactorError) {
      let source = try SourceFile(file)
      return try OutgoingTransfer(source, name: name ?? TransferWords.safeName(file))
    } catch {
      throw Self.failure(error, file)
    }
  }

  private static func failure(_ error: ReactorError, _ file: String) -> CommandFailure {
    guard !error.isNoPlainFile else {
      return CommandFailure(
        .file, "\(file) is a pipe or a device: what breaks off is read again from where it was.",
        advice: "Put what it gives into a file first, and send that.")
    }
    return CommandFailure(
      .file, "Cannot \(error.action) \(file): \(error.reason).",
      advice: error.isFolder
        ? "Send an archive of it: tar czf \(file).tar.gz \(file)" : "Check the path.")
  }
}

extension OnlineOptions {
  package static func isTarget(_ target: String) -> Bool {
    isName(target) || PeerID(target) != nil
  }

  /// A transfer has nothing to draw, and no media.
  func refusePages() throws(UsageError) {
    for (option, path) in [("--report", report), ("--pcap", pcap)] where path != nil {
      throw UsageError("A transfer has no \(option).", advice: "Use --events FILE.")
    }
  }

  package static func noTarget(_ target: String) -> UsageError {
    UsageError(
      "'\(target)' is neither a name nor an ID.",
      advice: "A name has 1 to 63 of A-Z a-z 0-9 . _ -, an ID 52 letters.")
  }
}
