import Primitives
import Testing

@testable import Congestion

/// The parts of the control law, each alone.
@Suite struct ControlPartsTests {
  private let begin = Instant(nanoseconds: 5_000_000_000)

  // MARK: Target delay

  @Test func `a slower flow's queue is the longer one`() {
    var last = Double.infinity
    for rate in [1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 3e7] {
      let value = TargetDelay().value(rate: rate, scatter: 0, variability: 0)
      #expect(value <= last)
      #expect((3_000...26_000).contains(value))
      last = value
    }
    #expect(TargetDelay().value(rate: 2e6, scatter: 0, variability: 0) == 7_300)
    #expect(abs(TargetDelay.powerLaw(16) - 0.125) < 1e-12)
  }

  @Test func `scatter beyond that of frames lengthens the target, up to a limit`() {
    let target = TargetDelay()
    func added(_ scatter: Double) -> Double {
      target.value(rate: 2e6, scatter: scatter, variability: 0) - 7_300
    }
    #expect(added(4_000) == 0 && added(10_000) == 3_000 && added(90_000) == 5_000)
    #expect(target.busyDelay(20_000) == 8_000 && target.busyDelay(3_000) == 3_000)
  }

  @Test func `after a drain the target is lower for a while`() {
    var target = TargetDelay()
    target.beginCalm(now: begin)
    for (milliseconds, variability, value) in [(0, 0, 3_650), (699, 1, 4_745), (700, 0, 7_300)]
      as [(Int, Double, Double)]
    {
      target.update(now: begin + .milliseconds(milliseconds))
      let found = target.value(rate: 2e6, scatter: 0, variability: variability)
      #expect(abs(found - value) < 1e-6)
    }
  }

  // MARK: With a queue

  @Test func `the queue is held at the target, within limits`() {
    let control = QueueControl()
    func wanted(_ standing: Double, mean: Double) -> Double {
      var queue = QueueingDelay()
      queue.standing = standing
      queue.mean = mean
      return control.wanted(queue, capacity: 1e6, target: 10_000, cycle: 60_000)
    }
    #expect(wanted(10_000, mean: 10_000) == 1e6)
    #expect(abs(wanted(4_000, mean: 10_000) - 1.03e6) < 1)
    #expect(abs(wanted(10_000, mean: 20_000) - 0.95e6) < 1)
    #expect(abs(wanted(0, mean: 0) - 1.1e6) < 1)
    #expect(abs(wanted(900_000, mean: 9_000) - 0.75e6) < 1)
  }

  @Test func `what is not sent says nothing of the path`() {
    var path = PathMeasurement()
    let control = QueueControl()
    for (delivered, standing, isUsed) in [
      (1.4e6, 5_000, true), (1.2e6, 5_000, false), (1.2e6, 21_000, true),
    ] as [(Double, Double, Bool)] {
      path.delivery.acknowledged = delivered
      path.queue.standing = standing
      #expect(control.isUsed(path, estimate: 2e6, capacity: 2e6, target: 10_000) == isUsed)
    }
  }

  @Test func `the base delay is looked for once it has not been seen for long`() {
    var probe = MinRTTProbe()
    var queue = QueueingDelay()
    queue.standing = 30_000
    queue.fresh = 30_000
    func isProbing(_ milliseconds: Int, unseen: Int64?) -> Bool {
      probe.isProbing(
        unseen: unseen, queue: queue, cycle: 60_000, now: begin + .milliseconds(milliseconds))
    }
    var found = [isProbing(0, unseen: nil), isProbing(1, unseen: 12_000_000)]
    #expect(found == [false, false])
    // 30 ms at 0.7 of the rate are gone in 100 ms; a cycle more.
    found = [isProbing(2, unseen: 12_000_001), isProbing(150, unseen: 13_000_000)]
    #expect(found == [true, true])
    queue.fresh = 900
    found = [isProbing(155, unseen: 13_000_000)]
    queue.fresh = 30_000
    found += [isProbing(170, unseen: 13_000_000), isProbing(4_003, unseen: 13_000_000)]
    #expect(found == [false, false, true])
  }

  // MARK: Without one

  @Test func `growth doubles each cycle, and returns at once to what carried before`() {
    var growth = RateGrowth(velocity: 0.07)
    for step in 0..<4 {
      for half in 0..<2 {
        growth.advance(
          isDoubling: true, cycle: 100_000, now: begin + .milliseconds(100 * step + 50 * half))
      }
    }
    #expect(growth.velocity == 0.5)
    growth.restart(variability: 0.5, now: begin)
    #expect(abs(growth.velocity - 0.285) < 1e-12)
    growth.restart(velocity: 0.07, now: begin)
    #expect(abs(growth.wanted(1e6, capacity: 1e6, share: 1) - 1.07e6) < 1)
    #expect(abs(growth.wanted(1e6, capacity: 9e5, share: 0.5) - 1.035e6) < 1)
    #expect(abs(growth.wanted(5e5, capacity: 1e6, share: 1) - 7.5e5) < 1)
    #expect(abs(growth.wanted(9e5, capacity: 1e6, share: 1) - 1.01e6) < 1)
    #expect(growth.most(delivered: 1e6) == 1.62e6)
  }

