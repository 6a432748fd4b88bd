import Audio
import MediaFiles
import Primitives
import Simulation
import Wire

/// One sender, one line, one receiver, in simulated time: everything follows from the options.
///
/// The sender has a frame when its last sample was captured; the receiver is visited every tick, as
/// the pipeline of a call is: it takes what has arrived, asks for what is missing, and plays 5 ms
/// or twice 5 ms.
struct ListenRun: ~Copyable {
  /// What is under way.
  private enum Event {
    case capture
    case tick
    case audio(AudioMediaFrame, body: [UInt8])
    case report(AudioReportFrame, transit: UInt64)
    case request(AudioRequestFrame)
  }

  private let options: ListenOptions
  private let samples: [Int16]
  private var sender: AudioSender
  private var receiver: AudioReceiver
  private var line: ListenLine
  private var back: ListenLine
  private var events = EventQueue<Event>()
  private var frameStart = 0
  private var step = [Int16](repeating: 0, count: AudioFormat.pullSampleCount)
  private var outcome = ListenOutcome()
  private var policy: RedundancyPolicy
  /// Of the packets that arrived, there and back, in nanoseconds.
  private var roundTrip = RedundancyPolicy.RoundTrip(smoothed: 0, minimum: .max)
  private var latestTransit: UInt64 = 0
  /// The receiver's first visit, within one tick of the start.
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
    var settings = OpusEncoder.Settings(
      bitsPerSecond: options.plan.bitrate, frameLength: options.plan.frameLength)
    settings.usesForwardErrorCorrection = options.plan.announcedLossPercent > 0
    let sender = try AudioSender(settings)
    let receiver = try AudioReceiver(channels: 1)
    self.init(options, samples, sender, receiver)
  }

  private init(
    _ options: ListenOptions, _ samples: [Int16], _ sender: consuming AudioSender,
    _ receiver: consuming AudioReceiver
  ) {
    self.options = options
    self.samples = samples
    self.sender = sender
    self.receiver = receiver
    var random = RandomSource(seed: options.seed)
    line = ListenLine(options.line, random: random.split())
    back = ListenLine(options.back, random: random.split())
    policy = RedundancyPolicy(options.limits)
    phase = random.below(UInt64(options.tick) * 1_000_000)
    spoken = UInt64(samples.count) * 62_500 / 3
  }

  mutating func listen() throws -> ListenOutcome {
    try sender.follow(options.plan)
    if let delay = options.delay { receiver.buffer.delayRange = delay...delay }
    // What a session knows of its path; a call measures it before the first sound.
    let delays = options.line.conditions.delay + options.back.conditions.delay
    roundTrip.minimum = UInt64(delays.nanoseconds)
    if options.asksAgain { receiver.roundTripMilliseconds = Int(delays.milliseconds) }
    events.push(.capture, at: captureTime())
    events.push(.tick, at: Instant(nanoseconds: phase))
    // What is heard before the first visit is silence.
    outcome.samples = [Int16](repeating: 0, count: Int(phase * 3 / 62_500))
    var counted: PlayoutStatistics?
    while let now = events.nextTime, now.nanoseconds < spoken + Self.tail {
      if now.nanoseconds >= spoken, counted == nil { counted = receiver.buffer.statistics }
      guard let event = events.pop(at: now) else { break }
      try handle(event, now)
    }
    outcome.finish(
      counted ?? receiver.buffer.statistics, sender.statistics, options,
      lookahead: sender.lookaheadSampleCount, sampleCount: samples.count)
    return outcome
  }

  private mutating func handle(_ event: Event, _ now: Instant) throws {
    switch event {
    case .capture: try capture(now)
    case .tick: tick(now)
    case .audio(let frame, let body):
      outcome.fates.noteArrived(frame, body)
      receiver.receive(body.span, frame, arrival: now)
    case .report(let report, let transit):
      noteRoundTrip(transit)
      guard options.adapts else { return }
      guard policy.handle(report, roundTrip: roundTrip, now: now) else { return }
      try sender.follow(policy.plan)
      outcome.notePlan(policy.plan, now)
    case .request(let request):
      sender.handle(request)
      // A frame that is due soon takes the answer along.
      if captureTime().nanoseconds(since: now) > Self.patience { repeatFrames(now) }
    }
  }

  // MARK: - The sender

  /// When the last sample of the next frame is captured, by the sender's clock.
  private func captureTime() -> Instant {
    let end = frameStart + sender.plan.frameLength.sampleCount
    return Instant(nanoseconds: UInt64(Double(end) * 62_500 / 3 * (1 - options.drift / 1e6)))
  }

  private mutating func capture(_ now: Instant) throws {
    let length = sender.plan.frameLength
    let range = frameStart..<(frameStart + length.sampleCount)
    guard range.upperBound <= samples.count else { return }
    var frame = AudioMediaFrame(
      length: AudioMediaFrame.Length.allCases.first { $0.mediaTimeSteps == length.stepCount }
        ?? .milliseconds20,
      isMarked: frameStart == 0,
      mediaTime: UInt16(truncatingIfNeeded: frameStart / AudioFormat.stepSampleCount))
    var body: [UInt8] = []
    outcome.fates.noteSent(frame.mediaTime)
    frame.hasCopies = try Self.encode(samples, range, frame.mediaTime, with: &sender, into: &body)
    send(frame, body, now)
    frameStart = range.upperBound
    events.push(.capture, at: captureTime())
  }

  private static func encode(
    _ samples: [Int16], _ range: Range<Int>, _ mediaTime: UInt16, with sender: inout AudioSender,
    into body: inout [UInt8]
  ) throws -> Bool {
    var hasCopies = false
    try body.append(addingCapacity: 2 * AudioFormat.maxPayloadByteCount) {
      (output) throws(OpusError) in
      hasCopies = try sender.encode(
        samples.span.extracting(range), mediaTime: mediaTime, into: &output)
    }
    return hasCopies
  }

  private mutating func repeatFrames(_ now: Instant) {
    var body: [UInt8] = []
    var mediaTime: UInt16?
    body.append(addingCapacity: 2 * AudioFormat.maxPayloadByteCount) { output in
      mediaTime = sender.writeRepetitions(into: &output)
    }
    guard let mediaTime else { return }
    let frame = AudioMediaFrame(
      length: .milliseconds20, isMarked: false, hasCopies: true, mediaTime: mediaTime)
    send(frame, body, now)
  }

  private mutating func send(_ frame: AudioMediaFrame, _ body: [UInt8], _ now: Instant) {
    outcome.noteSent(bodyByteCount: body.count)
    let byteCount = body.count + ListenOutcome.overheadByteCount
    guard let arrival = line.carry(byteCount: byteCount, at: now) else {
      outcome.packetsLost += 1
      return
    }
    latestTransit = arrival.nanoseconds(since: now)
    outcome.noteTransit(latestTransit)
    events.push(.audio(frame, body: body), at: arrival)
  }

  /// As a session's FEEDBACK would measure it: the way of the last packet, and that of its report.
  private mutating func noteRoundTrip(_ transit: UInt64) {
    let sample = transit + UInt64(options.back.conditions.delay.nanoseconds)
    roundTrip.minimum = min(roundTrip.minimum, sample)
    roundTrip.smoothed =
      roundTrip.smoothed == 0 ? sample : (7 * roundTrip.smoothed + sample) / 8
  }

  // MARK: - The receiver

  private mutating func tick(_ now: Instant) {
    for _ in 0..<(options.tick / 5) {
      Self.pull(from: &receiver, into: &step, now)
      outcome.samples.append(contentsOf: step)
    }
    if options.traces { outcome.trace(receiver.buffer.statistics, now) }
    if let request = receiver.pollRequest(now: now) {
      let byteCount = 2 + request.entryCount * AudioRequestFrame.entryByteCount
      sendBack(.request(request), byteCount, now)
    }
    if let report = receiver.pollReport(now: now) {
      sendBack(.report(report, transit: latestTransit), 1 + AudioReportFrame.bodyByteCount, now)
    }
    events.push(.tick, at: now + .milliseconds(Int64(options.tick)))
  }

  private mutating func sendBack(_ event: Event, _ byteCount: Int, _ now: Instant) {
    outcome.backBytes += byteCount
    if let arrival = back.carry(byteCount: byteCount + 25, at: now) {
      events.push(event, at: arrival)
    }
  }

  private static func pull(
    from receiver: inout AudioReceiver, into step: inout [Int16], _ now: Instant
  ) {
    var span = step.mutableSpan
    _ = receiver.buffer.pull(into: &span, now: now)
  }

  /// One second.
  private static let tail: UInt64 = 1_000_000_000
  /// 20 ms.
  private static let patience: UInt64 = 20_000_000
}
