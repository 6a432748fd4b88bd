import Primitives
import Testing

@testable import Congestion

/// What holds whatever the line does; how well it works there `CongestionLabTests` sees.
@Suite struct BandwidthEstimatorTests {
  @Test func `begins where a test of the line ended`() {
    var limits = EstimatorLimits()
    limits.prior = 4_000_000
    let estimator = BandwidthEstimator(limits)
    #expect(estimator.estimate == 3_800_000)
    #expect(estimator.reason == .prior)
  }

  @Test func `other constants can be handed in`() {
    var limits = EstimatorLimits()
    var tuning = EstimatorTuning()
    tuning.pacing.usual = 1.5
    limits.tuning = tuning
    let estimator = BandwidthEstimator(limits)
    #expect(estimator.pacingRate == 1.5 * estimator.estimate)
  }

  @Test func `keeps its limits whatever is reported`() {
    var random = RandomSource(seed: 3)
    var limits = EstimatorLimits()
    limits.least = 20_000
    limits.most = 5_000_000
    var estimator = BandwidthEstimator(limits)
    var now: UInt64 = 1_000_000_000
    for number in 0..<20_000 as Range<UInt64> {
      let fates: [PacketOutcome.Fate] = [.acknowledged, .acknowledged, .lost, .acknowledgedLate]
      estimator.handle(
        PacketOutcome(
          packet: SentPacket(
            number: number, sent: Instant(nanoseconds: now - random.next() % 900_000_000),
            byteCount: Int(random.next() % 1_200), elicitsFeedback: true, hasMessages: false),
          fate: fates[Int(random.next() % 4)],
          arrivalTicks: Int64(bitPattern: random.next()) >> Int64(random.next() % 60),
          isCongestionExperienced: random.next() % 5 == 0))
      now += random.next() % 30_000_000
      guard number % 3 == 0 else { continue }
      estimator.finishReport(
        roundTrip: random.next() % 4 == 0 ? nil : random.next() % 3_000_000_000,
        bytesInFlight: Int(random.next() % 100_000), now: Instant(nanoseconds: now))
      #expect(estimator.estimate >= 20_000 && estimator.estimate <= 5_000_000)
      #expect(estimator.inFlightLimit > 0 && estimator.pacingRate.isFinite)
    }
  }

  @Test func `frames leave hardly faster than they are made where padding fills`() {
    var estimator = BandwidthEstimator()
    for (state, isFilled, gain) in [
      (.starting, true, 1.1), (.holding, true, 1.04), (.growing, true, 1.04),
      (.holding, false, 1.1), (.draining, true, 1),
    ] as [(BandwidthEstimator.State, Bool, Double)] {
      estimator.state = state
      estimator.isFilled = isFilled
      #expect(abs(estimator.pacingRate / estimator.estimate - gain) < 1e-9)
    }
  }

  @Test func `a search for a share ends with a queue that nobody would have`() {
    var estimator = BandwidthEstimator()
    let now = Instant(nanoseconds: 10_000_000_000)
    estimator.path.delivery.acknowledged = 1e6
    estimator.path.queue.standing = 1_000_000
    estimator.drain.mostDelay = 1_500_000
    estimator.beginCompetition(now: now)
    for (delay, state) in [(2_400_000, .competing), (2_600_000, .holding)]
      as [(Double, BandwidthEstimator.State)]
    {
      estimator.path.queue.standing = delay
      estimator.compete(elapsed: 50_000, now: now + .milliseconds(50))
      #expect(estimator.state == state)
    }
  }

  /// Behind one long packet everything waits for a tenth of a second: no sign of somebody else, for
  /// whom more would be sent until the queue, which here has no end, is seconds long.
  @Test(arguments: [70e3, 85e3, 100e3, 130e3, 200e3]) func `long packets are no rival`(
    rate: Double
  ) {
    var line = LongPacketLine(rate: rate)
    var longest: UInt64 = 0
    for _ in 0..<120_000 { longest = max(longest, line.step()) }
    #expect(longest < 500_000_000, "\(longest / 1_000_000) ms in the queue")
    #expect(line.estimator.estimate > rate * 0.6)
  }