  @Test func `the start ends with a queue or with loss`() {
    let startUp = StartUp()
    var path = PathMeasurement()
    #expect(!startUp.isOver(path, target: 7_300))
    path.queue.standing = 7_301
    #expect(startUp.isOver(path, target: 7_300))
    path.queue.standing = 0
    for number in 0..<100 as Range<UInt64> {
      path.losses.addLost(2 * number)
      path.losses.addArrived()
      path.losses.finishReport(isQueued: false)
    }
    #expect(startUp.isOver(path, target: 7_300))
    var limits = EstimatorLimits()
    limits.most = 3e6
    #expect(startUp.estimate(prior: 1e6, limits) == 0.95e6)
    #expect(startUp.estimate(prior: 9e6, limits) == 3e6)
  }

  // MARK: Overload

  @Test func `an overload is beyond packets and scatter`() {
    let drain = OverloadDrain()
    var queue = QueueingDelay()
    func isDue(_ fresh: Double, packetTime: Double = 4_800, variability: Double = 0) -> Bool {
      queue.fresh = fresh
      return drain.isDue(
        queue, target: 7_300, packetTime: packetTime, variability: variability)
    }
    let plain = [isDue(26_000), isDue(27_000)]
    #expect(plain == [false, true])
    let long = [isDue(77_000, packetTime: 1e6), isDue(78_000, packetTime: 1e6)]
    #expect(long == [false, true])
    queue.subtract(0, newest: 50_000)  // Scatter of 1.5 ms.
    let scattered = [isDue(31_000), isDue(32_000), isDue(32_000, variability: 1)]
    #expect(scattered == [false, true, false])
  }

  @Test func `a drain measures from its own arrivals and waits only while there is a queue`() {
    var path = PathMeasurement()
    for index in 0..<20 as Range<Int64> {
      path.arrivals.add(
        ArrivedPacket(sent: index * 4_000, arrival: index * 8_000, byteCount: 1_000))
    }
    var drain = OverloadDrain()
    let begin = Instant(nanoseconds: 200_000_000)
    drain.begin(path.arrivals, estimate: 2e6, isRelapse: false, now: begin)
    #expect(drain.capacity == 1e6 && drain.before == 2e6 && drain.shown == 1e6)
    path.queue.fresh = 40_000
    let isEarly = drain.measure(path)
    #expect(!isEarly)
    for index in 20..<40 as Range<Int64> {
      path.arrivals.add(
        ArrivedPacket(sent: index * 4_000, arrival: 160_000 + index * 10_000, byteCount: 1_000))
    }
    let isMeasured = drain.measure(path)
    #expect(isMeasured && drain.capacity == 8e5 && drain.shown == 8e5)
    path.queue.standing = 50_000
    drain.handleReport(path, elapsed: 40_000, target: 8_000)
    drain.handleReport(path, elapsed: 900_000, target: 8_000)
    #expect(drain.waited == 90_000 && drain.mostDelay == 50_000)  // 900 count as 2 × 25 ms.
    #expect(!drain.isOver(path.queue, target: 8_000))
    path.queue.standing = 2_000
    path.queue.fresh = 7_800
    drain.handleReport(path, elapsed: 40_000, target: 8_000)
    #expect(drain.waited == 0 && drain.mostDelay == 2_000)
    #expect(drain.isOver(path.queue, target: 8_000))  // 6.4 ms, and 150 bytes take 1.5 ms.
    drain.begin(path.arrivals, estimate: 1e6, isRelapse: true, now: begin)
    #expect(drain.before == 2e6)
  }

  @Test func `a queue that is gone within a cycle was not ended by us`() {
    var period = BusyPeriod()
    let nothing = period.end(cycle: 100_000, now: begin)
    #expect(nothing == nil)
    period.begin(estimate: 1e6, capacity: 2e6, now: begin)
    period.begin(estimate: 5e5, capacity: 5e5, now: begin + .milliseconds(50))
    let short = period.end(cycle: 100_000, now: begin + .milliseconds(104))
    #expect(short?.estimate == 0.95e6 && short?.capacity == 1e6)
    period.begin(estimate: 1e6, capacity: 2e6, now: begin)
    let long = period.end(cycle: 100_000, now: begin + .milliseconds(105))
    #expect(long == nil)
  }
}
