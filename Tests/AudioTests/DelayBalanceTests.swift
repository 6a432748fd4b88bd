import Testing

@testable import Audio

@Suite struct DelayBalanceTests {
  /// 200 ms of comfort noise.
  private static func pause() -> SampleQueue {
    var noise = ComfortNoise(channels: 1)
    var queue = SampleQueue(channels: 1)
    queue.append(noiseFrames: 9600, from: &noise)
    return queue
  }

  /// 150 ms more delay than the 20 ms wanted, in a pause.
  private static var measures: DelayBalance.Measures {
    DelayBalance.Measures(
      excess: 150_000_000, gainByOne: 0, target: 20_000_000, leftover: 8640, decoded: 960,
      isPassive: true, pauseThreshold: 1000, isMerge: false, isInsuring: false,
      isStallNear: false)
  }

  @Test func `gives surplus delay back by a cut in a pause`() {
    var queue = Self.pause()
    var balance = DelayBalance()
    var statistics = PlayoutStatistics()
    #expect(balance.adjust(&queue, Self.measures, &statistics) == .accelerate)
    let cut = 9600 - queue.count
    #expect(cut >= 4800 && statistics.removedSamplesForAcceleration == UInt64(cut))
    #expect(balance.passiveRun == 960)
  }

  @Test func `keeps the delay for a stall that is near`() {
    var queue = Self.pause()
    var balance = DelayBalance()
    var statistics = PlayoutStatistics()
    var measures = Self.measures
    measures.isInsuring = true
    measures.isStallNear = true
    #expect(balance.adjust(&queue, measures, &statistics) == nil)
    #expect(queue.count == 9600 && balance.surplus == 0)
  }

  /// The codec makes up 10 ms, two pulls; what is not played is taken back.
  @Test func `counts what was made up when it is heard`() {
    var concealment = ConcealmentProgress()
    var statistics = PlayoutStatistics()
    concealment.add(480, &statistics)
    concealment.countPlayed(unplayed: 240, &statistics)
    #expect(statistics.concealedSamples == 240)
    concealment.takeBack(240)
    concealment.end(&statistics)
    #expect(statistics.concealedSamples == 240 && concealment.sampleCount == 0)
    for _ in 0..<15 { concealment.add(480, &statistics) }
    #expect(statistics.interruptionCount == 1 && statistics.totalInterruptionSamples == 7200)
    concealment.end(&statistics)
    #expect(statistics.concealedSamples == 7440)
  }

  /// A relay leaves a host out, and says so 40 ms later; then the delay of 60 ms is waited for.
  @Test func `what is made up where nothing was sent does not count`() {
    var concealment = ConcealmentProgress()
    var statistics = PlayoutStatistics()
    concealment.patience = 4800
    func makeUp(_ steps: Int) {
      for step in 0..<steps {
        if step == 0 { concealment.begin(&statistics) }
        concealment.add(480, &statistics)
        concealment.countPlayed(unplayed: 0, &statistics)
      }
    }
    makeUp(4)
    for _ in 0..<100 { concealment.pause() }
    makeUp(6)
    concealment.end(&statistics)
    #expect(statistics.concealedSamples == 0 && statistics.concealmentEvents == 0)
    // What is missing without a pause counts, as soon as it ends or has lasted long enough.
    makeUp(4)
    #expect(statistics.concealedSamples == 0)
    concealment.end(&statistics)
    #expect(statistics.concealedSamples == 4 * 480 && statistics.concealmentEvents == 1)
    makeUp(11)
    #expect(statistics.concealedSamples == 15 * 480 && statistics.concealmentEvents == 2)
    concealment.pause()
    makeUp(1)
    concealment.end(&statistics)
    #expect(statistics.concealedSamples == 15 * 480 && statistics.concealmentEvents == 2)
    // Of a pause that does not end 400 ms are excused.
    concealment.pause()
    makeUp(60)
    concealment.end(&statistics)
    #expect(statistics.concealedSamples == 35 * 480 && statistics.concealmentEvents == 3)
    #expect(statistics.interruptionCount == 1)
  }

  /// A frame that comes in its own packet, a copy of it, and one after a gap.
  @Test func `tells the first version of a frame, and what is lost`() throws {
    var arrivals = ArrivalAnalysis()
    var statistics = PlayoutStatistics()
    let bytes: [UInt8] = [0x78, 1, 2, 3]
    let parsed = OpusPacket(bytes.span)
    let packet = try #require(parsed)
    func arrival(_ step: Int64, _ origin: PacketOrigin) -> ArrivalAnalysis.Arrival {
      ArrivalAnalysis.Arrival(
        packet: packet, timestamp: step * 480, time: step * 10_000_000, origin: origin,
        isMarked: false)
    }
    #expect(arrivals.record(arrival(0, .primary), behind: nil, &statistics))
    let copy = PacketOrigin.copy(steps: 2, isLowRate: false)
    #expect(!arrivals.record(arrival(0, copy), behind: nil, &statistics))
    for step in stride(from: Int64(4), through: 20, by: 2) {
      #expect(arrivals.record(arrival(step, .primary), behind: nil, &statistics))
    }
    #expect(arrivals.report(frame: 960).framesLost == 1)
    #expect(arrivals.countLate() == false && arrivals.countLate() == false && arrivals.countLate())
  }
}
