import Primitives
import Testing
import Wire

@testable import Audio

/// Two engines and a line of 10 ms between them, visited every 5 ms.
private struct EnginePair: ~Copyable {
  struct Body {
    var header: AudioBodyHeader
    var bytes: [UInt8]
    var arrival: Instant
  }

  var speaker: AudioEngine
  var listener: AudioEngine
  private(set) var heard: [Int16] = []
  /// What left each end, and when, in ticks.
  private(set) var sent: [(tick: Int, header: AudioBodyHeader, bytes: [UInt8])] = []
  private(set) var answered: [AudioKind] = []
  /// Media time of what the source was asked for, in samples, and the tick of it.
  private(set) var captures: [(tick: Int, from: Int, to: Int)] = []
  static let wide = PathConditions(roundTrip: (20_000_000, 20_000_000))
  private var toListener: [Body] = []
  private var toSpeaker: [Body] = []
  private var ticks = 0
  private var frameStart = 0
  private let voice = TestSignal.voice(seconds: 4)

  init(_ settings: AudioEngine.Settings) throws {
    self.init(try AudioEngine(settings), try AudioEngine(settings))
  }

  private init(_ speaker: consuming AudioEngine, _ listener: consuming AudioEngine) {
    self.speaker = speaker
    self.listener = listener
  }

  /// - Parameter isLost: told the number of each packet with audio, in this run.
  mutating func run(
    seconds: Double, _ conditions: PathConditions = EnginePair.wide,
    isLost: (Int) -> Bool = { _ in false }
  ) throws {
    var number = 0
    for _ in 0..<Int(seconds * 200) {
      ticks += 1
      let now = Instant(nanoseconds: 1_000_000_000 + UInt64(ticks) * 5_000_000)
      try visitSpeaker(now, conditions) {
        number += 1
        return isLost(number - 1)
      }
      try visitListener(now, conditions)
    }
  }

  private mutating func visitSpeaker(
    _ now: Instant, _ conditions: PathConditions, isLost: () -> Bool
  ) throws {
    for body in toSpeaker where body.arrival <= now {
      try speaker.receive(body.bytes.span, body.header, arrival: body.arrival, conditions, now: now)
    }
    toSpeaker.removeAll { $0.arrival <= now }
    speaker.tick(now: now)
    let wanted = speaker.wantedSampleCount
    if wanted > 0 {
      captures.append((ticks, frameStart, frameStart + wanted))
      let samples = (frameStart..<(frameStart + wanted)).map { voice[$0 % voice.count] }
      try speaker.capture(samples.span, channels: 1)
      frameStart += wanted
    }
    while let body = Self.poll(&speaker, now) {
      sent.append((ticks, body.header, body.bytes))
      if !(body.header.kind == .frame && isLost()) { toListener.append(body) }
    }
  }

  private mutating func visitListener(_ now: Instant, _ conditions: PathConditions) throws {
    for body in toListener where body.arrival <= now {
      try listener.receive(
        body.bytes.span, body.header, arrival: body.arrival, conditions, now: now)
    }
    toListener.removeAll { $0.arrival <= now }
    listener.tick(now: now)
    var step = [Int16](repeating: 1, count: 240)
    Self.pull(&listener, &step, now)
    heard += step
    while let body = Self.poll(&listener, now) {
      answered.append(body.header.kind)
      toSpeaker.append(body)
    }
  }

  private static func pull(_ engine: inout AudioEngine, _ step: inout [Int16], _ now: Instant) {
    var span = step.mutableSpan
    _ = engine.pull(into: &span, now: now)
  }

  static func poll(_ engine: inout AudioEngine, _ now: Instant) -> Body? {
    var bytes: [UInt8] = []
    var header: AudioBodyHeader?
    bytes.append(addingCapacity: 1275) { header = engine.pollTransmit(into: &$0) }
    return header.map { Body(header: $0, bytes: bytes, arrival: now + .milliseconds(10)) }
  }
}

