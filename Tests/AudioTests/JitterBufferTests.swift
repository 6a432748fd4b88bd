import Audio
import Primitives
import Testing

struct JitterBufferTests {
  /// Cheap to encode, so that these tests spend their time in what they test.
  static let settings: OpusEncoder.Settings = {
    var settings = OpusEncoder.Settings()
    settings.complexity = 0
    return settings
  }()

  static func voice(seconds: Double, announcedLoss: Int = 0) throws -> EncodedStream {
    try EncodedStream(
      TestSignal.voice(seconds: seconds), settings: settings, announcedLoss: announcedLoss)
  }

  @Test func `plays a clean line without touching it`() throws {
    let outcome = try Line(Self.voice(seconds: 10)).play()
    let statistics = outcome.statistics
    #expect(statistics.concealedSamples == 0)
    #expect(statistics.packetsLost == 0)
    #expect(statistics.packetsDiscarded == 0)
    #expect(outcome.count(.normal) > 900)
    let delay = try #require(statistics.meanDelayMilliseconds)
    #expect(delay < 18, "mean delay \(delay) ms")
    let late = try #require(outcome.delays.last)
    #expect(late < 18, "delay at the end \(late) ms")
  }

  @Test func `plays the first packet with the first pull that is not too near`() throws {
    let outcome = try Line(Self.voice(seconds: 1)).play()
    // The first packet arrives at 20 ms; the pull at 28 ms plays it.
    let first = try #require(outcome.operations.firstIndex { $0 != .silence })
    #expect(first == 5)
    let wait = try #require(outcome.statistics.delays.quantile(0.5))
    #expect((3...13).contains(wait))
  }

  @Test(arguments: [(20, 60), (50, 120)])
  func `rides out exponential jitter`(percentile95: Int, bound: Int) throws {
    let seed: UInt64 = 20
    let stream = try Self.voice(seconds: 10)
    let delays = Chance.exponential(
      percentile95: Int64(percentile95) * 1_000_000, seed: seed, count: stream.packets.count * 6)
    let outcome = try Line(stream, repeats: 6, delay: { number, _ in delays[number] })
      .play(keepsSamples: false)
    let concealed = outcome.statistics.concealedFraction
    #expect(concealed < 0.01, "EARSHOT_SEED=\(seed): \(concealed) concealed")
    // From a packet's sending to its sounding, less the line: arrival jitter and wait together.
    let target = try #require(outcome.targets.last)
    #expect(target < Int64(bound) * 1_000_000, "EARSHOT_SEED=\(seed): target \(target) ns")
    #expect(outcome.statistics.packetsLost == 0)
  }

  @Test func `restores most of five percent loss from the copies`() throws {
    let seed: UInt64 = 5
    let stream = try Self.voice(seconds: 10, announcedLoss: 10)
    let lost = Chance.losses(fraction: 0.05, seed: seed, count: stream.packets.count * 3)
    let outcome = try Line(stream, repeats: 3, isLost: { lost[$0] }).play()
    let statistics = outcome.statistics
    let expected = lost.count { $0 }
    #expect(abs(Int(statistics.packetsLost) - expected) <= 2, "EARSHOT_SEED=\(seed)")
    let recovered = Double(statistics.packetsRecoveredByForwardErrorCorrection)
    // The pauses of the voice carry no copies; a loss that follows a loss has none either.
    #expect(recovered > 0.5 * Double(expected), "EARSHOT_SEED=\(seed): \(recovered) of \(expected)")
    #expect(statistics.concealedFraction < 0.025, "EARSHOT_SEED=\(seed)")
    #expect(statistics.concealmentEvents > 0)
  }

  @Test(arguments: [200.0, 50, -50, -200])
  func `absorbs a clock that drifts for ten minutes`(partsPerMillion: Double) throws {
    let stream = try Self.voice(seconds: 20)
    let outcome = try Line(stream, repeats: 30, driftPartsPerMillion: partsPerMillion)
      .play(keepsSamples: false)
    let statistics = outcome.statistics
    #expect(statistics.concealedSamples == 0)
    #expect(statistics.packetsDiscarded == 0)
    let settled = outcome.delays.dropFirst(10)
    let least = try #require(settled.min())
    let most = try #require(settled.max())
    // A pull is 10 ms: a little of it is put in beforehand, and it is taken out in halves.
    #expect(least > 0.5 && most - least < 9, "\(least)...\(most) ms")
    // 200 ppm of 600 s are 120 ms, or 5760 samples.
    let net =
      Int(statistics.removedSamplesForAcceleration)
      - Int(statistics.insertedSamplesForDeceleration)
    let expected = Int(partsPerMillion * 28.8)
    #expect(abs(net - expected) < 1200, "\(net) samples removed")
  }

