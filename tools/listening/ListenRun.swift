import Audio
import MediaFiles
import Primitives
import Simulation
import Wire

/// Two ends of a call, a line each way, in simulated time: everything follows from the options.
///
/// Both ends are the engine that ships, visited as the media thread of a call visits it. The one
/// that speaks is visited every 5 ms of its own clock and has a frame when its last sample was
/// captured; the one that hears is visited every tick and plays 5 ms or twice 5 ms. It is not
/// visited while it is certain of what it plays.
struct ListenRun: ~Copyable {
  /// What is under way.
  private enum Event {
    case speakerTick(UInt64)
    case listenerTick
    case toListener(AudioBodyHeader, body: [UInt8])
    case toSpeaker(AudioBodyHeader, body: [UInt8], transit: UInt64)
  }

  /// A body that waits for the next visit.
  private struct Arrival {
    var header: AudioBodyHeader
    var body: [UInt8]
    var time: Instant
  }

  private let options: ListenOptions
  private let samples: [Int16]
  private var speaker: AudioEngine
  private var listener: AudioEngine
  private var line: ListenLine
  private var back: ListenLine
  private var events = EventQueue<Event>()
  private var toListener: [Arrival] = []
  private var toSpeaker: [Arrival] = []
  private var frameStart = 0
  private var step = [Int16](repeating: 0, count: AudioFormat.pullSampleCount)
  private var outcome = ListenOutcome()
  /// Of the packets that arrived, there and back, in nanoseconds.
  private var roundTrip: (smoothed: UInt64, minimum: UInt64)
  private var latestTransit: UInt64 = 0
  /// The listener's first visit, within one tick of the start.
  private let phase: UInt64
  /// Nanoseconds of sound; what is played after it is saved, but not counted.
  private let spoken: UInt64

  /// What `options` name, one after another.
  static func sound(of options: ListenOptions) throws(MediaFileError) -> [Int16] {
    var samples: [Int16] = []
    for path in options.play { samples += try read(path) }
    return samples
  }

  private static func read(_ path: String) throws(MediaFileError) -> [Int16] {
    var reader = try AudioFileReader(path)
    let channels = reader.channels
    var block = [Int16](repeating: 0, count: 48_000 * channels)
    var samples: [Int16] = []
    while true {
      var span = block.mutableSpan
      let count = try reader.read(into: &span)
      if count == 0 { return samples }
      for frame in 0..<count {
        let sum = (0..<channels).reduce(0) { $0 + Int(block[frame * channels + $1]) }
        samples.append(Int16(clamping: sum / channels))
      }
    }
  }

  /// - Parameter samples: mono, 48 kHz.
  init(_ options: ListenOptions, samples: [Int16]) throws {
    var settings = AudioEngine.Settings(
      OpusEncoder.Settings(
        bitsPerSecond: options.plan.bitrate, frameLength: options.plan.frameLength,
        usesForwardErrorCorrection: options.adapts || options.plan.announcedLossPercent > 0))
    settings.payloadBitrate = options.payloadBitrate
    settings.fixedPlan = options.adapts ? nil : options.plan
    settings.asksAgain = options.asksAgain
    settings.fixedDelay = options.delay
    self.init(options, samples, try AudioEngine(settings), try AudioEngine(settings))
  }

  private init(
    _ options: ListenOptions, _ samples: [Int16], _ speaker: consuming AudioEngine,
    _ listener: consuming AudioEngine
  ) {
    self.options = options
    self.samples = samples
    self.speaker = speaker
    self.listener = listener
    var random = RandomSource(seed: options.seed)
    line = ListenLine(options.line, random: random.split())
    back = ListenLine(options.back, random: random.split())
    phase = random.below(UInt64(options.tick) * 1_000_000)
    spoken = UInt64(samples.count) * 62_500 / 3
    // What a session knows of its path; a call measures it before the first sound.
    let delays = options.line.conditions.delay + options.back.conditions.delay
    roundTrip = (UInt64(delays.nanoseconds), UInt64(delays.nanoseconds))
  }

  mutating func listen() throws -> ListenOutcome {
    let plan = speaker.sender.plan
    let firstTick = UInt64(plan.frameLength.milliseconds) / 5
    events.push(.speakerTick(firstTick), at: speakerTime(firstTick))
    events.push(.listenerTick, at: Instant(nanoseconds: phase))
    // What is heard before the first visit is silence.
    outcome.samples = [Int16](repeating: 0, count: Int(phase * 3 / 62_500))
    var counted: PlayoutStatistics?
    while let now = events.nextTime, now.nanoseconds < spoken + Self.tail {
      if now.nanoseconds >= spoken, counted == nil {
        counted = listener.receiver.buffer.statistics
      }
      guard let event = events.pop(at: now) else { break }
      try handle(event, now)
    }
    outcome.finish(
      counted ?? listener.receiver.buffer.statistics, speaker.sender.statistics, options, plan,
      lookahead: speaker.sender.lookaheadSampleCount, sampleCount: samples.count)
    return outcome
  }

