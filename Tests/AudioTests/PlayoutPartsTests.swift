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

struct StretchPolicyTests {
  @Test func `leaves a tolerable delay alone and brings a worse one all the way down`() {
    var policy = StretchPolicy()
    func direction(_ excess: Int64) -> TimeStretch.Direction? {
      policy.decide(excess: excess * 1_000_000, isPassive: true, pullsSinceLast: 10)?.direction
    }
    #expect(direction(30) == nil)
    #expect(direction(37) == .shorten)
    #expect(direction(30) == .shorten)
    #expect(direction(11) == .shorten)
    #expect(direction(9) == nil)
    #expect(direction(30) == nil)
    #expect(direction(-4) == .lengthen)
  }

  @Test func `asks more of a splice in speech`() {
    var policy = StretchPolicy()
    let mild = policy.decide(excess: 60_000_000, isPassive: false, pullsSinceLast: 10)
    #expect(mild?.leastCorrelation == 0.9)
    let urgent = policy.decide(excess: 200_000_000, isPassive: false, pullsSinceLast: 4)
    #expect(urgent?.leastCorrelation == 0.5)
    let tooSoon = policy.decide(excess: 60_000_000, isPassive: false, pullsSinceLast: 4)
    #expect(tooSoon == nil)
  }
}

struct DelayEstimatorTests {
  static let millisecond: Int64 = 1_000_000

  /// Feeds packets each 20 ms whose transits `transit` gives in milliseconds.
  static func estimate(seconds: Int, _ transit: (Int) -> Int64) -> DelayEstimator {
    var estimator = DelayEstimator(startDelay: 40 * millisecond)
    for number in 0..<(seconds * 50) {
      estimator.record(
        transit: transit(number) * millisecond, arrival: Int64(number) * 20 * millisecond)
    }
    return estimator
  }

  @Test func `starts at forty milliseconds and settles at fifteen`() {
    #expect(Self.estimate(seconds: 1) { _ in 7 }.targetDelay == 40 * Self.millisecond)
    #expect(Self.estimate(seconds: 4) { _ in 7 }.targetDelay == 15 * Self.millisecond)
  }

  @Test func `forgives one spell and remembers several`() {
    let once = Self.estimate(seconds: 10) { $0 == 300 ? 500 : 0 }
    #expect(once.targetDelay == 15 * Self.millisecond)
    let often = Self.estimate(seconds: 10) { $0 % 50 == 25 ? 80 : 0 }
    #expect(often.targetDelay == 95 * Self.millisecond)
  }

  @Test func `forgets a bad time within nine seconds`() {
    let estimate = Self.estimate(seconds: 20) { $0 < 540 ? Int64($0 % 5 * 20) : 0 }
    #expect(estimate.targetDelay == 15 * Self.millisecond)
  }

  @Test func `makes room for copies while loss lasts`() {
    var estimator = Self.estimate(seconds: 10) { _ in 0 }
    let now: Int64 = 10_000 * Self.millisecond
    estimator.expectCopies(distance: 20 * Self.millisecond, arrival: now)
    estimator.record(transit: 0, arrival: now)
    #expect(estimator.targetDelay == 35 * Self.millisecond)
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
      _ = try queue.append(decoding: entry, of: packets, with: &decoder, through: &fader)
      packets.removeFirst()
      if number < 17 {
        var span = drain.mutableSpan
        queue.take(frames: 960, into: &span)
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
    queue.take(frames: queue.count, into: &span)
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
