import Primitives
import Testing

@testable import Congestion

/// What `BandwidthEstimator` measures with, each part alone.
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

  @Test func `what leaves together waits for itself, and not for ever`() {
    // At 1 Mbit/s 1150 bytes take 9.2 ms, of which a short packet of 150 takes 1.2.
    var own = OwnQueue()
    #expect(own.add(packet(sent: 0, arrival: 0, 150), rate: 1e6) == 0)
    #expect(own.add(packet(sent: 0, arrival: 0, 1_150), rate: 1e6) == 1_200 + 8_000)
    #expect(own.add(packet(sent: 0, arrival: 0, 1_150), rate: 1e6) == 10_400 + 8_000)
    #expect(own.add(packet(sent: 0, arrival: 0, 1_150), rate: 1e6) == 25_000, "no more")
    // The line is free again; one that is reported late has its own time alone.
    #expect(own.add(packet(sent: 100_000, arrival: 0, 1_150), rate: 1e6) == 8_000)
    #expect(own.add(packet(sent: 99_000, arrival: 0, 1_150), rate: 1e6) == 8_000)
    #expect(own.add(packet(sent: 200_000, arrival: 0, 150), rate: 1e6) == 0)
    // What is slower than any rate is nothing that traps.
    #expect(own.add(packet(sent: .max - 1, arrival: 0, 65_000), rate: 0) == 25_000)
  }

  @Test func `the least delay is without what is the sender's own`() {
    var window = ArrivalWindow()
    for index in 0..<8 as Range<Int64> {
      var long = packet(sent: index * 20_000, arrival: index * 20_000 + 9_000)
      long.own = 8_000
      window.add(long)
    }
    #expect(window.leastDelay(over: 40_000, atLeast: 2) == 1_000)
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
    var least = BaseDelayFilter()
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
    var number: UInt64 = 0
    func lose() {
      number += 1
      account.addLost(number)
    }
    for _ in 0..<100 {
      for _ in 0..<9 { account.addArrived() }
      lose()
      account.finishReport(isQueued: false)
    }
    #expect(abs(account.inherent - 0.1) < 0.01)
    for _ in 0..<500 { lose() }
    account.finishReport(isQueued: false)
    #expect(account.inherent < 0.12)
    let before = account.inherent
    lose()
    account.finishReport(isQueued: true)
    #expect(account.inherent == before)
    #expect(account.lostInReport == 0)  // Still the same run.
  }

  @Test func `the standing delay is a minimum, the fresh one of the last packets`() {
    var queue = QueueingDelay()
    var window = ArrivalWindow()
    for index in 0..<30 as Range<Int64> {
      // 8 ms of queue, every third packet 5 ms more, and the last 10 ms 20 ms.
      let delay: Int64 = index > 25 ? 20_000 : index % 3 == 0 ? 13_000 : 8_000
      window.add(packet(sent: index * 4_000, arrival: index * 4_000 + 50_000 + delay))
    }
    queue.measure(window, above: 50_000, cycle: 60_000, isStarting: false)
    #expect(queue.standing == 8_000 && queue.fresh == 20_000)
    #expect(queue.distance(of: 11_000) == 3_000 && queue.distance(of: 9_000_000) == 50_000)
    queue.subtract(6_000, newest: 20_000)
    #expect(queue.standing == 2_000 && queue.fresh == 14_000)
    #expect(abs(queue.scatter - 0.03 * 18_000) < 1e-6)
    queue.average(elapsed: 200_000)
    #expect(queue.mean == 200)
    queue.subtract(1e9, newest: 0)
    #expect(queue.standing == 0 && queue.fresh == 0)
  }

  @Test func `few packets are enough for a queue at the start only`() {
    var queue = QueueingDelay()
    var window = ArrivalWindow()
    window.add(packet(sent: 0, arrival: 50_000))
    for index in 2..<5 as Range<Int64> {
      window.add(packet(sent: index * 40_000, arrival: index * 40_000 + 60_000))
    }
    queue.measure(window, above: 50_000, cycle: 40_000, isStarting: true)
    #expect(queue.standing == 10_000)
    queue.measure(window, above: 50_000, cycle: 40_000, isStarting: false)
    #expect(queue.standing == 0)
  }

  @Test func `delay variability is of many seconds, and grows with a packet's time`() {
    var variability = DelayVariability()
    for _ in 0..<20 { variability.add(30_000, elapsed: 10_000) }
    #expect(variability.plain == 0)  // A fifth of a second says little of ten.
    for _ in 0..<500 { variability.add(14_000, elapsed: 100_000) }
    #expect(variability.plain == 1)
    #expect(variability.value(packetTime: 5_000) == 1)
    #expect(abs(variability.value(packetTime: 20_000) - 0.3) < 0.02)
    #expect(variability.value(packetTime: 50_000) == 0)
  }

  @Test func `the delivery rate is corrected for what the line loses`() {
    var delivery = DeliveryRate()
    var window = ArrivalWindow()
    for index in 0..<80 as Range<Int64> {
      window.add(packet(sent: index * 4_000, arrival: 50_000 + index * 4_000))
    }
    delivery.measure(window, loss: 0.2, elapsed: 200_000)
    #expect(abs(delivery.acknowledged - 2.5e6) < 1)
    #expect(delivery.recent == 2e6 && delivery.most == delivery.acknowledged)
    #expect(abs(delivery.usual - 2e5) < 1)
    #expect(delivery.correction(0.9) == delivery.correction(0.4))
    // What was carried once stays the maximum, also when less is carried now.
    for index in 80..<200 as Range<Int64> {
      window.add(packet(sent: index * 16_000, arrival: 50_000 + index * 16_000))
    }
    delivery.measure(window, loss: 0, elapsed: 200_000)
    #expect(delivery.most < 1e6 && abs(delivery.maximum - 2.5e6) < 1)
    // Too few packets say nothing.
    var few = DeliveryRate()
    var short = ArrivalWindow()
    for index in 0..<5 as Range<Int64> { short.add(packet(sent: index, arrival: index * 1_000)) }
    few.measure(short, loss: 0, elapsed: 1_000)
    #expect(few.acknowledged == 0 && few.recent == 0)
  }

  @Test func `after a pause of the reports what was before it is tried for a cycle`() {
    var timing = ReportTiming()
    let begin = Instant(nanoseconds: 1_000_000_000)
    #expect(timing.isHeard(now: begin) && timing.elapsed(now: begin) == timing.interval)
    timing.handleReport(elapsed: timing.elapsed(now: begin), now: begin)
    let late = begin + .milliseconds(400)
    #expect(timing.elapsed(now: late) == 400_000 && timing.isPause(400_000))
    #expect(!timing.isPause(300_000))
    timing.resume(cycle: 120_000, now: late)
    timing.handleReport(elapsed: 400_000, now: late)
    #expect(timing.isResuming)
    #expect(timing.interval == 25_000 + 0.125 * 275_000)  // 400 ms count as 300.
    timing.handleReport(elapsed: 120_000, now: late + .milliseconds(120))
    #expect(!timing.isResuming)
  }

  @Test func `a path is silent only while something is under way`() {
    var timing = ReportTiming()
    let begin = Instant(nanoseconds: 1_000_000_000)
    timing.handleReport(elapsed: 25_000, now: begin)
    func isSilent(_ milliseconds: Int, _ bytes: Int) -> Bool {
      timing.isSilent(
        bytesInFlight: bytes, cycle: 100_000, now: begin + .milliseconds(milliseconds))
    }
    let idle = isSilent(5_000, 0)
    let soon = isSilent(5_700, 1_000)
    let late = isSilent(5_701, 1_000)
    #expect(!idle && !soon && late)
    #expect(!timing.isHeard(now: begin + .milliseconds(1_000)))
  }
}
