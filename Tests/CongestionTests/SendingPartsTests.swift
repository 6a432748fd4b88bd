import Primitives
import Testing

@testable import Congestion

/// What the estimate becomes on the way out, and the responses to marks and policers.
@Suite struct SendingPartsTests {
  private let begin = Instant(nanoseconds: 5_000_000_000)

  @Test func `bytes in flight are a rate times a time`() {
    let flight = FlightLimit()
    var path = PathMeasurement()
    path.roundTrip.add(50_000, now: begin)
    path.queue.standing = 30_000
    #expect(abs(flight.draining(path, capacity: 1e6) - 1e6 * 0.0625 * 0.9) < 1e-6)
    #expect(abs(flight.competing(path, estimate: 1e6) - 1e6 * 0.110) < 1e-6)
    let usual = flight.usual(path, rate: 1e6, target: 10_000, variability: 0)
    #expect(abs(usual - 1e6 * 0.08625) < 1e-6)
    let variable = flight.usual(path, rate: 1e6, target: 10_000, variability: 1)
    #expect(abs(variable - 1e6 * 0.0775) < 1e-6)
    #expect(flight.rate(1e6, delivered: 0, step: 20_000) == 1e6)
    #expect(abs(flight.rate(1e6, delivered: 5e5, step: 20_000) - 505_000) < 1e-6)
    #expect(flight.byteCount(bits: 8_000, estimate: 1e6, isDraining: false) == 3_400)
    #expect(flight.byteCount(bits: 8_000, estimate: 4e5, isDraining: true) == 2_200)
    #expect(flight.byteCount(bits: 8_000, estimate: 1e5, isDraining: true) == 1_600)
  }

  @Test func `bulk has under way what leaves until the next report, however late it comes`() {
    var path = PathMeasurement()
    path.roundTrip.add(50_000, now: begin)
    #expect(abs(FlightLimit().bulk(path, rate: 1e6, target: 10_000) - 85_000) < 1e-6)
    var delay = ReportDelay()
    delay.standing = 10_000
    for index in 0..<400 as Range<Int64> {
      // Sent each 30 ms, and each report 100 ms after its newest packet left.
      let sent = 1_000_000 + index * 30_000
      let now = Instant(nanoseconds: UInt64(sent + 100_000) * 1_000)
      delay.handleReport(sent: sent, roundTrip: 50_000, now: now)
    }
    // 130 ms until the next one, without the round trip and the queue.
    #expect(abs(delay.value - 70_000) < 100)
    path.reportDelay = delay
    #expect(abs(FlightLimit().bulk(path, rate: 1e6, target: 10_000) - 130_000) < 200)
    // A pause is no jitter.
    delay.handleReport(sent: 0, roundTrip: 50_000, now: begin + .seconds(100))
    #expect(delay.value < 73_000)
    let target = TargetDelay()
    #expect(target.bulk(scatter: 900) == 0 && target.bulk(scatter: 4_000) == 6_000)
    #expect(target.bulk(scatter: 50_000) == 20_000)
  }

  @Test func `on a variable line no more is under way than leaves at the usual rate`() {
    var path = PathMeasurement()
    path.roundTrip.add(50_000, now: begin)
    for index in 0..<80 as Range<Int64> {
      path.arrivals.add(
        ArrivedPacket(sent: index * 4_000, arrival: index * 4_000, byteCount: 1_000))
    }
    path.delivery.measure(path.arrivals, loss: 0, elapsed: 2_000_000)
    let bits = FlightLimit().usual(path, rate: 9e6, target: 10_000, variability: 0.5)
    #expect(abs(bits - 2e6 * 0.165 / 0.5) < 1e-6)
  }

  @Test func `frames leave faster than they come, and faster where the capacity changes`() {
    let pacing = PacingGain()
    for (isFilled, isStarting, variability, gain) in [
      (false, false, 0, 1.1), (true, false, 0, 1.04), (true, true, 0, 1.1),
      (false, false, 1, 2.6), (true, false, 0.3, 1.04), (true, false, 1, 2.54),
    ] as [(Bool, Bool, Double, Double)] {
      let found = pacing.value(
        isFilled: isFilled, isStarting: isStarting, variability: variability)
      #expect(abs(found - gain) < 1e-12)
    }
  }

