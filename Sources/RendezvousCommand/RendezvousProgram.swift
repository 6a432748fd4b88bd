import Arguments
import Glibc
import Primitives
import Reactor
import Redis
import SecureSession
import Storage

/// From command line to exit code.
enum RendezvousProgram {
  private enum ExitCode {
    static let done: Int32 = 0
    static let failed: Int32 = 1
    static let usage: Int32 = 2
    static let unreachable: Int32 = 3
    static let untrusted: Int32 = 7
    static let file: Int32 = 8
  }

  static func run(_ words: [String]) -> Int32 {
    // Before any thread is started: all of them inherit it.
    SignalWatch.block(SignalWatch.Signal.allCases)
    ProcessSurroundings.holdStandardStreams()
    ProcessSurroundings.ignoreWriteSignals()
    ProcessSurroundings.protectMemory()
    var arguments = Arguments(words)
    var command = arguments.command()
    let asksHelp = ["help", "?"].contains(command)
    if asksHelp { command = arguments.command() }
    let environment = ServeOptions.environment
    if asksHelp || arguments.wantsHelp, let text = usage(of: command) {
      LineOutput.standardOutput.write(text)
      return ExitCode.done
    }
    do throws(UsageError) {
      let asksBriefly = try arguments.flag("-V")
      if try arguments.flag("--version") || asksBriefly || command == "version" {
        let line = BuildCommit.line("earshot-rendezvous", ServeOptions.version)
        LineOutput.standardOutput.write(line)
        return ExitCode.done
      }
      if command == nil, try arguments.flag("--print-id") {
        return try printID(arguments, environment)
      }
      switch command {
      case nil: return serve(words)
      case "names": return names(try NamesCommand(arguments, environment: environment))
      case let word? where ["backup", "restore"].contains(word):
        return backup(try BackupCommand(word, arguments, environment: environment))
      case "root": return root(try RootCommand(arguments))
      case let word?:
        throw UsageError(
          "'\(word)' is no command.", advice: "There are names, backup, restore, root and version.")
      }
    } catch {
      complain("\(error)\nRun earshot-rendezvous --help for all options.")
      return ExitCode.usage
    }
  }

  /// `nil` where there is no such command.
  private static func usage(of command: String?) -> String? {
    switch command {
    case nil, "version": ServeOptions.usage
    case "names": NamesCommand.usage
    case "backup", "restore": BackupCommand.usage
    case "root": RootCommand.usage
    default: nil
    }
  }

  private static func backup(_ command: BackupCommand) -> Int32 {
    do throws(StorageError) {
      LineOutput.standardOutput.write(try command.run())
      return ExitCode.done
    } catch {
      complain(error.description)
      return ExitCode.file
    }
  }

  private static func names(_ command: NamesCommand) -> Int32 {
    do throws(ServeError) {
      guard let reason = try command.run({ LineOutput.standardOutput.write($0) }) else {
        return ExitCode.done
      }
      complain(reason)
      return ExitCode.failed
    } catch {
      return complain(of: error)
    }
  }

  /// The ID is to stand on the list of nodes before the server can be one of them.
  private static func printID(
    _ arguments: consuming Arguments, _ environment: [String: String]
  ) throws(UsageError) -> Int32 {
    let data = try ServeOptions.dataDirectory(try arguments.option("--data"), environment)
    try arguments.finish()
    var random = RandomSource.system
    do throws(ServeError) {
      do throws(StorageError) { try DataDirectory.make(data) } catch { throw .file(error) }
      let identity = try Server.identity(
        IdentityFile(path: data + "/identity"), random: &random)
      LineOutput.standardOutput.write("\(identity.id)")
      return ExitCode.done
    } catch {
      return complain(of: error)
    }
  }

  private static func root(_ command: RootCommand) -> Int32 {
    do throws(ServeError) {
      let outcome = try command.run(unixSeconds: SystemClock.wallNanoseconds / 1_000_000_000)
      LineOutput.standardOutput.write(outcome.text)
      return outcome.isGood ? ExitCode.done : ExitCode.untrusted
    } catch {
      return complain(of: error)
    }
  }

  private static func serve(_ words: [String]) -> Int32 {
    do throws(ServeError) {
      let server = try Server { () throws(ServeError) in
        try ServeOptions.read(words, environment: ServeOptions.environment)
      }
      return server.run()
    } catch {
      return complain(of: error)
    }
  }

  /// Says why it does not go on; the exit code.
  private static func complain(of error: ServeError) -> Int32 {
    switch error {
    case .file(let failure):
      complain(failure.description)
      return ExitCode.file
    case .usage(let failure):
      complain("\(failure)\nRun earshot-rendezvous --help for all options.")
      return ExitCode.usage
    case .reactor(let failure, let option):
      complain("\(failure).\n\(failure.advice(on: option))")
      return ExitCode.failed
    case .redis(let address, let failure):
      complain(
        "Redis at \(address) is not reached: \(failure).\n"
          + "Check --redis and the password, and that redis-server runs there.")
      return ExitCode.unreachable
    case .unreadable(let path, let reason):
      complain("Cannot open \(path): \(reason).\nCheck the path and who may use it.")
      return ExitCode.file
    }
  }

  private static func complain(_ text: String) {
    // A server elsewhere has said some of it.
    LineOutput.standardError.write("earshot-rendezvous: " + Printable.lines(text))
  }
}

/// Why the server could not start.
enum ServeError: Error {
  case file(StorageError)
  case usage(UsageError)
  case reactor(ReactorError, option: String)
  case unreadable(path: String, reason: String)
  case redis(RedisAddress, RedisError)

  /// In one sentence.
  var text: String {
    switch self {
    case .file(let failure): failure.description
    case .usage(let failure): failure.message
    case .reactor(let failure, _): failure.description
    case .redis(let address, let failure): "Redis at \(address): \(failure)"
    case .unreadable(let path, let reason): "cannot open \(path): \(reason)"
    }
  }
}
