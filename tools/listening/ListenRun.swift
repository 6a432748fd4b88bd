import Audio
import MediaFiles
import Primitives
import Simulation

/// One sender, one line, one receiver, in simulated time: everything follows from the options.
///
/// The sender has a frame when its last sample was captured; the receiver is visited every tick, as
/// the pipeline of a call is, takes what has arrived and plays 10 ms or twice 10 ms.
struct ListenRun: ~Copyable {
  /// What is under way.
  private enum Event {
    case capture
    case tick
    case arrival(payload: [UInt8], mediaTime: UInt16)
  }

  private let options: ListenOptions
  private let samples: [Int16]
  private var encoder: OpusEncoder
  private var buffer: JitterBuffer
  private var line: ListenLine
  private var events = EventQueue<Event>()
  private var frameNumber = 0
  private var step = [Int16](repeating: 0, count: AudioFormat.stepSampleCount)
  private var outcome = ListenOutcome()
  /// The receiver's first visit, within one tick of the start.
  private let phase: UInt64
  /// Nanoseconds of sound; what is played after it is saved, but not counted.
  private let spoken: UInt64

  /// - Parameter samples: mono, 48 kHz.
  init(_ options: ListenOptions, samples: [Int16]) throws {
    var settings = OpusEncoder.Settings(
      bitsPerSecond: options.bitrate, frameLength: options.frame)
    settings.usesForwardErrorCorrection = options.announcedLoss > 0
    let encoder = try OpusEncoder(settings)
    let buffer = try JitterBuffer(channels: 1)
    self.init(options, samples, encoder, buffer)
  }

  private init(
    _ options: ListenOptions, _ samples: [Int16], _ encoder: consuming OpusEncoder,
    _ buffer: consuming JitterBuffer
  ) {
    self.options = options
    self.samples = samples
    self.encoder = encoder
    self.buffer = buffer
    var random = RandomSource(seed: options.seed)
    line = ListenLine(options.line, random: random.split())
    phase = random.below(UInt64(options.tick) * 1_000_000)
    spoken = UInt64(samples.count) * 62_500 / 3
  }

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

  mutating func listen() throws -> ListenOutcome {
    try encoder.setAnnouncedLoss(percent: options.announcedLoss)
    events.push(.capture, at: captureTime(0))
    events.push(.tick, at: Instant(nanoseconds: phase))
    // What is heard before the first visit is silence.
    outcome.samples = [Int16](repeating: 0, count: Int(phase * 3 / 62_500))
    var counted: PlayoutStatistics?
    while let now = events.nextTime, now.nanoseconds < spoken + Self.tail {
      if now.nanoseconds >= spoken, counted == nil { counted = buffer.statistics }
      guard let event = events.pop(at: now) else { break }
      switch event {
      case .capture: try capture(now)
      case .tick: tick(now)
      case .arrival(let payload, let mediaTime):
        buffer.insert(payload.span, mediaTime: mediaTime, arrival: now)
      }
    }
    outcome.finish(
      counted ?? buffer.statistics, encoder, options, sampleCount: samples.count)
    return outcome
  }

  /// When the last sample of a frame was captured, by the sender's clock.
  private func captureTime(_ number: Int) -> Instant {
    let nominal = Double((number + 1) * options.frame.milliseconds) * 1e6
    return Instant(nanoseconds: UInt64(nominal * (1 - options.drift / 1e6)))
  }

  private mutating func capture(_ now: Instant) throws {
    let size = options.frame.sampleCount
    let start = frameNumber * size
    guard start + size <= samples.count else { return }
    send(try Self.encode(samples, start..<(start + size), with: &encoder), now)
    frameNumber += 1
    events.push(.capture, at: captureTime(frameNumber))
  }

  private static func encode(
    _ samples: [Int16], _ range: Range<Int>, with encoder: inout OpusEncoder
  ) throws -> [UInt8] {
    var payload: [UInt8] = []
    try payload.append(addingCapacity: AudioFormat.maxPayloadByteCount) {
      (output) throws(OpusError) in
      _ = try encoder.encode(samples.span.extracting(range), into: &output)
    }
    return payload
  }

  private mutating func send(_ payload: [UInt8], _ now: Instant) {
    let mediaTime = UInt16(truncatingIfNeeded: frameNumber * Int(options.frame.stepCount))
    outcome.noteSent(payloadByteCount: payload.count)
    let byteCount = payload.count + ListenOutcome.overheadByteCount
    guard let arrival = line.carry(byteCount: byteCount, at: now) else {
      outcome.packetsLost += 1
      return
    }
    outcome.noteTransit(arrival.nanoseconds(since: now))
    events.push(.arrival(payload: payload, mediaTime: mediaTime), at: arrival)
  }

  private static func pull(
    from buffer: inout JitterBuffer, into step: inout [Int16], _ now: Instant
  ) {
    var span = step.mutableSpan
    _ = buffer.pull(into: &span, now: now)
  }

  /// One second.
  private static let tail: UInt64 = 1_000_000_000

  private mutating func tick(_ now: Instant) {
    for _ in 0..<(options.tick / 10) {
      Self.pull(from: &buffer, into: &step, now)
      outcome.samples.append(contentsOf: step)
    }
    if options.traces { outcome.trace(buffer.statistics, now) }
    events.push(.tick, at: now + .milliseconds(Int64(options.tick)))
  }
}
