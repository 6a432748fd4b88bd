package import Arguments
internal import Earshot
package import Reactor

/// `earshot receive`: takes what `earshot send` gives, from those that may, into one folder.
package struct ReceiveCommand: Sendable {
  package var online: OnlineOptions
  /// Where files go.
  package var folder: String
  /// From whom anything is taken.
  package var senders: CallerFilter
  /// Bytes of files that are taken by one run, those of parts that lie in the folder included.
  package var quota: UInt64
  /// Files that are taken by one run, empty ones too, and those of parts that lie in the folder.
  package var mostFiles: Int
  /// Whether it leaves after one transfer.
  package var isOnce: Bool

  package init(
    _ arguments: consuming Arguments, variable: (String) -> String?
  ) throws(UsageError) {
    var arguments = arguments
    online = try OnlineOptions(&arguments, variable: variable)
    online.transport.maximumCalls = ReceiveRun.mostTransfers
    let into = try arguments.file("--into")
    let dir = try arguments.file("--dir")
    guard into == nil || dir == nil else {
      throw UsageError("--into and --dir mean the same.", advice: "Leave out one of them.")
    }
    folder = into ?? dir ?? "."
    senders = try CallerFilter(try arguments.option("--from") ?? "known")
    let bytes = try arguments.integer("--quota", "bytes", in: 1...1_000_000_000_000)
    quota = UInt64(bytes ?? 1_000_000_000)
    mostFiles = try arguments.integer("--most-files", "files", in: 1...1_000_000) ?? 1000
    isOnce = try arguments.flag("--once")
    try arguments.finish(OnlineOptions.ownName)
    try online.requireRendezvous()
    try online.refusePages()
  }

  package func run(on loop: EventLoop) async throws(CommandFailure) -> ExitCode {
    let console = Console(
      isJSON: online.isJSON, isQuiet: online.isQuiet, logLevel: online.logLevel)
    console.stampsLines = true
    var claims = FileClaims()
    online.claim(in: &claims)
    try claims.check()
    let drop: DropFolder
    do throws(ReactorError) {
      drop = try DropFolder(folder)
    } catch {
      throw CommandFailure(
        .file, "Cannot \(error.action) the folder \(folder): \(error.reason).",
        advice: "Name a folder that is there and that you may write to: --into DIR.")
    }
    let session = try await OnlineSession(
      online, console, on: loop, readsKeys: false, isPatient: true)
    session.tellsMessages = false
    let status = try await session.waitUntilRegistered(isPatient: true)
    if status == .taken || status == .malformed {
      throw await session.conclude(CommandFailure(EarshotError.nameTaken(online.name ?? "")))
    }
    let name = online.name.map { " as \($0)" } ?? ""
    console.say(
      "Registered\(name); the own ID is \(session.endpoint.id).\nWaiting for files and texts.")
    session.tellOfNobody(in: senders)
    let run = ReceiveRun(self, drop, session)
    while !run.isOver, let input = await session.next() { await run.handle(input) }
    run.writeSummary()
    return await session.finish(page: nil, run.code)
  }
}