  private mutating func handle(_ event: Event, _ now: Instant) throws {
    switch event {
    case .speakerTick(let number): try visitSpeaker(number, now)
    case .listenerTick: try visitListener(now)
    case .toListener(let header, let body):
      if header.kind == .frame { outcome.fates.noteArrived(header.frame, body) }
      toListener.append(Arrival(header: header, body: body, time: now))
    case .toSpeaker(let header, let body, let transit):
      if header.kind == .report { noteRoundTrip(transit) }
      toSpeaker.append(Arrival(header: header, body: body, time: now))
    }
  }

  /// As a session's FEEDBACK would measure it: the way of the last packet, and that of its report.
  private mutating func noteRoundTrip(_ transit: UInt64) {
    let sample = transit + UInt64(options.back.conditions.delay.nanoseconds)
    roundTrip.minimum = min(roundTrip.minimum, sample)
    roundTrip.smoothed = (7 * roundTrip.smoothed + sample) / 8
  }

  // MARK: - The end that speaks

  /// When so many times 5 ms have passed by the speaker's clock.
  private func speakerTime(_ tick: UInt64) -> Instant {
    Instant(nanoseconds: UInt64(Double(tick) * 5e6 * (1 - options.drift / 1e6)))
  }

  private mutating func visitSpeaker(_ number: UInt64, _ now: Instant) throws {
    let plan = speaker.sender.plan
    let conditions = PathConditions(roundTrip: roundTrip)
    for arrival in toSpeaker {
      try speaker.receive(
        arrival.body.span, arrival.header, arrival: arrival.time, conditions, now: now)
    }
    toSpeaker.removeAll(keepingCapacity: true)
    if speaker.sender.plan != plan { outcome.notePlan(speaker.sender.plan, now) }
    speaker.tick(now: now)
    let end = frameStart + speaker.wantedSampleCount
    if end > frameStart {
      // After the last whole frame nothing is sent.
      guard end <= samples.count else { return }
      try Self.capture(samples, frameStart..<end, with: &speaker)
      frameStart = end
    }
    while let (header, body) = Self.pollTransmit(&speaker) { send(header, body, now) }
    events.push(.speakerTick(number + 1), at: speakerTime(number + 1))
  }

  private static func capture(
    _ samples: [Int16], _ range: Range<Int>, with engine: inout AudioEngine
  ) throws {
    try engine.capture(samples.span.extracting(range), channels: 1)
  }

  private static func pollTransmit(
    _ engine: inout AudioEngine
  ) -> (AudioBodyHeader, [UInt8])? {
    var header: AudioBodyHeader?
    var body: [UInt8] = []
    body.append(addingCapacity: AudioFormat.maxPayloadByteCount) {
      header = engine.pollTransmit(into: &$0)
    }
    return header.map { ($0, body) }
  }

  private mutating func send(_ header: AudioBodyHeader, _ body: [UInt8], _ now: Instant) {
    outcome.noteSent(body: body, header.frame, now)
    let byteCount = body.count + ListenOutcome.overheadByteCount
    guard let arrival = line.carry(byteCount: byteCount, at: now) else {
      outcome.packetsLost += 1
      return
    }
    latestTransit = arrival.nanoseconds(since: now)
    outcome.noteTransit(latestTransit)
    events.push(.toListener(header, body: body), at: arrival)
  }

  // MARK: - The end that hears

  private mutating func visitListener(_ now: Instant) throws {
    let conditions = PathConditions(roundTrip: roundTrip)
    for arrival in toListener {
      try listener.receive(
        arrival.body.span, arrival.header, arrival: arrival.time, conditions, now: now)
    }
    toListener.removeAll(keepingCapacity: true)
    for _ in 0..<(options.tick / 5) { play(now) }
    // As a call's media thread does: what is certain is played ahead, and that visit left out.
    let ahead = options.tick == 5 ? listener.certainTickCount(hasSource: false) : 0
    for tick in 0..<ahead { play(now + .milliseconds(Int64(5 * (tick + 1)))) }
    if options.traces { outcome.trace(listener.receiver.buffer.statistics, now) }
    while let (header, body) = Self.pollTransmit(&listener) { sendBack(header, body, now) }
    events.push(.listenerTick, at: now + .milliseconds(Int64(options.tick * (1 + ahead))))
  }

  private mutating func play(_ now: Instant) {
    listener.tick(now: now)
    Self.pull(from: &listener, into: &step, now)
    outcome.samples.append(contentsOf: step)
  }

  private mutating func sendBack(_ header: AudioBodyHeader, _ body: [UInt8], _ now: Instant) {
    let byteCount = 1 + body.count
    outcome.backBytes += byteCount
    if let arrival = back.carry(byteCount: byteCount + 25, at: now) {
      events.push(.toSpeaker(header, body: body, transit: latestTransit), at: arrival)
    }
  }

  private static func pull(
    from engine: inout AudioEngine, into step: inout [Int16], _ now: Instant
  ) {
    var span = step.mutableSpan
    _ = engine.pull(into: &span, now: now)
  }

  /// One second.
  private static let tail: UInt64 = 1_000_000_000
}