  @Test func `returns to a low delay within two seconds of a spike`() throws {
    let stream = try Self.voice(seconds: 20)
    let outcome = try Line(
      stream,
      delay: { _, sent in
        let freeze = 8_000_000_000..<8_500_000_000
        return freeze.contains(Int(sent)) ? Int64(freeze.upperBound) - sent : 0
      }
    ).play()
    let second = outcome.delays.dropFirst(11)
    #expect(outcome.delays[6] < 20)
    #expect(try #require(second.max()) < 35, "\(outcome.delays)")
    #expect(outcome.statistics.packetsLost == 0)
    // The freeze is heard as one hole, less what the buffer held.
    #expect(outcome.statistics.concealmentEvents <= 2)
  }

  @Test func `never clicks when loss comes and goes`() throws {
    let tone = try EncodedStream(
      TestSignal.tone(hertz: 300, seconds: 6), settings: Self.settings)
    // Single losses, bursts, and one silence of half a second.
    let lost: Set<Int> = [60, 90, 91, 130, 131, 132, 133, 134, 135]
    let outcome = try Line(
      tone, isLost: { lost.contains($0) || (180..<205).contains($0) }
    ).play()
    let samples = outcome.samples.dropFirst(4800)
    var steepest = 0
    for (left, right) in zip(samples, samples.dropFirst()) {
      steepest = max(steepest, abs(Int(right) - Int(left)))
    }
    // The tone itself rises by 314 a sample at most.
    #expect(steepest < 1000, "a step of \(steepest)")
    #expect(outcome.statistics.silentConcealedSamples > 9600)
    #expect(outcome.operations.contains(.merge))
  }

  @Test func `ignores duplicates and counts them`() throws {
    var line = Line(try Self.voice(seconds: 3))
    line.flights += line.flights.map { flight in
      var copy = flight
      copy.arrival += 1_000_000
      return copy
    }
    let statistics = try line.play().statistics
    #expect(statistics.packetsDuplicated > 145)
    #expect(statistics.concealedSamples == 0)
    #expect(statistics.packetsDiscarded == 0)
  }

  @Test func `discards what comes after its turn`() throws {
    let stream = try Self.voice(seconds: 4)
    let statistics = try Line(
      stream, delay: { number, _ in number % 50 == 49 ? 200_000_000 : 0 }
    ).play().statistics
    #expect(statistics.packetsDiscardedLate >= 2)
    #expect(statistics.packetsLost == 0)
  }

  @Test func `follows a sender that starts its clock anew`() throws {
    let stream = try Self.voice(seconds: 3)
    var line = Line(stream)
    let again = Line(stream, start: 30_000).flights.map { flight in
      var later = flight
      later.arrival += 3_000_000_000
      return later
    }
    line.flights += again
    let outcome = try line.play()
    #expect(outcome.statistics.restarts == 1)
    #expect(outcome.operations.suffix(100).allSatisfy { $0 == .normal || $0 == .accelerate })
  }

  @Test func `sets a lone absurd time aside`() throws {
    var line = Line(try Self.voice(seconds: 3))
    line.flights[70].mediaTime &+= 20_000
    let statistics = try line.play().statistics
    #expect(statistics.restarts == 0)
    #expect(statistics.packetsDiscarded == 1)
    #expect(statistics.packetsLost == 1)
  }

  @Test func `goes on at once after the sender was silent for a while`() throws {
    let stream = try Self.voice(seconds: 8)
    let outcome = try Line(stream, isLost: { (150..<300).contains($0) }).play()
    #expect(outcome.operations.suffix(150).allSatisfy { $0 != .silence && $0 != .expand })
    #expect(outcome.statistics.concealmentEvents == 1)
  }

  /// Low-rate copies at distances 1 and 3, as they ride in later packets.
  private static func withCopies(_ line: Line, _ stream: EncodedStream) -> [Line.Flight] {
    line.flights.flatMap { flight in
      let number = Int((flight.mediaTime &- 65_500) / 2)
      return [flight]
        + [1, 3].filter { $0 <= number }.map { distance in
          var copy = flight
          copy.payload = stream.packets[number - distance]
          copy.mediaTime &-= UInt16(2 * distance)
          copy.origin = .copy(steps: UInt16(2 * distance), isLowRate: true)
          return copy
        }
    }
  }

