internal import Earshot
internal import Primitives
internal import Reactor

/// `answer --exec PROGRAM`: the program is started when a call rings, and when it is over.
struct CallNotice {
  private let program: EventProgram?

  /// - Parameter path: `nil` where nothing is to be started.
  init(_ path: String?, on loop: EventLoop, _ console: Console) throws(CommandFailure) {
    do throws(ReactorError) {
      program = try path.map { name throws(ReactorError) in
        try EventProgram(name, on: loop) { console.log(.warning, "--exec: \($0)") }
      }
    } catch {
      throw CommandFailure(
        .file, "--exec cannot be run: \(error).",
        advice: "Give a program that you may run: its path, or a name on PATH.")
    }
  }

  func start(_ event: String, _ call: IncomingCall, _ report: CallReport?) {
    program?.start(Self.variables(event, call, report), without: "EARSHOT_")
  }

  /// What the program finds in its environment (docs/answering.md).
  static func variables(
    _ event: String, _ call: IncomingCall, _ report: CallReport?
  ) -> [(name: String, value: String)] {
    var variables = [
      (name: "EARSHOT_EVENT", value: event),
      (name: "EARSHOT_CALL", value: "\(call.id)"),
      (name: "EARSHOT_PEER_ID", value: "\(call.peer)"),
      (name: "EARSHOT_PEER", value: Printable.only(call.name ?? "")),
      (name: "EARSHOT_TRUST", value: "\(call.trust.rawValue)"),
    ]
    if let report {
      variables.append((name: "EARSHOT_OUTCOME", value: "\(report.outcome.rawValue)"))
      variables.append((name: "EARSHOT_REASON", value: Printable.only(report.reason)))
      variables.append((name: "EARSHOT_SECONDS", value: "\((report.durationMs + 500) / 1000)"))
    }
    return variables
  }
}
