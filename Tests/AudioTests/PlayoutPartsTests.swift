import Primitives
import Testing

@testable import Audio

struct PlayoutDecisionTests {
  static func situation(_ change: (inout PlayoutSituation) -> Void) -> PlayoutDecision {
    var situation = PlayoutSituation()
    situation.packetSampleCount = 960
    change(&situation)
    return PlayoutDecision(situation)
  }

  @Test func `decodes the packet wanted`() {
    #expect(Self.situation { $0.gap = 0 } == .decode)
  }

  @Test func `conceals while nothing is there, until silence has come`() {
    #expect(Self.situation { $0.gap = nil } == .conceal)
    #expect(Self.situation { $0.isMuted = true } == .staySilent)
  }

  @Test func `restores the one packet before a copy`() {
    let restores = Self.situation {
      $0.gap = 960
      $0.carriesForwardErrorCorrection = true
    }
    #expect(restores == .recover(sampleCount: 960))
    #expect(Self.situation { $0.gap = 960 } == .conceal)
  }

  @Test func `conceals up to where the copy begins`() {
    let twoLost = Self.situation {
      $0.gap = 1920
      $0.carriesForwardErrorCorrection = true
    }
    #expect(twoLost == .conceal)
    let oneLeft = Self.situation {
      $0.gap = 1920
      $0.concealed = 960
      $0.carriesForwardErrorCorrection = true
    }
    #expect(oneLeft == .recover(sampleCount: 960))
  }

  @Test(arguments: [(-11_000_000, true), (-9_000_000, false)] as [(Int64, Bool)])
  func `repeats half a frame only when early`(excess: Int64, restores: Bool) {
    let decision = Self.situation {
      $0.gap = 960
      $0.concealed = 480
      $0.excess = excess
      $0.carriesForwardErrorCorrection = true
    }
    #expect(decision == (restores ? .recover(sampleCount: 960) : .conceal))
  }

  @Test(
    arguments: [(0, .decode), (480, .conceal), (3360, .conceal), (3840, .decode)]
      as [(Int, PlayoutDecision)])
  func `what is made up lasts until there is the delay that copies need`(
    concealed: Int, decision: PlayoutDecision
  ) {
    let found = Self.situation {
      $0.concealed = concealed
      $0.gap = 0
      $0.isShortOfRepair = true
    }
    #expect(found == decision)
    let enough = Self.situation {
      $0.concealed = concealed
      $0.gap = 0
    }
    #expect(enough == .decode)
  }

  @Test func `builds the delay up before silence ends`() {
    let early = Self.situation {
      $0.isMuted = true
      $0.gap = 0
      $0.excess = -1
    }
    #expect(early == .staySilent)
    let plenty = Self.situation {
      $0.isMuted = true
      $0.gap = 0
      $0.excess = -1
      $0.bufferedSpan = 20_000
    }
    #expect(plenty == .decode)
  }
}

struct DelayEstimatorTests {
  static let millisecond: Int64 = 1_000_000

  /// Feeds packets each 20 ms whose transits `transit` gives in milliseconds.
  static func estimate(seconds: Int, _ transit: (Int) -> Int64) -> DelayEstimator {
    var estimator = DelayEstimator()
    for number in 0..<(seconds * 50) {
      estimator.record(
        transit: transit(number) * millisecond, arrival: Int64(number) * 20 * millisecond,
        delayInside: 0, isPrimary: true, frame: 20 * millisecond)
    }
    return estimator
  }

  @Test func `asks for nothing where packets keep time`() {
    #expect(Self.estimate(seconds: 1) { _ in 7 }.targetDelay == 0)
    #expect(Self.estimate(seconds: 4) { _ in 7 }.targetTransit == 7 * Self.millisecond)
  }

  @Test func `forgives one spell and remembers several`() {
    let once = Self.estimate(seconds: 10) { (300..<325).contains($0) ? Int64(325 - $0) * 20 : 0 }
    #expect(once.targetDelay == 0)
    let often = Self.estimate(seconds: 10) { $0 % 50 == 25 ? 80 : 0 }
    #expect(often.targetDelay == 80 * Self.millisecond)
  }

