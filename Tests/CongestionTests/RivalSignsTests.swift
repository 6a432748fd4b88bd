import Primitives
import Testing

@testable import Congestion

/// By what it is told whose a queue is, where nobody has overflowed it.
@Suite struct RivalSignsTests {
  private let begin = Instant(nanoseconds: 10_000_000_000)
  private let target = 10_000.0

  private func path(queue: Double) -> PathMeasurement {
    var path = PathMeasurement()
    path.roundTrip.add(100_000, now: begin)
    (path.queue.standing, path.queue.mean) = (queue, queue)
    path.delivery.acknowledged = 1e6
    return path
  }

  /// Packets of 1000 bytes: for a second each 8 ms, then at the other gaps, µs.
  ///
  /// - Parameters:
  ///   - sending: Between two that are sent.
  ///   - arrival: Between two that arrive.
  @Test(
    arguments: [
      (24_000, 24_000, true), (10_000, 10_000, false), (24_000, 8_000, false),
    ] as [(Int64, Int64, Bool)])
  func `a queue beside which we give way, and which stays, is somebody else's`(
    sending: Int64, arrival: Int64, isTheirs: Bool
  ) {
    var contest = ContestDetector()
    contest.restart(now: begin)
    var path = path(queue: 50_000)
    var (sent, arrived): (Int64, Int64) = (0, 60_000)
    var isContested = false
    for report in 0..<56 {
      while arrived < Int64(report) * 50_000 {
        let isFirst = arrived < 1_000_000
        sent += isFirst ? 8_000 : sending
        arrived += isFirst ? 8_000 : arrival
        path.arrivals.add(ArrivedPacket(sent: sent, arrival: arrived, byteCount: 1_000))
      }
      let now = begin + .milliseconds(50 * report)
      contest.handleReport(path, target: target, isSilent: false, now: now)
      isContested = isContested || contest.isContested(path, target: target, now: now)
    }
    #expect(isContested == isTheirs)
  }

  /// Sound each 20 ms on a path that has carried 1 Mbit/s before.
  ///
  /// - Parameters:
  ///   - gap: Between two that arrive, µs.
  ///   - mean: Of the queue; it stands at 50 ms.
  @Test(
    arguments: [
      (20_000, 50_000, true, true), (18_000, 50_000, true, false), (20_000, 70_000, true, false),
      (20_000, 50_000, false, false),
    ] as [(Int64, Double, Bool, Bool)])
  func `with sound alone a queue that does not fall is suspect where there was room before`(
    gap: Int64, mean: Double, hasHadRoom: Bool, isSuspect: Bool
  ) {
    var contest = ContestDetector()
    contest.restart(now: begin)
    var path = path(queue: 50_000)
    if hasHadRoom {
      for index in 0..<50 as Range<Int64> {
        path.arrivals.add(
          ArrivedPacket(sent: index * 8_000, arrival: index * 8_000, byteCount: 1_000))
      }
      path.delivery.measure(path.arrivals, loss: 0, elapsed: 50_000)
    }
    for index in 0..<200 as Range<Int64> {
      path.arrivals.add(
        ArrivedPacket(
          sent: 1_000_000 + index * 20_000, arrival: 1_500_000 + index * gap, byteCount: 130))
    }
    path.queue.mean = mean
    var found: [Bool] = []
    for seconds in [2.9, 3.1] {
      let now = begin + .milliseconds(Int(seconds * 1_000))
      contest.handleReport(path, target: target, isSilent: false, now: now)
      found.append(contest.isSuspect(path, target: target, unpaced: 52_000, now: now))
    }
    #expect(found == [false, isSuspect])
  }

  @Test func `a test that is hastened comes at once, and the next as usual`() {
    var test = RivalTest()
    test.begin(now: begin)
    let path = path(queue: 200_000)
    func limit(_ milliseconds: Int) -> Double? {
      test.limit(1e6, path, isSearching: false, now: begin + .milliseconds(milliseconds))
    }
    #expect([limit(10), limit(20)] == [1e6, 1e6])
    test.hasten(now: begin + .milliseconds(25))
    #expect([limit(30), limit(40)] == [1e6, 0.6e6])
  }
}
