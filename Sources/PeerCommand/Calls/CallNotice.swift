internal import Earshot
internal import Primitives
internal import Reactor

/// `answer --exec PROGRAM`: the program is started when a call rings, and when it is over.
struct CallNotice {
  private let program: EventProgram?

  /// - Parameter path: `nil` where nothing is to be started.
  init(_ path: String?) throws(CommandFailure) {
    do throws(ReactorError) {
      program = try path.map { name throws(ReactorError) in try EventProgram(name) }
    } catch {
      throw CommandFailure(
        .file, "--exec cannot be run: \(error).", advice: "Give a program that you may run.")
    }
  }

  func start(
    _ event: String, _ call: IncomingCall, _ report: CallReport?, _ console: Console
  ) {
    guard let program else { return }
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
      variables.append((name: "EARSHOT_SECONDS", value: "\(report.durationMs / 1000)"))
    }
    do throws(ReactorError) {
      try program.start(variables)
    } catch {
      console.log(.warning, "--exec: \(error)")
    }
  }
}
