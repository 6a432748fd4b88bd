import Arguments
import Glibc
import Primitives

/// From command line to exit code; prints one JSON object.
enum LoadProgram {
  static let usage = """
    usage: LoadCommand [--server FILE] [--clients N] [--seconds S] [--sources N] [--window N]
                       [--beside FILE [--turns N]] [--storm N] [--ids FILE --targets FILE]

    Starts earshot-rendezvous on core 0, registers clients from core 1, and measures. Stops by itself.

      --server FILE   the program to measure       (default: earshot-rendezvous beside this program)
      --clients N     registered clients           (default: 20000)
      --seconds S     for each kind of request     (default: 5)
      --sources N     addresses in 127.0.0.0/8     (default: 8)
      --window N      requests under way           (default: 256)
      --beside FILE   Benchmarks/LookUpC/lookups.c as a program: look-ups there and here in turns
      --turns N       of each                      (default: 5)
      --storm N       so many more begin at the same moment, while the others look up; beside it
                      what their key agreements alone cost
      --ids FILE      gets the IDs of the clients, once they are registered
      --targets FILE  look-ups are of the IDs in this file, which is waited for

    example:
      swift build -c release && .build/release/LoadCommand --clients 20000
    """

  static func run(_ words: [String]) -> Int32 {
    var arguments = Arguments(words)
    if arguments.wantsHelp {
      print(usage)
      return 0
    }
    do throws(UsageError) {
      var options = LoadOptions()
      options.server = try arguments.option("--server") ?? defaultServer()
      options.clients =
        try arguments.integer("--clients", "clients", in: 1...200_000) ?? options.clients
      options.seconds = try arguments.number("--seconds", "seconds", in: 0.1...60) ?? 5
      options.sources = try arguments.integer("--sources", "addresses", in: 1...250) ?? 8
      options.window = try arguments.integer("--window", "requests", in: 1...4096) ?? 256
      options.beside = try arguments.option("--beside")
      options.turns = try arguments.integer("--turns", "turns", in: 1...100) ?? 5
      options.storm = try arguments.integer("--storm", "clients", in: 1...100_000) ?? 0
      options.ids = try arguments.option("--ids")
      options.targets = try arguments.option("--targets")
      try arguments.finish()
      let run = LoadRun(options)
      print(try run.measure())
      return 0
    } catch {
      print("LoadCommand: \(error)")
      return error.advice.isEmpty ? 1 : 2
    }
  }

  private static func defaultServer() -> String {
    let path = CommandLine.arguments.first ?? ""
    let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    return directory + "/earshot-rendezvous"
  }
}

struct LoadOptions {
  var server = ""
  var clients = 20_000
  var seconds = 5.0
  var sources = 8
  var window = 256
  /// The C program that answers look-ups in turns with the rendezvous; `nil` for none.
  var beside: String?
  var turns = 5
  /// Clients that begin at the same moment; 0 for none.
  var storm = 0
  /// Where the IDs of the clients are written.
  var ids: String?
  /// Whose IDs are looked up; `nil` for those of the own clients.
  var targets: String?
}