  @Test func `where gaps are not filled, a pause does not bound what may be under way`() {
    let limits = [false, true].map { hasGaps in
      var line = LongPacketLine(rate: 4_000_000, hasGaps: hasGaps)
      for _ in 0..<2_000 { _ = line.step() }
      line.isBusy = false
      for _ in 0..<3_000 { _ = line.step() }
      return line.estimator.inFlightLimit
    }
    // Four packets, and 80 ms of the estimate.
    #expect(limits[0] < 5_000 && limits[1] > 40_000, "\(limits)")
  }

  @Test func `where little of the estimate is sent, no policer is looked for`() {
    let isLookedFor = [true, false].map { isBusy in
      var line = LongPacketLine(rate: 4_000_000, hasGaps: true)
      line.isBusy = isBusy
      line.lostEach = 5
      var isSeen = false
      for _ in 0..<10_000 {
        _ = line.step()
        if line.estimator.reason == .policer { isSeen = true }
      }
      return isSeen
    }
    #expect(isLookedFor == [true, false])
  }
}

/// Audio every 20 ms and packets of 1200 bytes whenever the gate lets one go, over a line that
/// loses nothing, or each few packets one.
private struct LongPacketLine {
  let rate: Double
  var estimator: BandwidthEstimator
  private var gate: PacingGate
  private var now: UInt64 = 1_000_000_000
  private var free: UInt64 = 0
  private var number: UInt64 = 0
  private var inFlight = 0
  private var underWay: [(packet: SentPacket, arrival: UInt64)] = []

  /// Whether long packets are sent beside the audio.
  var isBusy = true
  /// Of so many packets one is lost; 0 = none is.
  var lostEach: UInt64 = 0

  init(rate: Double, hasGaps: Bool = false) {
    self.rate = rate
    var limits = EstimatorLimits()
    limits.prior = rate
    limits.hasGaps = hasGaps
    estimator = BandwidthEstimator(limits)
    estimator.unpacedRate = 60_000
    gate = PacingGate(rate: rate)
  }

  /// A millisecond; returns what the queue takes to leave.
  mutating func step() -> UInt64 {
    now += 1_000_000
    let moment = Instant(nanoseconds: now)
    gate.rate = estimator.pacingRate
    gate.inFlightLimit = estimator.inFlightLimit
    if now % 20_000_000 == 0 { send(136, moment) }
    while isBusy, underWay.count < 4_000, gate.admits(.video, bytesInFlight: inFlight, now: moment)
    {
      send(1_200, moment)
    }
    if now % 50_000_000 == 0 { report(moment) }
    return free > now ? free - now : 0
  }

  private mutating func send(_ byteCount: Int, _ moment: Instant) {
    gate.noteSent(byteCount: byteCount + 28, now: moment)
    free = max(free, now) + UInt64(Double(byteCount + 28) * 8e9 / rate)
    let packet = SentPacket(
      number: number, sent: moment, byteCount: byteCount, elicitsFeedback: true, hasMessages: false)
    underWay.append((packet, free + 25_000_000))
    inFlight += byteCount
    number += 1
  }

  /// What arrived until half a round trip ago.
  private mutating func report(_ moment: Instant) {
    let reported = now - 25_000_000
    var sample: UInt64?
    while let (packet, arrival) = underWay.first, arrival <= reported {
      underWay.removeFirst()
      inFlight -= packet.byteCount
      let isLost = lostEach > 0 && packet.number % lostEach == 0
      sample = arrival + 25_000_000 - packet.sent.nanoseconds
      estimator.handle(
        PacketOutcome(
          packet: packet, fate: isLost ? .lost : .acknowledged,
          arrivalTicks: Int64(arrival / 250_000), isCongestionExperienced: false))
    }
    estimator.finishReport(roundTrip: sample, bytesInFlight: inFlight, now: moment)
  }
}
