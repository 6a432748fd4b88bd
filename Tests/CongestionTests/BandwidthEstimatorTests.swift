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
}