  @Test func `holds still where delays are exponential`() {
    let seed: UInt64 = 31
    let delays = Chance.exponential(percentile95: 50_000_000, seed: seed, count: 6000)
    var estimator = DelayEstimator()
    var targets: [Int64] = []
    for number in delays.indices {
      estimator.record(
        transit: delays[number], arrival: Int64(number) * 20 * Self.millisecond + delays[number],
        delayInside: 0, isPrimary: true, frame: 20 * Self.millisecond)
      if number >= 1000 { targets.append(estimator.targetDelay / Self.millisecond) }
    }
    // One in 92 is later than 4.5 times the mean: 75 ms, and a third more behind others in line.
    let mean = targets.reduce(0, +) / Int64(targets.count)
    #expect((85...105).contains(mean), "EARSHOT_SEED=\(seed): \(mean)")
    #expect(targets.allSatisfy { (65...140).contains($0) }, "EARSHOT_SEED=\(seed)")
  }

  @Test func `forgets a bad time within two seconds`() {
    let bad = Self.estimate(seconds: 20) { Int64($0 % 5 * 20) }
    #expect(bad.targetDelay >= 80 * Self.millisecond)
    let over = Self.estimate(seconds: 22) { $0 < 1000 ? Int64($0 % 5 * 20) : 0 }
    #expect(over.targetDelay == 0)
  }

  @Test func `follows a path that becomes longer without asking for more`() {
    let estimate = Self.estimate(seconds: 20) { $0 < 500 ? 20 : 90 }
    #expect(estimate.targetTransit == 90 * Self.millisecond)
    #expect(estimate.targetDelay == 0)
  }

  @Test func `makes room for copies while frames are lost`() {
    var estimator = DelayEstimator()
    for number in 0..<500 {
      let isLost = number % 10 == 5
      estimator.record(
        transit: isLost ? 40 * Self.millisecond : 0,
        arrival: Int64(number) * 20 * Self.millisecond, delayInside: 0, isPrimary: !isLost,
        frame: 20 * Self.millisecond)
    }
    #expect(estimator.targetDelay == 40 * Self.millisecond)
    estimator.repairDelay = 60 * Self.millisecond
    estimator.record(
      transit: 0, arrival: 10_000 * Self.millisecond, delayInside: 0, isPrimary: true,
      frame: 20 * Self.millisecond)
    #expect(estimator.targetDelay == 60 * Self.millisecond)
  }
}

struct LatenessTests {
  @Test func `finds the least transit of the last seconds`() {
    var floor = TransitFloor()
    for number in 0..<500 {
      floor.record(transit: number < 100 ? 5 : 9, arrival: Int64(number) * 20_000_000)
    }
    #expect(floor.value == 9)
    floor.record(transit: 3, arrival: 10_000_000_000)
    #expect(floor.value == 3)
  }

  @Test func `weighs delay against what comes too late`() {
    var history = LatenessHistory()
    for number in 0..<1000 { history.record(number % 100 == 0 ? 30 : 0, limit: 1000) }
    // One in a hundred is 60 ms late: worth it.
    #expect(history.sufficientDelay(frameSteps: 10) == 30)
    #expect(history.quantile(0.95) == 0)
    history.forget(above: 4)
    #expect(history.highest == 4)
    for _ in 0..<1000 { history.record(0, limit: 1000) }
    #expect(history.highest == 0 && history.count == 1000)
  }

  @Test func `trusts a path again when it was calm for long enough`() {
    var spells = LatenessSpells()
    for number in 0..<50 { spells.record(lateness: 60_000_000, time: Int64(number) * 100_000_000) }
    #expect(spells.takeExpired(time: 6_000_000_000) == nil)
    #expect(spells.takeExpired(time: 6_500_000_000) == 0)
    #expect(spells.takeExpired(time: 7_000_000_000) == nil)
  }
}