  @Test func `waits for copies only while frames are lost, and no longer than they need`() throws {
    let seed: UInt64 = 9
    let stream = try Self.voice(seconds: 30)
    var lost = Chance.losses(fraction: 0.1, seed: seed, count: stream.packets.count)
    for number in lost.indices where !(250..<1000).contains(number) { lost[number] = false }
    var line = Line(stream, isLost: { lost[$0] })
    line.flights = Self.withCopies(line, stream)
    let outcome = try line.play(until: 29_000_000_000)
    #expect(outcome.targets[4] == 0)
    #expect((40_000_000...60_000_000).contains(outcome.targets[18]))
    #expect(outcome.targets[28] == 0, "EARSHOT_SEED=\(seed): \(outcome.targets)")
    let share = outcome.statistics.concealedFraction
    #expect(share < 0.01, "EARSHOT_SEED=\(seed): \(share)")
    let report = outcome.report
    let expected = UInt64(lost.count { $0 })
    #expect(report.framesLost == expected && report.meanBurst < 1.4 && report.longestBurst < 5)
    #expect(report.framesUnrepaired < expected / 5)
    #expect(report.slackMilliseconds >= 0 && report.frameMilliseconds == 20)
    #expect(report.since(report).framesLost == 0)
  }

  @Test func `plays a primary instead of the copy that came before it`() throws {
    let stream = try Self.voice(seconds: 3)
    var line = Line(stream)
    // Packet 60 is overtaken by a copy of itself that is no Opus packet of this stream.
    var copy = line.flights[60]
    copy.arrival -= 1_000_000
    copy.origin = .copy(steps: 4, isLowRate: true)
    copy.payload = stream.packets[5]
    line.flights.append(copy)
    let both = try line.play()
    line.flights.removeLast()
    #expect(both.samples == (try line.play().samples))
  }

  @Test(arguments: [PacketOrigin.retransmission, .copy(steps: 20, isLowRate: false)])
  func `takes nothing that was there already for jitter`(origin: PacketOrigin) throws {
    var line = Line(try Self.voice(seconds: 6))
    line.flights += line.flights.map { flight in
      var again = flight
      again.arrival += 150_000_000
      again.origin = origin
      return again
    }
    #expect(try #require(line.play().targets.max()) == 0)
  }

  @Test(arguments: [4, 8, 10])
  func `does not splice for a puller that comes in pairs or late`(lateness: Int) throws {
    let stream = try Self.voice(seconds: 20)
    var random = RandomSource(seed: 4)
    var last: Int64 = 0
    let outcome = try Line(stream).play(pullTime: { number, nominal in
      if lateness == 10 { return nominal - Int64(number % 2) * 5_000_000 }
      // Late by more than a pull, the next one comes at once.
      last = max(last, nominal + Int64(random.unit() * Double(lateness) * 1_000_000))
      return last
    })
    let statistics = outcome.statistics
    // Who comes later than a pull lasts is known after one pull that lacked a packet.
    #expect(statistics.concealedSamples <= (lateness == 8 ? 240 : 0))
    #expect(statistics.removedSamplesForAcceleration < 480)
    #expect(statistics.insertedSamplesForDeceleration < 960)
    #expect(outcome.operations.dropFirst(400).allSatisfy { $0 == .normal })
  }

  /// Made up are 10 ms at a time, of which what came in the meantime needs only the first half.
  @Test(arguments: [(2, 240), (6, 480), (12, 720)])
  func `makes up no more than was late, to the pull`(lateness: Int, made: UInt64) throws {
    let stream = try Self.voice(seconds: 4)
    // The hundredth packet comes so much later than the pull in which it is wanted.
    let line = Line(
      stream,
      delay: { number, _ in
        number == 100 ? Int64(8 + lateness) * 1_000_000 : 0
      })
    let outcome = try line.play()
    #expect(outcome.statistics.concealedSamples == made)
    #expect(outcome.statistics.delayedPacketOutageSamples == made)
    #expect(outcome.statistics.concealmentEvents == 1)
    #expect(outcome.count(.merge) == 1 && outcome.count(.expand) == (made == 720 ? 2 : 1))
  }

  @Test(arguments: FrameLength.allCases)
  func `plays every frame length`(frameLength: FrameLength) throws {
    var settings = Self.settings
    settings.frameLength = frameLength
    let stream = try EncodedStream(TestSignal.voice(seconds: 4), settings: settings)
    let statistics = try Line(stream).play().statistics
    #expect(statistics.concealedSamples == 0)
    #expect(statistics.packetsLost == 0)
  }

  @Test func `follows a change of frame length and of channels`() throws {
    var settings = OpusEncoder.Settings(channels: 2, bitsPerSecond: 64_000)
    settings.complexity = 0
    settings.frameLength = .milliseconds60
    let mono = try Self.voice(seconds: 3)
    let tone = TestSignal.tone(hertz: 300, seconds: 3).flatMap { [$0, $0] }
    var line = Line(mono, start: 0)
    line.flights += Line(try EncodedStream(tone, settings: settings), start: 300).flights.map {
      var later = $0
      // A packet leaves when its last sample is there.
      later.arrival += 3_000_000_000 + 40_000_000
      return later
    }
    let outcome = try line.play(channels: 2)
    #expect(outcome.samples.count == outcome.operations.count * 480)
    #expect(outcome.statistics.packetsLost == 0)
    #expect(outcome.statistics.concealedFraction < 0.02)
  }
}
