import Audio
import Primitives
import Testing
import Wire

/// Bodies as they come, from whomever.
@Suite struct AudioReceiverTests {
  /// Bodies of frames of all lengths and rates, mono and stereo, with and without copies, and with
  /// copies in a codec that is not known here.
  private static func bodies() throws -> [(length: AudioMediaFrame.Length, body: [UInt8])] {
    var bodies: [(length: AudioMediaFrame.Length, body: [UInt8])] = []
    let lengths: [(FrameLength, AudioMediaFrame.Length)] = [
      (.milliseconds10, .milliseconds10), (.milliseconds20, .milliseconds20),
      (.milliseconds40, .milliseconds40), (.milliseconds60, .milliseconds60),
    ]
    for (length, wire) in lengths {
      for (channels, rate) in [(1, 12_000), (2, 64_000)] {
        var settings = OpusEncoder.Settings(channels: channels, bitsPerSecond: rate)
        settings.frameLength = length
        settings.complexity = 0
        var sender = try AudioSender(settings)
        var plan = RedundancyPlan(frameLength: length, bitrate: rate)
        plan.add(RedundancyPlan.Copy(distance: 1, isLowRate: false))
        plan.add(RedundancyPlan.Copy(distance: 3, isLowRate: true))
        plan.add(RedundancyPlan.Copy(parityOf: 2, and: 4))
        try sender.follow(plan)
        let mono = TestSignal.voice(seconds: 0.5)
        let samples = channels == 1 ? mono : mono.flatMap { [$0, $0 / 2] }
        let size = length.sampleCount * channels
        for number in 0..<(samples.count / size) {
          var body: [UInt8] = []
          try body.append(addingCapacity: 2600) { (output) throws(OpusError) in
            _ = try sender.encode(
              samples.span.extracting((number * size)..<(number * size + size)),
              mediaTime: UInt16(number) * length.stepCount, into: &output)
          }
          bodies.append((wire, body))
        }
      }
    }
    var foreign: [UInt8] = [0x62, 9, 4, 1, 2, 3, 4]
    foreign += bodies[0].body
    bodies.append((.milliseconds20, foreign))
    return bodies
  }

  /// Goal: nothing that comes makes a pull give more or less than 5 ms, or trap, or memory grow.
  /// Method: 30 000 random steps: bodies on time, late, doubled, reordered, of absurd times, cut
  /// short, flipped, of noise and of other codecs, with the flags of others; polls between.
  @Test(arguments: [1, 2], [21, 22] as [UInt64])
  func `gives five milliseconds a pull whatever comes`(channels: Int, seed: UInt64) throws {
    var random = RandomSource(seed: seed)
    let bodies = try Self.bodies()
    var receiver = try AudioReceiver(channels: channels)
    var now: UInt64 = 5_000_000_000
    var mediaTime: UInt16 = 65_000
    var counts = (pulls: UInt64(0), requests: 0, reports: 0)
    for _ in 0..<30_000 {
      if random.next() % 8 == 0 {
        receiver.roundTripMilliseconds =
          random.next() % 4 == 0 ? nil : Int(random.next() % 100_000)
      }
      if random.next() % 2 == 0 {
        let (length, body) = bodies[Int(random.next() % UInt64(bodies.count))]
        Self.hand(body, length, to: &receiver, now, &mediaTime, &random)
      } else {
        Self.pull(from: &receiver, now)
        counts.pulls += 1
        now = Self.later(now, &random)
      }
      if let request = receiver.pollRequest(now: Instant(nanoseconds: now)) {
        #expect((1...AudioRequestFrame.maximumEntryCount).contains(request.entryCount))
        counts.requests += 1
      }
      if receiver.pollReport(now: Instant(nanoseconds: now)) != nil { counts.reports += 1 }
    }
    let statistics = receiver.buffer.statistics
    #expect(counts.pulls > 14_000 && statistics.totalSamplesReceived <= counts.pulls * 240)
    #expect(statistics.concealedSamples <= statistics.totalSamplesReceived)
    #expect(statistics.packetsReceived > 1000 && statistics.copiesReceived > 1000)
    #expect(counts.requests > 0 && counts.reports > 0, "EARSHOT_SEED=\(seed)")
  }

  private static func hand(
    _ body: [UInt8], _ length: AudioMediaFrame.Length, to receiver: inout AudioReceiver,
    _ now: UInt64, _ mediaTime: inout UInt16, _ random: inout RandomSource
  ) {
    var body = body
    var length = length
    damage(&body, &random)
    if random.next() % 30 == 0 {
      length = AudioMediaFrame.Length.allCases[Int(random.next() % 4)]
    }
    mediaTime &+= length.mediaTimeSteps
    let frame = AudioMediaFrame(
      length: length, isMarked: random.next() % 40 == 0, hasCopies: random.next() % 4 != 0,
      mediaTime: stamp(&mediaTime, &random))
    receiver.receive(body.span, frame, arrival: arrival(now, &random))
  }

  private static func pull(from receiver: inout AudioReceiver, _ now: UInt64) {
    let count = 240 * receiver.buffer.channels
    var step = [Int16](repeating: 0, count: count + 2)
    step[count] = 12_345
    step[count + 1] = -12_345
    var span = step.mutableSpan
    _ = receiver.buffer.pull(into: &span, now: Instant(nanoseconds: now))
    #expect(step[count] == 12_345 && step[count + 1] == -12_345)
  }

  private static func stamp(_ mediaTime: inout UInt16, _ random: inout RandomSource) -> UInt16 {
    switch random.next() % 20 {
    case 0: return UInt16(truncatingIfNeeded: random.next())
    case 1: return mediaTime &- UInt16(random.next() % 100)
    case 2: return mediaTime &+ UInt16(random.next() % 1000)
    case 3: mediaTime &+= UInt16(random.next() % 600)
    default: break
    }
    return mediaTime
  }

  private static func arrival(_ now: UInt64, _ random: inout RandomSource) -> Instant {
    switch random.next() % 20 {
    case 0: Instant(nanoseconds: random.next() >> 4)
    case 1: Instant(nanoseconds: now &- random.next() % 3_000_000_000)
    default: Instant(nanoseconds: now)
    }
  }

  private static func later(_ now: UInt64, _ random: inout RandomSource) -> UInt64 {
    switch random.next() % 50 {
    case 0: now &+ random.next() % 2_000_000_000
    case 1: now &- min(now, random.next() % 100_000_000)
    case 2: now
    default: now &+ 10_000_000
    }
  }

  private static func damage(_ body: inout [UInt8], _ random: inout RandomSource) {
    switch random.next() % 10 {
    case 0: body = random.bytes(Int(random.next() % 1400))
    case 1: body = Array(body.prefix(Int(random.next() % UInt64(body.count + 1))))
    case 2 where !body.isEmpty:
      body[Int(random.next() % UInt64(body.count))] ^= UInt8(1 << (random.next() % 8))
    default: break
    }
  }
}
