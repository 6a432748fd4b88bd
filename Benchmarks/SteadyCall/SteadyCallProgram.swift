import AllocationCounter
import Arguments
import Earshot

/// One end of a call that measures itself while the call is steady; prints one JSON object.
enum SteadyCallProgram {
  static let usage = """
    usage: SteadyCall call NAME --rendezvous HOST:PORT [options]
           SteadyCall answer    --rendezvous HOST:PORT --name NAME [options]
           SteadyCall codec     what the same frames cost in Opus alone, at the same pace
           SteadyCall speech    the ten seconds that both say, as raw s16le at 48 kHz

      --identity FILE   made on first use        (default: ./steady-call-identity)
      --seconds S       measured                 (default: 20)
      --warm-up S       before that              (default: 5)
      --video KBPS      1280x720 at 30 pictures a second as well, each way
      --traces FILE     where allocations of the measured time come from
    """

  static func run(_ words: [String]) async -> Int32 {
    var arguments = Arguments(words)
    if arguments.wantsHelp {
      print(usage)
      return 0
    }
    do {
      let command = arguments.command()
      if command == "codec" {
        print(try CodecAlone.measure(frames: 500))
        return 0
      }
      if command == "speech" {
        Speech(watch: TickWatch()).writeToStandardOutput()
        return 0
      }
      var options = SteadyCallOptions()
      options.rendezvous = try arguments.option("--rendezvous") ?? ""
      options.name = try arguments.option("--name")
      options.identity = try arguments.option("--identity") ?? "steady-call-identity"
      options.seconds = try arguments.number("--seconds", "seconds", in: 1...600) ?? 20
      options.warmUp = try arguments.number("--warm-up", "seconds", in: 1...60) ?? 5
      options.videoKilobits = try arguments.number("--video", "kbit/s", in: 30...20_000)
      options.traces = try arguments.option("--traces")
      if command == "call" { options.peer = try arguments.positional("NAME") }
      try arguments.finish()
      guard command == "call" || command == "answer", !options.rendezvous.isEmpty else {
        print(usage)
        return 2
      }
      print(try await CallEnd(options).run())
      return 0
    } catch {
      print("SteadyCall: \(error)")
      return 1
    }
  }
}

struct SteadyCallOptions {
  var rendezvous = ""
  var name: String?
  var identity = ""
  var seconds = 20.0
  var warmUp = 5.0
  var traces: String?
  /// `nil` is sound alone.
  var videoKilobits: Double?
  /// Whom to call; `nil` to answer.
  var peer: String?
}

struct SteadyCallError: Error { let reason: String }

/// The end of a call, from registration to hang-up.
struct CallEnd {
  private let options: SteadyCallOptions
  private let watch = TickWatch()
  private let ear = Listener()

  init(_ options: SteadyCallOptions) { self.options = options }

  func run() async throws -> String {
    var configuration = Configuration(rendezvous: options.rendezvous)
    configuration.name = options.name
    configuration.bind = "127.0.0.1:0"
    configuration.identityFile = options.identity
    let endpoint = try await Endpoint.open(configuration)
    let events = await endpoint.events()
    _ = try await endpoint.waitUntilRegistered()
    var media = CallOptions(source: Speech(watch: watch), sink: ear)
    if let kilobits = options.videoKilobits {
      media.videoSource = Screen()
      media.videoSink = Viewer()
      media.maxVideoBitrate = Int(kilobits * 1000)
    }
    let wanted = media
    if let peer = options.peer { _ = try await endpoint.call(peer, options: wanted) }
    var measurement: Task<String, any Error>?
    for await event in events {
      switch event {
      case .incomingCall(let incoming):
        try await endpoint.call(incoming.id).accept(wanted)
      case .callStateChanged(let id, .connected, _):
        let call = await endpoint.call(id)
        measurement = Task { try await measure(call) }
      case .callEnded(_, let report):
        guard let measurement else { throw SteadyCallError(reason: report.reason) }
        let result = try await measurement.value
        await endpoint.close()
        return result
      default: break
      }
    }
    throw SteadyCallError(reason: "the events ended before the call")
  }

