package import Arguments
package import Earshot
internal import MediaFiles
internal import Primitives
internal import Reactor

/// `earshot replay FILE`: hears a call again that `--capture` took down, as it was or with other
/// settings.
package struct ReplayCommand: Sendable {
  package var file: String
  package var save: String?
  package var isJSON: Bool
  /// Whether what is saved may replace a file that is there.
  package var overwrites: Bool
  /// Whether the sound is saved however long it is.
  package var savesAll: Bool
  package var settings: CallReplay.Settings

  package init(_ arguments: consuming Arguments) throws(UsageError) {
    var arguments = arguments
    save = try arguments.option("--save", wants: "a file name that ends in .wav or .opus") { name in
      let lowered = name.lowercased()
      return lowered.hasSuffix(".wav") || lowered.hasSuffix(".opus") ? name : nil
    }
    isJSON = try arguments.flag("--json")
    overwrites = try arguments.flag("--overwrite")
    savesAll = try arguments.flag("--save-all")
    settings = CallReplay.Settings()
    let least = try arguments.number("--least-delay", "milliseconds", in: 0...1000)
    let most = try arguments.number("--most-delay", "milliseconds", in: 0...1000)
    settings.leastDelayMs = Int((least ?? 0).rounded())
    settings.mostDelayMs = Int((most ?? 1000).rounded())
    settings.usesCopies = try !arguments.flag("--without-copies")
    settings.usesRetransmissions = try !arguments.flag("--without-retransmissions")
    file = try arguments.positional("file")
    try arguments.finish()
    guard settings.leastDelayMs <= settings.mostDelayMs else {
      throw UsageError("--least-delay is above --most-delay.", advice: "Swap the two.")
    }
  }

  package func run() throws(CommandFailure) -> ExitCode {
    var claims = FileClaims()
    claims.reads(file, "the recording")
    claims.writes(save, "--save")
    try claims.check()
    let story = try ReplayStory(
      try Self.contents(of: file), settings: settings, savedTo: save, overwrites: overwrites,
      savesAll: savesAll)
    print(isJSON ? story.json : story.text)
    return .done
  }

  private static func contents(of file: String) throws(CommandFailure) -> [UInt8] {
    do throws(ReactorError) {
      return try ProcessSurroundings.contents(of: file, limit: CallReplay.maximumByteCount)
    } catch {
      throw CommandFailure(
        .file, "Cannot read \(file): \(error.reason).", advice: "Name a file that --capture wrote.")
    }
  }
}

/// What is in a recording of arrivals: how the call sounds when it is heard again.
package struct ReplayStory {
  /// The first bytes of every such file.
  package static let magic: [UInt8] = Array("ESAR".utf8)

  package let statistics: CallStatistics
  /// Whether the recording ends in the middle of what came last.
  package let isCutOff: Bool
  private let savedTo: String?

  /// - Parameters:
  ///   - path: where the sound goes; `nil` saves none.
  ///   - overwrites: whether it may replace a file that is there.
  ///   - savesAll: whether more sound is saved than a recording of its size should have.
  package init(
    _ recording: [UInt8], settings: CallReplay.Settings = CallReplay.Settings(),
    savedTo path: String? = nil, overwrites: Bool = false, savesAll: Bool = false
  ) throws(CommandFailure) {
    savedTo = path
    let sink: AudioFileSink
    var replay: CallReplay
    do throws(EarshotError) {
      replay = try CallReplay(recording, settings: settings)
    } catch {
      throw CommandFailure(error)
    }
    do throws(MediaFileError) {
      sink = try AudioFileSink(path, channelCount: replay.channelCount, overwrites: overwrites)
    } catch {
      throw CommandFailure(error)
    }
    sink.begin()
    defer { sink.finish() }
    let milliseconds =
      path == nil || savesAll
      ? .max : Self.mostMilliseconds(recording.count, channelCount: replay.channelCount)
    do throws(EarshotError) {
      var samples = [Int16](repeating: 0, count: 480)
      while try replay.read(into: &samples), replay.milliseconds <= milliseconds {
        sink.write(samples, frameCount: 240)
      }
    } catch {
      throw CommandFailure(error)
    }
    if replay.milliseconds > milliseconds, let path { throw Self.tooLong(path, milliseconds) }
    statistics = replay.statistics
    isCutOff = replay.isCutOff
    sink.finish()
    if let fault = sink.fault { throw CommandFailure(.file, fault) }
  }

  /// How much sound a recording may turn into, in ms: samples of 100 times its bytes, which real
  /// calls keep below (about 25 with speech), and of 64 MiB in any case. A pause of 5 ms is one
  /// byte of a recording and 480 bytes of mono sound.
  private static func mostMilliseconds(_ byteCount: Int, channelCount: Int) -> Int {
    max(64 << 20, 100 * byteCount) / (96 * channelCount)
  }

  private static func tooLong(_ path: String, _ milliseconds: Int) -> CommandFailure {
    CommandFailure(
      .file,
      "The recording has more sound than one of its size should: \(path) has the first "
        + "\(Timestamp.clock(seconds: milliseconds / 1000)).",
      advice: "If that is right, for example of a long call that was muted: add --save-all")
  }

  /// The story in lines.
  package var text: String {
    var rows = EndTable.received(statistics, savedTo: savedTo)
    if let inbound = statistics.audio?.inbound {
      var text = "\(statistics.received.packetsReceived) packets"
      text += ", \(inbound.fecPacketsReceived) copies (\(inbound.fecPacketsDiscarded) not needed)"
      text += ", \(inbound.retransmittedPacketsReceived) sent again"
      text += ", \(inbound.packetsDuplicated) twice"
      rows.append(("came", text))
      if inbound.jitterBufferEmittedCount > 0 {
        let count = Double(inbound.jitterBufferEmittedCount) / 1000
        rows.append(
          (
            "wanted",
            "\(Wording.milliseconds(inbound.jitterBufferTargetDelay / count)) of jitter buffer on "
              + "average, was \(Wording.milliseconds(inbound.jitterBufferDelay / count))"
          ))
      }
    }
    if isCutOff { rows.append(("cut off", "the recording ends in the middle of a packet")) }
    return EndTable.text(rows)
  }

  /// One object: the received part of a call's `summary`.
  package var json: String {
    var object = JSONObject()
    object.add("type", "replay")
    object.add("durationMs", statistics.atMs)
    if isCutOff { object.add("cutOff", true) }
    object.add("received", SummaryLine.received(statistics))
    return object.value.text
  }
}
