import Audio
import Primitives
import Testing

struct JitterBufferPropertyTests {
  /// Goal: nothing a sender or a path does makes a pull give more or less than 5 ms, or trap.
  /// Method: 30 000 random steps: packets on time, late, doubled, reordered, of absurd times, cut
  /// short, flipped and made of noise; pulls at even, doubled, stalled and leaping times.
  @Test(arguments: [1, 2], [11, 12] as [UInt64])
  func `gives five milliseconds a pull whatever comes`(channels: Int, seed: UInt64) throws {
    var random = RandomSource(seed: seed)
    let payloads = try Self.payloads()
    var buffer = try JitterBuffer(channels: channels)
    var step = [Int16](repeating: 0, count: 240 * channels + 2)
    var now: UInt64 = 1_000_000_000
    var mediaTime: UInt16 = 65_000
    var pulls: UInt64 = 0
    for _ in 0..<15_000 {
      if random.next() % 2 == 0 {
        var payload = payloads[Int(random.next() % UInt64(payloads.count))]
        Self.damage(&payload, &random)
        mediaTime &+= 2
        var stamp = mediaTime
        var arrival = now
        switch random.next() % 20 {
        case 0: stamp = UInt16(truncatingIfNeeded: random.next())
        case 1: stamp &-= UInt16(random.next() % 100)
        case 2: stamp &+= UInt16(random.next() % 1000)
        case 3: arrival = random.next()
        case 4: arrival &-= random.next() % 3_000_000_000
        case 5: mediaTime &+= UInt16(random.next() % 600)
        default: break
        }
        buffer.insert(
          payload.span, mediaTime: stamp, arrival: Instant(nanoseconds: arrival),
          origin: Self.origin(random.next()), isMarked: random.next() % 40 == 0)
      } else {
        step[240 * channels] = 12_345
        step[240 * channels + 1] = -12_345
        var span = step.mutableSpan
        _ = buffer.pull(into: &span, now: Instant(nanoseconds: now))
        #expect(step[240 * channels] == 12_345 && step[240 * channels + 1] == -12_345)
        pulls += 1
        switch random.next() % 50 {
        case 0: now &+= random.next() % 2_000_000_000
        case 1: now &-= min(now, random.next() % 100_000_000)
        case 2: break
        default: now &+= 5_000_000
        }
      }
    }
    let statistics = buffer.statistics
    #expect(pulls > 7000 && statistics.totalSamplesReceived <= pulls * 240)
    #expect(statistics.concealedSamples <= statistics.totalSamplesReceived)
    #expect(statistics.packetsMalformed > 100)
    #expect(statistics.restarts > 0, "EARSHOT_SEED=\(seed)")
  }

  @Test func `keeps at most two hundred packets`() throws {
    let payload = try #require(try Self.payloads().first)
    var buffer = try JitterBuffer(channels: 1)
    for number in 0..<300 {
      buffer.insert(
        payload.span, mediaTime: UInt16(number), arrival: Instant(nanoseconds: 1_000_000_000))
    }
    #expect(buffer.statistics.packetsReceived == 300)
    #expect(buffer.statistics.packetsDiscarded == 100)
  }

  private static func origin(_ chance: UInt64) -> PacketOrigin {
    switch chance % 8 {
    case 0: .copy(steps: 4, isLowRate: true)
    case 1: .copy(steps: 4, isLowRate: false)
    case 2: .retransmission
    default: .primary
    }
  }

  private static func payloads() throws -> [[UInt8]] {
    var payloads: [[UInt8]] = []
    for (channels, rate) in [(1, 12_000), (1, 32_000), (2, 96_000)] {
      for length in FrameLength.allCases {
        var settings = OpusEncoder.Settings(channels: channels, bitsPerSecond: rate)
        settings.frameLength = length
        settings.complexity = 0
        let mono = TestSignal.voice(seconds: 0.3)
        let samples = channels == 1 ? mono : mono.flatMap { [$0, $0 / 2] }
        payloads += try EncodedStream(samples, settings: settings, announcedLoss: 10).packets
      }
    }
    return payloads
  }

  private static func damage(_ payload: inout [UInt8], _ random: inout RandomSource) {
    switch random.next() % 10 {
    case 0: payload = random.bytes(Int(random.next() % 1400))
    case 1: payload = Array(payload.prefix(Int(random.next() % UInt64(payload.count + 1))))
    case 2: payload[Int(random.next() % UInt64(payload.count))] ^= UInt8(1 << (random.next() % 8))
    default: break
    }
  }
}
