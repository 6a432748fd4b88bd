import Primitives
import Testing

@testable import Congestion

/// The parts that `BandwidthEstimator` is made of, each alone.
@Suite struct EstimatorPartsTests {
  private func packet(sent: Int64, arrival: Int64, _ byteCount: Int64 = 1_000) -> ArrivedPacket {
    ArrivedPacket(sent: sent, arrival: arrival, byteCount: byteCount)
  }

  @Test func `the rate is that between the first and the last arrival`() throws {
    var window = ArrivalWindow()
    for index in 0..<20 as Range<Int64> {
      window.add(packet(sent: index * 2_000, arrival: 50_000 + index * 4_000))
    }
    let rates = try #require(window.rates(over: 40_000, atLeast: 4))
    #expect(rates.packetCount == 10)
    #expect(rates.arrival == 2_000_000)  // 1000 bytes each 4 ms
    #expect(rates.sending == 4_000_000)
    #expect(window.rates(over: 40_000, atLeast: 20) == nil)
  }

  @Test func `a pause cuts the window`() {
    var window = ArrivalWindow()
    for index in 0..<8 as Range<Int64> {
      window.add(packet(sent: index * 1_000, arrival: index * 1_000))
    }
    for index in 0..<5 as Range<Int64> {
      window.add(packet(sent: 900_000 + index * 1_000, arrival: 900_000 + index * 1_000))
    }
    #expect(window.rates(over: 60_000, atLeast: 8) == nil)
    #expect(window.rates(over: 60_000, atLeast: 4)?.arrival == 8_000_000)
  }

  @Test func `the least delay looks back as far as it is told`() {
    var window = ArrivalWindow()
    window.add(packet(sent: 0, arrival: 10))
    for index in 1..<10 as Range<Int64> {
      window.add(packet(sent: index * 10_000, arrival: index * 10_000 + 500 + index))
    }
    #expect(window.leastDelay(over: 20_000, atLeast: 1) == 508)
    #expect(window.leastDelay(over: 1_000_000, atLeast: 1) == 10)
    // So many packets as are usual, where they are not too old.
    #expect(window.leastDelay(over: 20_000, atLeast: 1, usually: 6, within: 45_000) == 505)
    #expect(window.leastDelay(over: 20_000, atLeast: 1, usually: 6, within: 90_000) == 504)
    #expect(window.leastDelay(over: 45_000, atLeast: 1, usually: 2, within: 20_000) == 505)
  }

  @Test func `how far a queue fell is read from the packets of both moments`() {
    var window = ArrivalWindow()
    #expect(window.fall(sentFrom: 0, to: 100_000) == nil)
    for index in 0..<20 as Range<Int64> {
      let sent = index * 10_000
      window.add(packet(sent: sent, arrival: sent + 80_000 - index * 4_000))
    }
    // Sent from 50 to 150 ms: ten packets, and what came at 150 ms waited 40 ms less.
    let fall = window.fall(sentFrom: 50_000, to: 150_000)
    #expect(fall == ArrivalWindow.Fall(delay: 44_000, span: 110_000, bits: 80_000))
    #expect(window.fall(sentFrom: 150_000, to: 400_000) == nil)
  }