  @Test func `unpaced traffic dominates, or is all there is`() {
    let unpaced = UnpacedTraffic()
    var path = PathMeasurement()
    path.delivery.acknowledged = 1e5
    #expect(!unpaced.isDominant(6.5e4, path.delivery) && unpaced.isDominant(6.6e4, path.delivery))
    path.queue.standing = 30_000
    #expect(!unpaced.isOverload(8.5e4, path, target: 10_000))
    #expect(unpaced.isOverload(8.6e4, path, target: 10_000))
    #expect(!unpaced.isOverload(8.6e4, path, target: 12_000))
  }

  // MARK: ECN

  @Test func `marks are weighed and forgotten`() {
    var ecn = ECNResponse()
    func report(_ isMarked: Bool, _ milliseconds: Int) {
      ecn.appendArrival(isMarked: isMarked)
      ecn.handleReport(elapsed: 50_000, cycle: 50_000, now: begin + .milliseconds(milliseconds))
    }
    report(false, 0)
    #expect(!ecn.isActive && ecn.share == 0)
    report(true, 50)
    #expect(ecn.isActive && ecn.isMarked && ecn.latest == 1 && abs(ecn.share - 0.06) < 1e-12)
    report(false, 100)
    #expect(ecn.isActive && !ecn.isMarked && abs(ecn.share - 0.0564) < 1e-12)
    ecn.handleReport(elapsed: 50_000, cycle: 50_000, now: begin + .milliseconds(10_049))
    #expect(ecn.isActive)
    ecn.handleReport(elapsed: 50_000, cycle: 50_000, now: begin + .milliseconds(10_050))
    #expect(!ecn.isActive)
  }

  @Test func `the cut follows the marked share and has a floor`() {
    var ecn = ECNResponse()
    for index in 0..<10 { ecn.appendArrival(isMarked: index == 0) }
    ecn.handleReport(elapsed: 50_000, cycle: 50_000, now: begin)
    #expect(abs(ecn.reduced(1e6, capacity: 1e6, elapsed: 1) - 0.96e6) < 1)
    #expect(abs(ecn.reduced(1e6, capacity: 1e6, elapsed: 0.5) - 0.98e6) < 1)
    ecn.appendArrival(isMarked: true)
    ecn.handleReport(elapsed: 50_000, cycle: 50_000, now: begin)
    #expect(abs(ecn.reduced(1e6, capacity: 1e6, elapsed: 1) - 0.88e6) < 1)
    #expect(ecn.capacity(1e6, acknowledged: 8e5, elapsed: 0.5) == 9e5)
    #expect(ecn.velocity(ratio: 1) == 0.01 && ecn.velocity(ratio: 0.5) > 0.01)
  }

  // MARK: Policers

  @Test func `a trial tells a policer from a line that loses`() {
    for isPolicer in [true, false] {
      var policer = PolicerDetector()
      var losses = LossAccount()
      var now = Instant(nanoseconds: 1_000_000_000)
      var most: Double?
      var sawTrial = false
      for round in 0..<400 as Range<UInt64> {
        now = now + .milliseconds(20)
        for index in 0..<10 as Range<UInt64> {
          if index < 2, !isPolicer || policer.trialRate == nil {
            losses.addLost(round * 10 + index)
          } else {
            losses.addArrived()
          }
        }
        losses.finishReport(isQueued: false)
        most = policer.handleReport(
          losses, estimate: 2e6, delivered: 1e6, cycle: 50_000, now: now)
        if policer.trialRate != nil { sawTrial = true }
        if sawTrial, policer.trialRate == nil { break }
      }
      #expect(sawTrial)
      #expect(most == (isPolicer ? 0.9e6 : 2e6))
      #expect(policer.ceiling == (isPolicer ? 0.9e6 : .infinity))
    }
  }
}
