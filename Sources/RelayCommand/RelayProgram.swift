import Arguments
import Glibc
import Primitives
import Reactor
import SecureSession
import Storage

/// From command line to exit code.
enum RelayProgram {
  static func run(_ words: [String]) -> Int32 {
    // Before any thread is started: all of them inherit it.
    SignalWatch.block(SignalWatch.Signal.allCases)
    ProcessSurroundings.holdStandardStreams()
    ProcessSurroundings.ignoreWriteSignals()
    ProcessSurroundings.protectMemory()
    var arguments = Arguments(words)
    // Not a command, but what people try first.
    let first = words.first ?? ""
    let topic = first == "help" ? words.dropFirst().first { !$0.hasPrefix("-") } : nil
    if topic == nil, arguments.wantsHelp || first == "help" {
      write(RelayOptions.usage, to: 1)
      return 0
    }
    do throws(UsageError) {
      if let topic {
        throw UsageError(
          "There is no help for '\(topic)'.", advice: "earshot-relay has options, and no commands.")
      }
      let asksBriefly = try arguments.flag("-V")
      if try arguments.flag("--version") || asksBriefly || first == "version" {
        write(BuildCommit.line("earshot-relay", EarshotVersion.text), to: 1)
        return 0
      }
      if try arguments.flag("--print-id") {
        let data = try RelayOptions.data(&arguments, environment: RelayOptions.environment)
        try arguments.finish()
        return printID(data)
      }
      return serve(try RelayOptions(arguments, environment: RelayOptions.environment))
    } catch {
      complain("\(error)\nRun earshot-relay --help for all options.")
      return 2
    }
  }

  /// The ID is to stand in the rendezvous' file before the relay can register.
  private static func printID(_ data: String) -> Int32 {
    do {
      write("\(try RelayServer.identity(in: data).id)", to: 1)
      return 0
    } catch {
      complain("\(error)")
      return 8
    }
  }

  private static func serve(_ options: RelayOptions) -> Int32 {
    do {
      return try RelayServer(options).run()
    } catch let error as StorageError {
      complain(error.description)
      return 8
    } catch let failure as RelayFailure {
      return complain(failure)
    } catch {
      complain("\(error)")
      return 1
    }
  }

  /// The exit code.
  private static func complain(_ failure: RelayFailure) -> Int32 {
    switch failure {
    case .usage(let error):
      complain("\(error)\nRun earshot-relay --help for all options.")
      return 2
    case .unresolved(let error):
      complain("\(error).\nCheck --rendezvous, and that names are looked up here.")
      return 3
    case .reactor(let error, let option):
      complain("\(error).\n\(error.advice(on: option))")
      return 1
    }
  }

  static func complain(_ text: String) {
    let lines = text.split(separator: "\n").map { Printable.only(String($0)) }
    write("earshot-relay: " + lines.joined(separator: "\n"), to: 2)
  }

  /// Writes a line; one that cannot be written is lost: a full disk must not stop the relay.
  static func write(_ line: String, to number: Int32) {
    let bytes = Array((line + "\n").utf8)
    _ = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(number, $0.baseAddress, $0.count) }
  }
}