struct FrameLedgerTests {
  /// - Returns: the ledger after 200 frames of 20 ms of which `isLost` were lost, each with a copy
  ///   two frames later.
  static func ledger(_ isLost: (Int) -> Bool) -> FrameLedger {
    var ledger = FrameLedger()
    for number in 0..<200 where !isLost(number) {
      for (frame, isPrimary) in [(number, true), (number - 2, false)] where frame >= 0 {
        let isFirst = ledger.recordArrival(
          step: Int64(frame * 2), frameSteps: 2, isPrimary: isPrimary, isMarked: false,
          arrival: Int64(number) * 20_000_000)
        #expect(isFirst == (isPrimary || isLost(frame)))
      }
    }
    return ledger
  }

  @Test func `counts what is lost before repair, and in what runs`() {
    let single = Self.ledger { $0 % 10 == 5 }
    #expect(single.framesLost == 19 || single.framesLost == 20)
    #expect(single.lossBursts == single.framesLost && single.longestBurst == 1)
    #expect((195...200).contains(single.framesExpected))
    let burst = Self.ledger { (100..<103).contains($0) }
    #expect(burst.framesLost == 3 && burst.lossBursts == 1 && burst.longestBurst == 3)
  }

  @Test func `takes a late primary back from the lost, and no pause for a loss`() {
    var ledger = FrameLedger()
    func note(_ step: Int64, marked: Bool = false) {
      _ = ledger.recordArrival(
        step: step, frameSteps: 2, isPrimary: true, isMarked: marked, arrival: step * 10_000_000)
    }
    for step in stride(from: Int64(0), to: 40, by: 2) where step != 10 { note(step) }
    #expect(ledger.framesLost == 1)
    note(10)
    #expect(ledger.framesLost == 0)
    note(100, marked: true)
    for step in stride(from: Int64(102), to: 140, by: 2) { note(step) }
    #expect(ledger.framesLost == 0)
  }
}

struct PlayoutClockTests {
  @Test func `keeps even time for pulls in pairs, and knows how early one comes`() {
    var clock = PlayoutClock()
    for tick in 0..<500 {
      clock.tick(now: Int64(tick) * 10_000_000)
      clock.tick(now: Int64(tick) * 10_000_000)
    }
    // The last pull of 1000 would be at 4.995 s if they were even; both came at 4.99 s.
    #expect(abs(clock.time - 4_992_500_000) < 250_000)
    #expect(abs(clock.mostEarliness - 2_500_000) < 250_000)
    #expect(abs(clock.earliness(ahead: 0) - 2_500_000) < 250_000)
    #expect(abs(clock.earliness(ahead: 1) + 2_500_000) < 250_000)
  }

  @Test func `the first pulls, whose even time was not known yet, are not early for long`() {
    var clock = PlayoutClock()
    for tick in 0..<25 {
      clock.tick(now: Int64(tick) * 10_000_000)
      clock.tick(now: Int64(tick) * 10_000_000)
    }
    // Half a second on, the earliest time of either pull is when it comes.
    #expect(abs(clock.earliness(ahead: 0) &- clock.earliness(ahead: 1) - 5_000_000) < 1_250_000)
    #expect(clock.mostEarliness < 3_750_000)
  }
}

struct ComfortNoiseTests {
  @Test func `keeps the level of the pauses it has heard`() {
    var noise = ComfortNoise(channels: 1)
    var random = RandomSource(seed: 3)
    func heard() -> Double {
      var sum = 0.0
      for _ in 0..<48_000 {
        noise.advance()
        sum += Double(noise.value(channel: 0)) * Double(noise.value(channel: 0))
      }
      return (sum / 48_000).squareRoot()
    }
    #expect(heard() > 0.5 && heard() < 4)
    for _ in 0..<2880 { noise.learn(Int16(truncatingIfNeeded: random.next() % 401) - 200, 0) }
    // Even in ±200: 115.5; the fades take at most one decibel.
    let level = heard()
    #expect(level > 100 && level < 125, "\(level)")
  }
}

struct PauseTests {
  @Test func `finds the longest quiet stretch that waits`() throws {
    let queue = try TimeStretchTests.queue(hertz: 200)
    #expect(Pause.longest(in: queue, threshold: 1) == nil)
    let all = Pause.longest(in: queue, threshold: 1e9)
    #expect(all == Pause(start: 0, count: queue.count))
  }
}

