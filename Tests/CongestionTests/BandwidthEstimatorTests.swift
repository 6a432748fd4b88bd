import Primitives
import Testing

@testable import Congestion

/// The estimator on a line that is one division: packets leave a queue at a rate.
@Suite struct BandwidthEstimatorTests {
  /// Sends at the estimate over a line of `capacity`, reports every 20 ms, and lets time pass.
  struct Line {
    var estimator: BandwidthEstimator
    var capacity: Double
    var now: UInt64 = 1_000_000_000
    private var free: UInt64 = 0
    private var number: UInt64 = 0
    private var sendAt: UInt64 = 1_000_000_000
    private var waiting: [(arrival: UInt64, PacketOutcome)] = []

    init(_ limits: EstimatorLimits = EstimatorLimits(), capacity: Double) {
      estimator = BandwidthEstimator(limits)
      self.capacity = capacity
    }

    mutating func run(milliseconds: UInt64) {
      let end = now + milliseconds * 1_000_000
      while now < end {
        now += 20_000_000
        while sendAt < now { send() }
        report()
      }
    }

    private mutating func send() {
      let byteCount = 1_172
      let start = max(free, sendAt + 25_000_000)
      free = start + UInt64(Double(byteCount + 28) * 8e9 / capacity)
      let packet = SentPacket(
        number: number, sent: Instant(nanoseconds: sendAt), byteCount: byteCount,
        elicitsFeedback: true, hasMessages: false)
      number += 1
      waiting.append(
        (
          free,
          PacketOutcome(
            packet: packet, fate: .acknowledged, arrivalTicks: Int64(free / 250_000) + 99,
            isCongestionExperienced: false)
        ))
      sendAt += UInt64(Double(byteCount + 28) * 8e9 / estimator.estimate)
    }

    private mutating func report() {
      var sample: UInt64?
      var count = 0
      for (arrival, outcome) in waiting where arrival + 25_000_000 <= now {
        estimator.handle(outcome)
        sample = now - outcome.packet.sent.nanoseconds
        count += 1
      }
      waiting.removeFirst(count)
      guard count > 0 else { return }
      estimator.finishReport(
        roundTrip: sample, bytesInFlight: waiting.count * 1_172, now: Instant(nanoseconds: now))
    }
  }

  @Test(arguments: [400_000.0, 2_000_000, 10_000_000])
  func `finds what a line carries, and keeps its queue short`(capacity: Double) {
    var line = Line(capacity: capacity)
    line.run(milliseconds: 8_000)
    #expect(line.estimator.estimate > 0.9 * capacity)
    #expect(line.estimator.estimate < 1.15 * capacity)
    #expect(line.estimator.standingDelay < 60_000)
  }

  @Test func `says when and why it goes down`() {
    var line = Line(capacity: 3_000_000)
    line.run(milliseconds: 5_000)
    line.capacity = 600_000
    line.run(milliseconds: 160)
    #expect(line.estimator.state == .draining)
    #expect(line.estimator.reason == .overload)
    #expect(line.estimator.estimate < 800_000)
    #expect(line.estimator.inFlightLimit < 12_000)
  }

  @Test func `begins where a test of the line ended`() {
    var limits = EstimatorLimits()
    limits.prior = 4_000_000
    let estimator = BandwidthEstimator(limits)
    #expect(estimator.estimate == 3_800_000)
    #expect(estimator.reason == .prior)
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

  @Test func `falls silent without reports, and speaks again`() {
    var line = Line(capacity: 2_000_000)
    line.run(milliseconds: 3_000)
    let before = line.estimator.estimate
    line.estimator.handleTimeout(
      bytesInFlight: 5_000, now: Instant(nanoseconds: line.now + 2_000_000_000))
    #expect(line.estimator.state == .silent)
    #expect(line.estimator.estimate == before)
    line.run(milliseconds: 40)
    #expect(line.estimator.state != .silent)
  }
}
