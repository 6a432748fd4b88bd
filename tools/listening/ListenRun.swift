import Audio
import Congestion
import CongestionLab
import MediaFiles
import Peer
import Primitives
import Simulation
import Wire

/// Two ends of a call, a line each way, in simulated time: everything follows from the options.
///
/// Both ends are the engine that ships, visited as the media thread of a call visits it, on the
/// session and the media of a call (`LabEnd`): the uplink that ships says what audio may take. The
/// one that speaks is visited every 5 ms of its own clock and has a frame when its last sample
/// was captured; the one that hears is visited every tick and plays 5 ms or twice 5 ms. It is not
/// visited while it is certain of what it plays.
struct ListenRun: ~Copyable {
  /// What is under way.
  private enum Event {
    case speakerTick(UInt64)
    case listenerTick
    case toListener([UInt8])
    case toSpeaker([UInt8])
    case wake(Side)
  }

  private enum Side { case speaker, listener }

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
  private let speakerEnd: LabEnd
  private let listenerEnd: LabEnd
  private var line: ListenLine
  private var back: ListenLine
  private var events = EventQueue<Event>()
  private var toListener: [Arrival] = []
  private var toSpeaker: [Arrival] = []
  private var frameStart = 0
  private var step = [Int16](repeating: 0, count: AudioFormat.pullSampleCount)
  private var outcome = ListenOutcome()
  /// What a call knows of its path before the first sound, in nanoseconds.
  private let firstRoundTrip: UInt64
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
    let delays = options.line.conditions.delay + options.back.conditions.delay
    firstRoundTrip = UInt64(delays.nanoseconds)
    (speakerEnd, listenerEnd) = LabEnd.pair(nil, drift: 0, origins: (0, 0), random: &random)
    speakerEnd.keepsAudio = true
    listenerEnd.keepsAudio = true
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
    case .toListener(var bytes): receive(&bytes, at: .listener, now)
    case .toSpeaker(var bytes): receive(&bytes, at: .speaker, now)
    case .wake(let side): wake(side, now)
    }
  }

  // MARK: - Packets

  private func end(_ side: Side) -> LabEnd { side == .speaker ? speakerEnd : listenerEnd }

  private mutating func receive(_ bytes: inout [UInt8], at side: Side, _ now: Instant) {
    let end = end(side)
    end.receive(&bytes, isMarked: false, now: now)
    while let arrival = Self.pollAudio(of: end) {
      switch side {
      case .speaker: toSpeaker.append(arrival)
      case .listener:
        if arrival.header.kind == .frame {
          outcome.fates.noteArrived(arrival.header.frame, arrival.body)
        }
        toListener.append(arrival)
      }
    }
    drain(side, now)
  }

  private static func pollAudio(of end: LabEnd) -> Arrival? {
    end.media.pollAudio { bytes, received in
      var body: [UInt8] = []
      body.reserveCapacity(bytes.count)
      for index in bytes.indices { body.append(bytes[index]) }
      return Arrival(header: received.header, body: body, time: received.arrival)
    }
  }

  private mutating func wake(_ side: Side, _ now: Instant) {
    let end = end(side)
    guard end.wake == now.nanoseconds else { return }
    end.wake = .max
    _ = end.handleTimeout(now: now)
    drain(side, now)
  }

  /// Whatever may leave, and when to look again.
  private mutating func drain(_ side: Side, _ now: Instant) {
    let end = end(side)
    while let (sendClass, bytes) = end.poll(now: now) {
      switch side {
      case .speaker:
        let isAudio = sendClass == .audio
        guard let arrival = line.carry(byteCount: bytes.count, at: now) else {
          if isAudio { outcome.packetsLost += 1 }
          continue
        }
        if isAudio { outcome.noteTransit(arrival.nanoseconds(since: now)) }
        events.push(.toListener(bytes), at: arrival)
      case .listener:
        outcome.backBytes += bytes.count
        if let arrival = back.carry(byteCount: bytes.count, at: now) {
          events.push(.toSpeaker(bytes), at: arrival)
        }
      }
    }
    guard let deadline = end.nextDeadline(after: now.nanoseconds), deadline < end.wake else {
      return
    }
    end.wake = max(deadline, now.nanoseconds + Self.soonest)
    events.push(.wake(side), at: Instant(nanoseconds: end.wake))
  }

  /// What the speaker's session knows; it is the one that sends enough to measure it.
  private var conditions: PathConditions {
    let trip = speakerEnd.association.roundTrip ?? (firstRoundTrip, firstRoundTrip)
    let allowance = speakerEnd.media.audioAllowance(on: speakerEnd.association)
    return PathConditions(roundTrip: trip, allowance: allowance ?? PathConditions.unlimited)
  }

  // MARK: - The end that speaks

  /// When so many times 5 ms have passed by the speaker's clock.
  private func speakerTime(_ tick: UInt64) -> Instant {
    Instant(nanoseconds: UInt64(Double(tick) * 5e6 * (1 - options.drift / 1e6)))
  }

  private mutating func visitSpeaker(_ number: UInt64, _ now: Instant) throws {
    let plan = speaker.sender.plan
    let conditions = self.conditions
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
    while let (header, body) = Self.pollTransmit(&speaker) {
      outcome.noteSent(body: body, header.frame, now)
      _ = speakerEnd.media.queueAudio(body.span, header.frame, now: now)
    }
    drain(.speaker, now)
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

  // MARK: - The end that hears

  private mutating func visitListener(_ now: Instant) throws {
    let conditions = self.conditions
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
    while let (header, body) = Self.pollTransmit(&listener) {
      _ = listenerEnd.media.queueAudioControl(body.span, header.kind, now: now)
    }
    drain(.listener, now)
    events.push(.listenerTick, at: now + .milliseconds(Int64(options.tick * (1 + ahead))))
  }

  private mutating func play(_ now: Instant) {
    listener.tick(now: now)
    Self.pull(from: &listener, into: &step, now)
    outcome.samples.append(contentsOf: step)
  }

  private static func pull(
    from engine: inout AudioEngine, into step: inout [Int16], _ now: Instant
  ) {
    var span = step.mutableSpan
    _ = engine.pull(into: &span, now: now)
  }

  /// One second.
  private static let tail: UInt64 = 1_000_000_000
  /// From one look at an end to the next: 10 us.
  private static let soonest: UInt64 = 10_000
}
