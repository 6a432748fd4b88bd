package import Arguments

/// `earshot inspect FILE`: explains a capture, an events file or a packet.
package struct InspectCommand: Sendable {
  package var subject: String

  package init(_ arguments: consuming Arguments) throws(UsageError) {
    var arguments = arguments
    subject = try arguments.positional("file")
    try arguments.finish()
  }

  package func run() throws(CommandFailure) -> ExitCode { .done }
}
