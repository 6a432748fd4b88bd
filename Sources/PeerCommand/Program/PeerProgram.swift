internal import Arguments
internal import Glibc
internal import Primitives
package import Reactor

/// From the command line to the exit code.
package enum PeerProgram {
  package static let version = EarshotVersion.text

  /// The whole program. The main thread becomes the event loop: it is where signals, keys and the
  /// commands themselves are served.
  package static func main() -> Never {
    // Before any thread is started: all of them inherit it.
    SignalWatch.block(SignalWatch.Signal.allCases)
    ProcessSurroundings.holdStandardStreams()
    ProcessSurroundings.ignoreWriteSignals()
    ProcessSurroundings.protectMemory()
    let words = Array(CommandLine.arguments.dropFirst())
    do throws(ReactorError) {
      let loop = try EventLoop()
      Task(executorPreference: loop) {
        let code = flushed(await run(words, on: loop))
        PendingFile.discardAll()
        exit(code.rawValue)
      }
      loop.run()
      exit(ExitCode.failed.rawValue)
    } catch {
      let failure = CommandFailure(system: error)
      Console(isJSON: true, isQuiet: true).complain(failure)
      exit(failure.code.rawValue)
    }
  }

  /// The code, where all that was printed went out; `file` of a command that would else have done
  /// what it was to do.
  private static func flushed(_ code: ExitCode) -> ExitCode {
    do throws(ReactorError) {
      try OutputFile.flushPrinted()
      return code
    } catch {
      Console(isJSON: true, isQuiet: true)
        .complain(CommandFailure(unwritten: OutputFile.standardOutput.name, error))
      return code == .done || code == .quality ? .file : code
    }
  }

  /// One command line. Runs on `loop`.
  package static func run(_ words: [String], on loop: EventLoop) async -> ExitCode {
    do throws(CommandFailure) {
      return try await dispatch(words, on: loop)
    } catch {
      Console(isJSON: true, isQuiet: true).complain(error)
      return error.code
    }
  }

  private static func dispatch(
    _ words: [String], on loop: EventLoop
  ) async throws(CommandFailure) -> ExitCode {
    var arguments = Arguments(words)
    guard let name = arguments.command() else { return try withoutCommand(arguments) }
    guard let command = Subcommand(rawValue: name) else {
      return try otherWord(name, arguments)
    }
    if arguments.wantsHelp {
      print(HelpLayout.fit(Help.text(command)))
      return .done
    }
    return try await run(command, arguments, on: loop)
  }

  private static func run(
    _ command: Subcommand, _ arguments: Arguments, on loop: EventLoop
  ) async throws(CommandFailure) -> ExitCode {
    switch command {
    case .keygen, .card, .contacts, .backup, .restore, .token, .inspect, .replay, .completions:
      return try runOffLine(command, arguments)
    case .doctor:
      return try await parse { () throws(UsageError) in
        try DoctorCommand(arguments, variable: ProcessSurroundings.variable)
      }.run(on: loop)
    case .probe:
      return try await probe(arguments, on: loop)
    case .call:
      return try await parse { () throws(UsageError) in
        try CallCommand(arguments, variable: ProcessSurroundings.variable)
      }.run(on: loop)
    case .join:
      return try await parse { () throws(UsageError) in
        try JoinCommand(arguments, variable: ProcessSurroundings.variable)
      }.run(on: loop)
    case .send:
      return try await parse { () throws(UsageError) in
        try SendCommand(arguments, variable: ProcessSurroundings.variable)
      }.run(on: loop)
    case .receive:
      return try await parse { () throws(UsageError) in
        try ReceiveCommand(arguments, variable: ProcessSurroundings.variable)
      }.run(on: loop)
    case .answer:
      return try await parse { () throws(UsageError) in
        try AnswerCommand(
          arguments, isOnTerminal: TerminalInput.isAvailable,
          variable: ProcessSurroundings.variable)
      }.run(on: loop)
    }
  }

  private static func probe(
    _ arguments: Arguments, on loop: EventLoop
  ) async throws(CommandFailure) -> ExitCode {
    if HistoryCommand.isMeant(arguments.words) {
      return try parse { () throws(UsageError) in try HistoryCommand(arguments) }.run()
    }
    return try await parse { () throws(UsageError) in
      try ProbeCommand(arguments, variable: ProcessSurroundings.variable)
    }.run(on: loop)
  }

  /// The commands that use no network.
  private static func runOffLine(
    _ command: Subcommand, _ arguments: Arguments
  ) throws(CommandFailure) -> ExitCode {
    switch command {
    case .keygen: try parse { () throws(UsageError) in try KeygenCommand(arguments) }.run()
    case .card: try parse { () throws(UsageError) in try CardCommand(arguments) }.run()
    case .contacts: try parse { () throws(UsageError) in try ContactsCommand(arguments) }.run()
    case .backup:
      try parse { () throws(UsageError) in try BackupCommand(.backup, arguments) }.run()
    case .restore:
      try parse { () throws(UsageError) in try BackupCommand(.restore, arguments) }.run()
    case .token: try parse { () throws(UsageError) in try TokenCommand(arguments) }.run()
    case .inspect: try parse { () throws(UsageError) in try InspectCommand(arguments) }.run()
    case .completions:
      try parse { () throws(UsageError) in try CompletionsCommand(arguments) }.run()
    case .replay: try parse { () throws(UsageError) in try ReplayCommand(arguments) }.run()
    case .doctor, .probe, .call, .answer, .join, .send, .receive: .failed
    }
  }

  /// Words that are no commands, and mean something all the same.
  private static func otherWord(
    _ name: String, _ arguments: Arguments
  ) throws(CommandFailure) -> ExitCode {
    var arguments = arguments
    switch name {
    case "version": return try withoutCommand(Arguments(["--version"]))
    case "help", "?":
      guard let subject = arguments.command() else {
        return try withoutCommand(Arguments(["--help"]))
      }
      guard let command = Subcommand(rawValue: subject) else { throw unknown(subject) }
      print(HelpLayout.fit(Help.text(command)))
      return .done
    default: throw unknown(name)
    }
  }

  private static func unknown(_ name: String) -> CommandFailure {
    let near = Arguments.suggestion(name, Subcommand.allCases.map(\.rawValue))
    return CommandFailure(
      .usage, "'\(name)' is not a command.",
      advice: near.isEmpty ? "earshot --help lists them." : near)
  }

  private static func parse<Command>(
    _ body: () throws(UsageError) -> Command
  ) throws(CommandFailure) -> Command {
    do throws(UsageError) {
      return try body()
    } catch {
      var failure = CommandFailure(error)
      if failure.advice.isEmpty { failure.advice = "Add --help for all options." }
      throw failure
    }
  }

  private static func withoutCommand(
    _ arguments: Arguments
  ) throws(CommandFailure) -> ExitCode {
    if arguments.wantsHelp {
      print(HelpLayout.fit(Help.overview))
      return .done
    }
    return try parse { () throws(UsageError) in
      var arguments = arguments
      let asksBriefly = try arguments.flag("-V")
      if try arguments.flag("--version") || asksBriefly {
        print(BuildCommit.line("earshot", version))
        return .done
      }
      if let name = arguments.laterCommand(of: Subcommand.allCases.map(\.rawValue)) {
        throw UsageError(
          "The command comes first, its options follow.",
          advice: "Write: earshot \(name) ... with the options behind it.")
      }
      try arguments.finish()
      throw UsageError("No command is given.", advice: "earshot --help lists them.")
    }
  }
}

/// What `earshot` can do.
package enum Subcommand: String, CaseIterable, Sendable {
  case keygen, card, contacts, backup, restore, doctor, probe, call, answer, join, send, receive
  case token, inspect, replay, completions
}
