package import Arguments
package import Earshot
package import MediaFiles
internal import Reactor

/// What `call` and `answer` have in common: what is played, saved and sent.
package struct SoundOptions: Sendable {
  package var play: String?
  /// What standard input brings.
  package var playFormat: RawFormat
  package var isLooped: Bool
  package var startsMuted: Bool
  package var save: String?
  package var capture: String?
  /// Seconds; `nil` until the played file ends.
  package var duration: Double?
  package var bitrate: Int
  package var frame: Int
  package var usesFEC: Bool
  package var usesNACK: Bool
  package var userExtension: String?
  package var leastMOS: Double?
  /// Minutes that the call waits for the other side.
  package var rejoin: Double?
  package var video: VideoOptions

  package init(_ arguments: inout Arguments) throws(UsageError) {
    video = try VideoOptions(&arguments)
    play = try arguments.file("--play")
    let format = try arguments.option(
      "--play-format", wants: "a rate from 8000 to 192000, and /2 for two channels", RawFormat.init)
    playFormat = format ?? .usual
    isLooped = try arguments.flag("--loop")
    startsMuted = try arguments.flag("--mute")
    save = try arguments.option("--save", wants: "- or a file name that ends in .wav or .opus") {
      name in
      let lowered = name.lowercased()
      return name == "-" || lowered.hasSuffix(".wav") || lowered.hasSuffix(".opus") ? name : nil
    }
    capture = try arguments.file("--capture")
    duration = try arguments.number("--duration", "seconds", in: 0.1...86_400)
    bitrate = try arguments.integer("--bitrate", "bits a second", in: 6000...510_000) ?? 32_000
    let frame = try arguments.choice("--frame", of: ["10", "20", "40", "60"])
    self.frame = frame.flatMap(Int.init) ?? 20
    usesFEC = try !arguments.flag("--no-fec")
    usesNACK = try !arguments.flag("--no-nack")
    userExtension = try arguments.option("--extension", wants: "JSON of at most 1024 bytes") {
      text in
      text.utf8.count <= 1024 && JSONReader.value(of: text) != nil ? text : nil
    }
    leastMOS = try arguments.number("--min-mos", "points", in: 1...5)
    rejoin = try arguments.number("--rejoin", "minutes", in: 0.5...20)
    if isLooped, play == nil, !playsVideoFile {
      throw UsageError("--loop needs a file to play.", advice: "Add --play FILE.")
    }
    try checkRate()
    try checkNames()
    try checkPipes(isFormatGiven: format != nil)
  }

  /// Whether standard input is read.
  package var readsInput: Bool { play == "-" || video.picture == .file("-") }
  /// Whether standard output is sound.
  package var savesToOutput: Bool { save == "-" }

  private func checkPipes(isFormatGiven: Bool) throws(UsageError) {
    if isFormatGiven, play != "-" {
      throw UsageError(
        "--play-format says what --play - reads; a file says it itself.",
        advice: "Add --play -, or leave out --play-format.")
    }
    if play == "-", video.picture == .file("-") {
      throw UsageError(
        "--play and --video cannot both read standard input.",
        advice: "Give one of them a file.")
    }
    if isLooped, readsInput {
      throw UsageError("--loop cannot play standard input again.", advice: "Leave out --loop.")
    }
  }

  /// Refuses a word in braces that stands for nothing.
  private func checkNames() throws(UsageError) {
    for (option, name) in [("--save", save), ("--capture", capture), ("--save-video", video.save)] {
      for part in (name ?? "").split(separator: "{", omittingEmptySubsequences: false).dropFirst() {
        guard let end = part.firstIndex(of: "}"), part[..<end] != "n" else { continue }
        if part[..<end] == "uid", option == "--save-video" {
          throw UsageError(
            "{uid} is for join: at the beginning of a call nobody has a uid.",
            advice: "Write NAME.ivf; further members of a channel have NAME-member-1.ivf and so on."
          )
        }
        throw UsageError(
          "{\(part[..<end])} means nothing in the name of \(option).",
          advice: "Write {n} for the number of the call.")
      }
    }
  }

  /// Refuses streams that a person sits at, and standard output that two would write to.
  package func checkStreams(_ online: OnlineOptions) throws(CommandFailure) {
    if savesToOutput, online.isJSON || online.events == "-" {
      let other = online.isJSON ? "--json" : "--events -"
      throw CommandFailure(
        .usage, "--save - and \(other) both write to standard output.",
        advice: "Use --events FILE for the JSON Lines.")
    }
    if savesToOutput, PipeEnd.standardOutput.isTerminal {
      throw CommandFailure(
        .usage, "--save - writes raw sound, and standard output is a terminal.",
        advice: "Pipe it: earshot ... --save - | pacat --raw --rate=48000 --channels=1")
    }
    if readsInput, PipeEnd.standardInput.isTerminal {
      let option = play == "-" ? "--play -" : "--video -"
      throw CommandFailure(
        .usage, "\(option) reads standard input, and that is a terminal.",
        advice: "Pipe something into it: parec --raw --rate=48000 --channels=1 | earshot ...")
    }
  }

  /// What `--play -` reads, from now on.
  package func openInput() throws(CommandFailure) -> SoundInputPipe? {
    guard play == "-" else { return nil }
    return try SoundInputPipe(playFormat)
  }

  /// A datagram has room for 1172 bytes of audio (docs/protocol/frames.md §5), and each holds one
  /// frame.
  private func checkRate() throws(UsageError) {
    let most = 1172 * 8 * 1000 / frame
    guard bitrate > most else { return }
    throw UsageError(
      "--bitrate \(bitrate) does not fit a packet of --frame \(frame) milliseconds.",
      advice: "Use at most \(most), or a shorter frame.")
  }

  /// Whether what is sent has an end because of its picture.
  package var playsVideoFile: Bool {
    if case .file? = video.picture { return true }
    return false
  }

  /// The name for the recording of call `number`, 1 upwards.
  package func saveName(call number: Int) -> String? {
    save.map { $0 == "-" ? $0 : SaveName.of($0, call: number) }
  }

  /// The same for what `--capture` takes down.
  package func captureName(call number: Int) -> String? {
    capture.map { SaveName.of($0, call: number) }
  }

  /// Tells which files are read, and written in call `number`.
  package func claim(in claims: inout FileClaims, call number: Int) {
    claims.reads(play, "--play")
    if case .file(let path)? = video.picture { claims.reads(path, "--video") }
    claims.writes(saveName(call: number), "--save")
    claims.writes(captureName(call: number), "--capture")
    claims.writes(video.saveName(call: number), "--save-video")
  }

  /// The number for the names of a call: `number`, or the next of which no file is there, so that a
  /// program that runs again goes on counting. A name without a number is not looked at.
  package func freeNumber(from number: Int, overwrites: Bool) -> Int {
    guard !overwrites else { return number }
    let names = [save == "-" ? nil : save, capture, video.save].compactMap(\.self)
    var free = number
    while free < number + Self.mostNumbers,
      names.contains(where: { name in
        (free > 1 || name.contains("{n}"))
          && ProcessSurroundings.isThere(SaveName.of(name, call: free))
      })
    { free += 1 }
    return free
  }

  /// Files that are looked for before one is free.
  private static let mostNumbers = 1_000_000

  package func callOptions(_ ends: OpenedSound) -> CallOptions {
    var options = CallOptions(
      source: ends.sharedSource.makeEar(), sink: ends.sharedSink.makeEnd())
    options.followsChannels = true
    options.arrivals = ends.arrivals
    options.bitrate = bitrate
    options.frameMilliseconds = frame
    options.usesFEC = usesFEC
    options.usesNACK = usesNACK
    options.startsMuted = startsMuted
    options.userExtension = userExtension
    options.rejoin = rejoin.map { .milliseconds(Int64($0 * 60_000)) }
    video.apply(ends.video, to: &options)
    return options
  }
}