struct MediaTimelineTests {
  @Test func `unwraps through many rounds`() {
    var timeline = MediaTimeline()
    for number in 0..<200_000 {
      let placement = timeline.place(
        UInt16(truncatingIfNeeded: number * 2), arrival: Int64(number) * 20_000_000)
      let expected = Int64(number) * 960
      #expect(placement == (number == 0 ? .restart(0) : .place(expected)))
      if placement != .place(expected), number > 0 { break }
    }
  }

  @Test func `expects a pause to last as long in both times`() {
    var timeline = MediaTimeline()
    _ = timeline.place(100, arrival: 0)
    // Ten minutes and one second later: 60 100 steps.
    let later = timeline.place(100 &+ 60_100, arrival: 601_000_000_000)
    #expect(later == .place((100 + 60_100) * 480))
  }
}

struct TimeStretchTests {
  /// A queue that holds 60 ms of a tone and has heard as much before.
  static func queue(hertz: Double) throws -> SampleQueue {
    var queue = SampleQueue(channels: 1)
    var encoder = try OpusEncoder()
    var decoder = try OpusDecoder(channels: 1)
    var packets = PacketBuffer()
    var fader = Fader()
    var noise = ComfortNoise(channels: 1)
    let tone = TestSignal.tone(hertz: hertz, seconds: 0.4)
    var drain = [Int16](repeating: 0, count: 960)
    for number in 0..<20 {
      let payload = try encoder.packet(
        tone.span.extracting((number * 960)..<(number * 960 + 960)))
      let read = OpusPacket(payload.span)
      _ = packets.insert(
        payload.span, try #require(read), timestamp: Int64(number), arrival: 0)
      let first = packets.first
      let entry = try #require(first)
      _ = try queue.append(
        decoding: entry, of: packets, with: &decoder, through: &fader,
        noise: &noise)
      packets.removeFirst()
      if number < 17 {
        var span = drain.mutableSpan
        queue.dequeue(frames: 960, into: &span)
      }
    }
    return queue
  }

  @Test(arguments: [TimeStretch.Direction.shorten, .lengthen])
  func `jumps by whole periods without a click`(direction: TimeStretch.Direction) throws {
    var queue = try Self.queue(hertz: 200)
    let found = TimeStretch.bestSplice(in: queue, direction, longest: TimeStretch.longest)
    let splice = try #require(found)
    #expect(splice.correlation > 0.98)
    // 200 Hz are 240 samples.
    #expect(abs(splice.jump) % 240 < 6 || abs(splice.jump) % 240 > 234)
    #expect((splice.jump > 0) == (direction == .shorten))
    let before = queue.count
    queue.splice(jump: splice.jump, overlap: splice.overlap)
    #expect(queue.count == before - splice.jump)
    var output = [Int16](repeating: 0, count: queue.count)
    var span = output.mutableSpan
    queue.dequeue(frames: queue.count, into: &span)
    for (left, right) in zip(output, output.dropFirst()) {
      #expect(abs(Int(left) - Int(right)) < 350)
    }
  }
}

struct PacketBufferTests {
  @Test func `keeps packets in order of their time`() throws {
    var encoder = try OpusEncoder()
    let payload = try encoder.packet(TestSignal.tone(hertz: 300, seconds: 0.02).span)
    let read = OpusPacket(payload.span)
    let packet = try #require(read)
    var buffer = PacketBuffer()
    var insertions: [PacketBuffer.Insertion] = []
    for time in [3, 1, 2, 2, 0] as [Int64] {
      insertions.append(
        buffer.insert(payload.span, packet, timestamp: time * 960, arrival: 0))
    }
    #expect(insertions == [.stored, .stored, .stored, .duplicate, .stored])
    var order: [Int64] = []
    while let first = buffer.first {
      order.append(first.timestamp / 960)
      let bytes = Self.bytes(of: first, in: buffer)
      #expect(bytes == payload)
      buffer.removeFirst()
    }
    #expect(order == [0, 1, 2, 3])
  }

  static func bytes(
    of entry: PacketBuffer.Entry, in buffer: borrowing PacketBuffer
  ) -> [UInt8] {
    let payload = buffer.payload(of: entry)
    return payload.indices.map { payload[$0] }
  }
}
