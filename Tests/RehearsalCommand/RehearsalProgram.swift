import Arguments
import Foundation
import LinkModel

/// `tools/congestion-check` calls it for the simulated half of each case.
enum RehearsalProgram {
  static let usage = """
    usage: RehearsalCommand --seconds N [--up SPEC] [--down SPEC] [--both SPEC] [--at S:WAY:SPEC]...

    Plays in simulated time what `earshot call --video test` and `earshot answer --save-video` do
    over a line, with their machines and codecs, and prints one line of JSON. The line is described
    in the words of `LineCommand --help`; up is from the caller.

      --seconds N                how long, from the moment that both are connected
      --max-video-bitrate BPS    as of `earshot call`
      --no-fallback              as `--fallback disabled`
      --log FILE                 every datagram, as LineCommand writes it
      --seed N                   (default: 1)

    example: RehearsalCommand --seconds 60 --up rate=2M,queue=300ms,delay=25ms --down delay=25ms
    """

  static func run(_ words: [String]) -> Int32 {
    var arguments = Arguments(words)
    if arguments.wantsHelp {
      print(usage)
      return 0
    }
    do throws(UsageError) {
      var settings = RehearsedCall.Settings()
      let course = try LineCourse(&arguments, readTrace: readTrace)
      settings.seed = UInt64(try arguments.integer("--seed", "seed", in: 0...Int.max) ?? 1)
      let most = try arguments.integer("--max-video-bitrate", "bit/s", in: 30_000...20_000_000)
      if let most { settings.mostVideoBitsPerSecond = most }
      settings.fallsBack = try !arguments.flag("--no-fallback")
      let seconds = try arguments.number("--seconds", "seconds", in: 1...86_400)
      let log = try arguments.option("--log")
      try arguments.finish()
      guard let seconds else { throw UsageError("How long?", advice: "Add --seconds 60.") }
      return try rehearse(course, settings, seconds: seconds, log: log)
    } catch {
      complain("\(error.message) \(error.advice)")
      return 2
    }
  }

  private static func rehearse(
    _ course: LineCourse, _ settings: RehearsedCall.Settings, seconds: Double, log: String?
  ) throws(UsageError) -> Int32 {
    var file: FileHandle?
    if let log {
      guard FileManager.default.createFile(atPath: log, contents: nil),
        let handle = FileHandle(forWritingAtPath: log)
      else { throw UsageError("Cannot write \(log).") }
      file = handle
    }
    let journal = LineJournal { text in file?.write(Data(text.utf8)) }
    do {
      let call = try RehearsedCall(course, settings, journal: journal)
      try call.run(seconds)
      let encoder = JSONEncoder()
      encoder.outputFormatting = .sortedKeys
      print(String(decoding: try encoder.encode(call.outcome), as: UTF8.self))
      return 0
    } catch {
      complain("\(error)")
      return 1
    }
  }

  private static func readTrace(_ path: String) throws(UsageError) -> String {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw UsageError("Cannot read the trace \(path).")
    }
    return String(decoding: data, as: UTF8.self)
  }

  private static func complain(_ text: String) {
    FileHandle.standardError.write(Data("RehearsalCommand: \(text)\n".utf8))
  }
}