  private func measure(_ call: Call) async throws -> String {
    try await Task.sleep(for: .seconds(options.warmUp))
    let first = await call.statistics()
    if options.traces != nil { allocation_trace(1) }
    let threads = ThreadAllocations.now
    watch.start()
    let times = processorNanosecondsByThread()
    let before = Usage.now
    try await Task.sleep(for: .seconds(options.seconds))
    let after = Usage.now
    watch.stop()
    let used = processorNanosecondsByThread().map { name, time in
      // A thread of the pool may have ended in between, and its time with it.
      (name: name, nanoseconds: time - min(time, times[name] ?? 0))
    }
    let allocations = ThreadAllocations.now.since(threads)
    allocation_trace(0)
    let last = await call.statistics()
    if let traces = options.traces { _ = unsafe allocation_write_traces(traces) }
    guard let first, let last else {
      throw SteadyCallError(reason: "the call ended before it was measured")
    }
    // The other end measures until about now, too.
    if options.peer != nil {
      try await Task.sleep(for: .seconds(3))
      await call.hangUp(reason: "measured")
    }
    return json(before, after, first, last, allocations, used)
  }

  private func json(
    _ before: Usage, _ after: Usage, _ first: CallStatistics, _ last: CallStatistics,
    _ allocations: [(name: String, count: UInt64)], _ used: [(name: String, nanoseconds: UInt64)]
  ) -> String {
    let wall = Double(after.wallNanoseconds - before.wallNanoseconds)
    let cpu = Double(after.cpuNanoseconds - before.cpuNanoseconds)
    let seconds = wall / 1e9
    func rate(_ from: Int, _ to: Int) -> Double { rounded(Double(to - from) / seconds) }
    func percent(_ thread: String) -> Double {
      let time = used.filter { $0.name == thread }.reduce(0) { $0 + $1.nanoseconds }
      return rounded(100 * Double(time) / wall)
    }
    let byThread = allocations.map { "\"\($0.name)\": \($0.count)" }.joined(separator: ", ")
    let fields: [(String, String)] = [
      ("role", options.peer == nil ? "\"callee\"" : "\"caller\""),
      ("seconds", "\(rounded(seconds))"),
      ("cpuPercent", "\(rounded(100 * cpu / wall))"),
      ("mediaPercent", "\(percent("earshot-media"))"),
      ("loopPercent", "\(percent("earshot-loop"))"),
      ("rssMiB", "\(rounded(Double(residentKibibytes("VmRSS")) / 1024))"),
      ("peakRSSMiB", "\(rounded(Double(residentKibibytes("VmHWM")) / 1024))"),
      ("wakeUpsPerSecond", "\(rate(before.voluntarySwitches, after.voluntarySwitches))"),
      ("preemptionsPerSecond", "\(rate(before.forcedSwitches, after.forcedSwitches))"),
      ("packetsSent", "\(last.sent.packetsSent - first.sent.packetsSent)"),
      ("packetsReceived", "\(last.received.packetsReceived - first.received.packetsReceived)"),
      ("packetsLost", "\(last.received.packetsLost)"),
      ("overheadBytesPerPacket", "\(last.overheadBytesPerAudioPacket ?? 0)"),
      ("allocations", "\(after.allocations - before.allocations)"),
      ("allocationsByThread", "{\(byThread)}"),
      ("ticks", "\(watch.ticks)"),
      ("ticksWithAllocations", "\(watch.ticksWithAllocations)"),
      ("loudness", "\(rounded(ear.loudness))"),
    ]
    let all = fields + video(first, last, used, wall)
    return "{" + all.map { "\"\($0.0)\": \($0.1)" }.joined(separator: ", ") + "}"
  }

  /// What there is beside the sound's numbers, with pictures.
  private func video(
    _ first: CallStatistics, _ last: CallStatistics,
    _ used: [(name: String, nanoseconds: UInt64)], _ wall: Double
  ) -> [(String, String)] {
    guard let sent = last.videoSent, let received = last.videoReceived else { return [] }
    func percent(_ thread: String) -> Double {
      let time = used.filter { $0.name == thread }.reduce(0) { $0 + $1.nanoseconds }
      return rounded(100 * Double(time) / wall)
    }
    let before = (sent: first.videoSent, received: first.videoReceived)
    let bytes = sent.bytesSent - (before.sent?.bytesSent ?? 0)
    return [
      ("encodePercent", "\(percent("earshot-video"))"),
      ("decodePercent", "\(percent("earshot-decode"))"),
      ("videoSize", "\"\(sent.frameWidth)x\(sent.frameHeight)\""),
      ("videoFramesSent", "\(sent.framesSent - (before.sent?.framesSent ?? 0))"),
      (
        "videoFramesDecoded",
        "\(received.framesDecoded - (before.received?.framesDecoded ?? 0))"
      ),
      ("videoPacketsSent", "\(sent.packetsSent - (before.sent?.packetsSent ?? 0))"),
      ("videoKilobits", "\(rounded(Double(bytes) * 8e6 / wall))"),
    ]
  }

  private func rounded(_ value: Double) -> Double { (value * 1000).rounded() / 1000 }
}
