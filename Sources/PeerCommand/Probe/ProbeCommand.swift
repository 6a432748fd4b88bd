package import Arguments
internal import Earshot
package import Reactor

/// `earshot probe TARGET`: measures the line to a rendezvous or a peer, and says what it is fit for.
package struct ProbeCommand: Sendable {
  package var options: ProbeOptions

  package init(
    _ arguments: consuming Arguments, variable: (String) -> String?
  ) throws(UsageError) {
    options = try ProbeOptions(arguments, variable: variable)
  }

  package func run(on loop: EventLoop) async throws(CommandFailure) -> ExitCode {
    throw CommandFailure(.failed, "This version cannot probe yet.")
  }
}
