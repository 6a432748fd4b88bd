import Primitives
import Testing

@testable import Earshot

/// The two grades that a call publishes with its statistics.
@Suite struct CallGradeTests {
  private func grades(
    lostThere: Double, lostHere: Int, roundTrip: Double, jitter: Double
  ) -> (sent: Int, received: Int) {
    var numbers = CallStatistics(atMs: 10_000)
    numbers.sent.packetsSent = 500
    numbers.sent.fractionLost = lostThere
    numbers.received.packetsReceived = 500 - lostHere
    numbers.received.packetsLost = lostHere
    numbers.received.jitterMs = jitter
    numbers.rttMs = CallStatistics.Milliseconds(p50: roundTrip, p95: roundTrip * 2)
    numbers.grade()
    return (numbers.qualityTx, numbers.qualityRx)
  }

  @Test func `they are never better where the line is worse`() {
    var random = RandomSource(seed: 13)
    for _ in 0..<5_000 {
      let there = random.unit() * 0.3
      let here = Int(random.unit() * 150)
      let roundTrip = random.unit() * 900
      let jitter = random.unit() * 150
      let grade = grades(lostThere: there, lostHere: here, roundTrip: roundTrip, jitter: jitter)
      let worse = grades(
        lostThere: there + random.unit() * 0.1, lostHere: here + Int(random.unit() * 50),
        roundTrip: roundTrip + random.unit() * 300, jitter: jitter + random.unit() * 50)
      #expect(worse.sent >= grade.sent && worse.received >= grade.received)
      #expect((1...5).contains(grade.sent) && (1...5).contains(grade.received))
    }
  }

  @Test func `an outage that lasts is no excellent line`() {
    var numbers = CallStatistics(atMs: 20_000)
    numbers.received.packetsReceived = 300
    numbers.received.totalSamplesReceived = 20 * 48_000
    numbers.received.concealedSamples = 14 * 48_000
    numbers.grade()
    #expect(numbers.qualityRx == 5)
  }

  @Test func `without packets they are unknown`() {
    var numbers = CallStatistics(atMs: 10_000)
    numbers.grade()
    #expect(numbers.qualityTx == 0 && numbers.qualityRx == 0)
  }
}
