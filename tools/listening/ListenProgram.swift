import Arguments
import Audio
import MediaFiles
import Primitives

/// From command line to exit code; prints one JSON object.
enum ListenProgram {
  static let usage = """
    usage: ListenCommand --play FILE [--play FILE ...] [--save FILE.wav] [--line WORDS] [options]

    Encodes FILE, sends it over a simulated line into the jitter buffer, saves what would be heard
    (its first sample is the moment the first of FILE was spoken), and prints what happened.
    Everything follows from the seed.

      --line WORDS     see LineWords.swift: delay=20,loss=10,burst=3,jitter95=50,freeze=300/5000
      --back WORDS     the way back for reports     (default: as --line)
      --seed N         of all chance                (default: 1)
      --bitrate N      of the encoder, bits/s       (default: 32000)
      --frame N        milliseconds a packet        (default: 20)
      --announce N     loss announced to the encoder, for its own error correction (default: 0)
      --copies LIST    distances in frames of copies in each packet, f for full ones, ^ for the XOR
                       of two frames: 2,4,7 or 1f or 1^3
      --copy-bitrate N of copies that are not full, bits/s (default: 12000)
      --adapt          the sender chooses copies, rates and frame length from reports
      --payload N      the most that all payload may take then, bits/s
      --nack           the receiver asks for what is missing
      --delay N        milliseconds that the fastest packet is held, whatever comes; learnt otherwise
      --tick N         milliseconds between visits of the receiver, 5 or 10 (default: 5)
      --drift N        how much faster the sender's clock runs, in parts per million
      --trace          adds the delay at each second

    example:
      ListenCommand --play clip.wav --save heard.wav --line loss=10,burst=3 --seed 3
    """

  static func run(_ words: [String]) -> Int32 {
    var arguments = Arguments(words)
    if arguments.wantsHelp {
      print(usage)
      return 0
    }
    do {
      let options = try options(&arguments)
      try arguments.finish()
      var run = try ListenRun(options, samples: try ListenRun.sound(of: options))
      let outcome = try run.listen()
      if let path = options.save {
        var writer = try AudioFileWriter(path, channels: 1)
        try writer.write(outcome.samples.span)
        try writer.close()
      }
      print(outcome.json)
      return 0
    } catch let error as UsageError {
      print("ListenCommand: \(error)")
      return 2
    } catch {
      print("ListenCommand: \(error)")
      return 1
    }
  }

  private static func options(
    _ arguments: inout Arguments
  ) throws(UsageError) -> ListenOptions {
    let line = try arguments.option("--line") ?? "clean"
    var options = ListenOptions()
    options.play = try arguments.options("--play")
    if options.play.isEmpty { throw UsageError("--play is missing.") }
    options.save = try arguments.option("--save")
    options.lineText = line
    options.line = try LineWords(line)
    options.back = try LineWords(try arguments.option("--back") ?? line)
    options.seed = UInt64(try arguments.integer("--seed", "runs", in: 0...1_000_000) ?? 1)
    options.plan = try plan(&arguments)
    options.adapts = try arguments.flag("--adapt")
    options.payloadBitrate = try arguments.integer(
      "--payload", "bits/s", in: 6_000...1_000_000)
    options.asksAgain = try arguments.flag("--nack")
    if let delay = try arguments.number("--delay", "milliseconds", in: 0...1000) {
      options.delay = Int64(delay * 1e6)
    }
    options.tick = try arguments.integer("--tick", "milliseconds", in: 5...10) ?? 5
    options.drift =
      try arguments.number("--drift", "parts per million", in: -1000...1000) ?? 0
    options.traces = try arguments.flag("--trace")
    return options
  }

  private static func plan(_ arguments: inout Arguments) throws(UsageError) -> RedundancyPlan {
    let rates = OpusEncoder.bitsPerSecondRange
    let frame = try arguments.integer("--frame", "milliseconds", in: 10...60) ?? 20
    var plan = RedundancyPlan(
      frameLength: FrameLength(rawValue: frame) ?? .milliseconds20,
      bitrate: try arguments.integer("--bitrate", "bits/s", in: rates) ?? 32_000)
    plan.copyBitrate =
      try arguments.integer("--copy-bitrate", "bits/s", in: rates) ?? plan.copyBitrate
    plan.announcedLossPercent = try arguments.integer("--announce", "per cent", in: 0...100) ?? 0
    for word in (try arguments.option("--copies") ?? "").split(separator: ",") {
      guard let copy = copy(word) else {
        throw UsageError(
          "--copies wants distances in frames, 1 to 15, f for full ones, ^ for the XOR of two: "
            + "1f,2,4 or 1^3")
      }
      plan.add(copy)
    }
    return plan
  }

  private static func copy(_ word: Substring) -> RedundancyPlan.Copy? {
    let parts = word.split(separator: "^").map(String.init)
    if parts.count == 2, let near = distance(parts[0]), let far = distance(parts[1]), near != far {
      return RedundancyPlan.Copy(parityOf: near, and: far)
    }
    let isFull = word.hasSuffix("f")
    return distance(String(isFull ? word.dropLast() : word)).map {
      RedundancyPlan.Copy(distance: $0, isLowRate: !isFull)
    }
  }

  private static func distance(_ text: String) -> Int? {
    Int(text).flatMap { (1...15).contains($0) ? $0 : nil }
  }
}

/// What one run is made of.
struct ListenOptions: Sendable {
  var play: [String] = []
  var save: String?
  var lineText = "clean"
  var line = LineWords.clean
  var back = LineWords.clean
  var seed: UInt64 = 1
  var plan = RedundancyPlan()
  /// Whether the sender follows the receiver's reports.
  var adapts = false
  /// The most that all payload may take then, in bit/s; `nil` for what the policy allows.
  var payloadBitrate: Int?
  /// Whether the receiver asks for what is missing.
  var asksAgain = false
  /// What the playout delay is held at, in nanoseconds; `nil` has the receiver learn it.
  var delay: Int64?
  /// Milliseconds.
  var tick = 5
  /// Parts per million.
  var drift = 0.0
  var traces = false

  init() {}
}