@Suite struct AudioEngineTests {
  private static func settings(_ length: FrameLength = .milliseconds20) -> AudioEngine.Settings {
    AudioEngine.Settings(OpusEncoder.Settings(frameLength: length, complexity: 0))
  }

  @Test(arguments: FrameLength.allCases)
  func `sends a frame at the first tick, and then each when its last sample has passed`(
    length: FrameLength
  ) throws {
    var pair = try EnginePair(Self.settings(length))
    try pair.run(seconds: 1)
    let steps = length.milliseconds / 5
    #expect(pair.captures.count == (200 + steps - 1) / steps)
    for (number, capture) in pair.captures.enumerated() {
      #expect(capture.tick == 1 + number * steps && capture.to == (number + 1) * length.sampleCount)
    }
    let frames = pair.sent.filter { $0.header.kind == .frame }
    let times = frames.indices.map { UInt16($0) * length.stepCount }
    #expect(frames.map(\.header.frame.mediaTime) == times)
    #expect(frames.map(\.header.frame.isMarked) == frames.indices.map { $0 == 0 })
    #expect(pair.heard.contains { abs(Int($0)) > 1000 })
  }

  /// A line that narrows makes frames longer. A source must not be asked for the longer frame
  /// before all of it has passed: it would have less, and the gap would be sent as silence.
  @Test func `asks for no sample before it was captured, whatever the frames' length`() throws {
    var pair = try EnginePair(Self.settings())
    try pair.run(seconds: 1)
    let narrow = PathConditions(roundTrip: (20_000_000, 20_000_000), allowance: 25_000)
    try pair.run(seconds: 3, narrow) { $0 % 20 == 0 }
    try pair.run(seconds: 12)
    let lengths = Set(pair.captures.map { ($0.to - $0.from) / 48 })
    #expect(lengths == [20, 60], "\(lengths)")
    for capture in pair.captures {
      // What the first tick sends has passed before it.
      #expect(capture.to <= 960 + (capture.tick - 1) * 240, "\(capture)")
    }
    let ends = zip(pair.captures, pair.captures.dropFirst())
    #expect(ends.allSatisfy { $0.to == $1.from })
  }