  @Test func `the floor is forgotten after half a minute, unless it is held`() {
    var least = LeastDelay()
    least.add(packet(sent: 0, arrival: 20_000))
    var held = least
    held.isHeld = true
    for second in 1...40 as ClosedRange<Int64> {
      let later = packet(sent: second * 1_000_000, arrival: second * 1_000_000 + 35_000)
      least.add(later)
      held.add(later)
      if second == 20 { #expect(least.value == 20_000) }
    }
    #expect(least.value == 35_000)
    #expect(held.value == 20_000)
  }

  @Test func `the round trip without a queue is the least of the last seconds`() {
    var floor = RoundTripFloor()
    #expect(floor.value == 100_000)
    floor.add(50_000, now: Instant(nanoseconds: 1))
    floor.add(80_000, now: Instant(nanoseconds: 2))
    #expect(floor.value == 50_000)
    for second in 1...3 as ClosedRange<UInt64> {
      floor.add(80_000, now: Instant(nanoseconds: second * 1_000_000_000 + 5))
    }
    #expect(floor.value == 80_000)
  }

  @Test func `loss without a queue is the line's own, an outage is not`() {
    var account = LossAccount()
    for _ in 0..<100 {
      for _ in 0..<9 { account.addArrived() }
      account.addLost()
      account.finishReport(isQueued: false)
    }
    #expect(abs(account.inherent - 0.1) < 0.01)
    for _ in 0..<500 { account.addLost() }
    account.finishReport(isQueued: false)
    #expect(account.inherent < 0.12)
    let before = account.inherent
    account.addLost()
    account.finishReport(isQueued: true)
    #expect(account.inherent == before)
    #expect(account.lostInReport == 0)  // Still the same run.
  }

  @Test func `a trial tells a policer from a line that loses`() {
    for isPolicer in [true, false] {
      var trial = LossTrial()
      var losses = LossAccount()
      var now = Instant(nanoseconds: 1_000_000_000)
      var most: Double?
      var sawTrial = false
      for _ in 0..<400 {
        now = now + .milliseconds(20)
        for index in 0..<10 {
          if index < 2, !isPolicer || trial.rate == nil {
            losses.addLost()
          } else {
            losses.addArrived()
          }
        }
        losses.finishReport(isQueued: false)
        most = trial.update(
          losses, estimate: 2e6, delivered: 1e6, cycle: 50_000, now: now)
        if trial.rate != nil { sawTrial = true }
        if sawTrial, trial.rate == nil { break }
      }
      #expect(sawTrial)
      #expect(most == (isPolicer ? 0.9e6 : 2e6))
      #expect(trial.ceiling == (isPolicer ? 0.9e6 : .infinity))
    }
  }

  @Test func `marks are weighed and forgotten`() {
    var account = MarkAccount()
    let begin = Instant(nanoseconds: 5_000_000_000)
    #expect(!account.isInUse(now: begin))
    account.add(isMarked: true)
    account.finishReport(weight: 0.5, now: begin)
    #expect(account.share == 0.5 && account.isMarked)
    account.add(isMarked: false)
    account.finishReport(weight: 0.5, now: begin)
    #expect(account.share == 0.25 && !account.isMarked)
    #expect(account.isInUse(now: begin + .seconds(9)))
    #expect(!account.isInUse(now: begin + .seconds(11)))
  }

  @Test func `the window of the competition follows RFC 9438`() {
    var competition = Competition()
    let begin = Instant(nanoseconds: 1_000_000_000)
    competition.begin(rate: 1_200_000, roundTrip: 0.4, now: begin)
    #expect(competition.window == 40 && competition.isSearching)
    let isReduced = competition.reduce(roundTrip: 0.4, now: begin + .milliseconds(500))
    #expect(isReduced)
    #expect(abs(competition.window - 28) < 1e-9 && !competition.isSearching)
    let isReducedTwice = competition.reduce(roundTrip: 0.4, now: begin + .milliseconds(600))
    #expect(!isReducedTwice)
    // K = cbrt(40 × 0.3 / 0.4) = 3.1 s later it is where it was.
    var now = begin + .milliseconds(600)
    for _ in 0..<62 {
      now = now + .milliseconds(50)
      competition.grow(elapsed: 0.05, roundTrip: 0.4, now: now)
    }
    #expect(abs(competition.window - 40) < 2)
  }

  @Test func `a slower flow's queue is the longer one`() {
    var last = Double.infinity
    for rate in [1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 3e7] {
      var limits = EstimatorLimits()
      limits.start = rate
      let target = BandwidthEstimator(limits).targetDelay
      #expect(target <= last)
      #expect((3_000...26_000).contains(target))
      last = target
    }
    #expect(abs(EstimatorTuning.powerLaw(16) - 0.125) < 1e-12)
  }
}