  @Test func `asks in the tick that knows of the loss, and what was asked for goes with a frame`()
    throws
  {
    var settings = Self.settings()
    settings.makesCopies = false
    // Time enough for an answer.
    settings.fixedDelay = 120_000_000
    var pair = try EnginePair(settings)
    try pair.run(seconds: 1) { $0 == 20 }
    let lost = try #require(pair.sent.filter { $0.header.kind == .frame }.dropFirst(20).first)
    #expect(pair.answered.filter { $0 == .request }.count == 1)
    #expect(pair.listener.receiver.framesRepairedByRetransmissions == 1)
    #expect(pair.listener.receiver.buffer.statistics.concealedSamples == 0)
    // The next frame comes 20 ms later and takes 10 ms, and so does the request; the frame after
    // that has the answer.
    let answer = try #require(
      pair.sent.first { $0.tick > lost.tick && $0.header.frame.hasCopies })
    #expect(answer.tick == lost.tick + 8, "\(answer.tick - lost.tick)")
    let parts = try AudioBody(answer.bytes.span, hasCopies: true)
    #expect(!parts.primary.isEmpty && parts.copyCount == 1)
    #expect(parts.copy(0).coding == .retransmission)
  }

  @Test func `repeats by itself where the next frame is far`() throws {
    var settings = Self.settings(.milliseconds60)
    settings.makesCopies = false
    settings.fixedDelay = 120_000_000
    var pair = try EnginePair(settings)
    try pair.run(seconds: 3, PathConditions(roundTrip: (1_000_000, 1_000_000))) { $0 == 20 }
    let alone = pair.sent.filter { sent in
      let parts = try? AudioBody(sent.bytes.span, hasCopies: sent.header.frame.hasCopies)
      return sent.header.kind == .frame && parts?.primary.isEmpty == true
    }
    #expect(alone.count == 1)
    #expect(pair.captures.allSatisfy { $0.tick != alone.first?.tick })
    #expect(pair.listener.receiver.framesRepairedByRetransmissions == 1)
  }

  @Test func `mute fades to silence, sends no more, and begins marked`() throws {
    var pair = try EnginePair(Self.settings())
    try pair.run(seconds: 1)
    pair.speaker.isMuted = true
    pair.listener.isRemoteMuted = true
    let before = pair.sent.count
    try pair.run(seconds: 2)
    let fade = pair.sent.dropFirst(before).filter { $0.header.kind == .frame }
    #expect(fade.count == 10 && pair.listener.pausedSamples > 48_000)
    #expect(pair.heard.suffix(24_000).allSatisfy { $0 == 0 })
    pair.speaker.isMuted = false
    pair.listener.isRemoteMuted = false
    let silent = pair.sent.count
    try pair.run(seconds: 1)
    let first = try #require(pair.sent.dropFirst(silent).first { $0.header.kind == .frame })
    #expect(first.header.frame.isMarked)
    #expect(first.header.frame.mediaTime == 300, "muted time is time")
    #expect(pair.listener.receiver.buffer.statistics.fates.lost == 0)
  }

  @Test func `a fixed plan stays whatever is reported`() throws {
    var settings = Self.settings()
    var plan = RedundancyPlan()
    plan.add(RedundancyPlan.Copy(distance: 2, isLowRate: true))
    settings.fixedPlan = plan
    settings.fixedDelay = 80_000_000
    var pair = try EnginePair(settings)
    try pair.run(seconds: 4) { $0 % 5 == 0 }
    #expect(pair.speaker.sender.plan == plan)
    #expect(pair.speaker.account.remote.framesLost > 20)
    #expect(pair.listener.receiver.buffer.statistics.targetDelayNanoseconds == 80_000_000)
  }

  @Test func `stereo is mixed for an encoder of one channel`() throws {
    let left = TestSignal.voice(seconds: 0.02)
    let stereo = try Self.body(left.flatMap { [$0, $0] }, channels: 2)
    #expect(try Self.body(left, channels: 1) == stereo && !stereo.isEmpty)
  }

  /// What becomes of the first frame of a source.
  private static func body(_ samples: [Int16], channels: Int) throws -> [UInt8] {
    var engine = try AudioEngine(settings())
    engine.tick(now: Instant(nanoseconds: 5_000_000))
    try engine.capture(samples.span, channels: channels)
    let account: AudioAccount = engine.account
    #expect(account.source.level > 0)
    let outbound: OutboundAudio = engine.outbound
    #expect(!outbound.isDue(.milliseconds20))
    return try #require(EnginePair.poll(&engine, .zero)).bytes
  }

  @Test func `bodies that nobody can read change nothing`() throws {
    var engine = try AudioEngine(Self.settings())
    let bytes: [UInt8] = [1, 2, 3]
    for kind in [AudioKind.frame, .report, .request] {
      try engine.receive(
        bytes.span, AudioBodyHeader(kind), arrival: .zero, PathConditions(), now: .zero)
    }
    #expect(engine.account.remote.reportsReceived == 0)
    #expect(engine.sender.statistics.framesRequested == 0)
  }

  @Test func `conditions are kept to a millisecond and a kilobit, and a wide path is no limit`() {
    let conditions = PathConditions(roundTrip: (20_900_000, 19_999_999), allowance: 64_700)
    #expect(conditions.roundTripMilliseconds == 20)
    #expect(conditions.roundTrip?.minimum == 19_000_000)
    #expect(conditions.allowance == 64_000)
    #expect(PathConditions(allowance: 12).allowance == 1000)
    #expect(PathConditions(allowance: 9_000_000) == PathConditions())
    #expect(
      PathConditions(roundTrip: (.max, .max)).roundTripMilliseconds == 65_535)
  }
}
