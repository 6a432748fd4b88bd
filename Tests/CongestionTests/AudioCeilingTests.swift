import Primitives
import Testing

@testable import Congestion

/// Audio alone on a line: what the ceiling makes of it.
@Suite struct AudioCeilingTests {
  /// A line that audio crosses in packets of 20 ms, with a report each 100 ms.
  private struct Line {
    var ceiling = AudioCeiling()
    var estimator = BandwidthEstimator()
    /// In bit/s; what is sent is this, or what the ceiling allows.
    var wanted = 56_000.0
    var rate = 1e7
    /// In nanoseconds.
    var delay: UInt64 = 20_000_000
    var now = Instant(nanoseconds: 1_000_000_000)
    private var free: UInt64 = 0
    private var number: UInt64 = 0

    init() { estimator.isElastic = false }

    mutating func run(seconds: Double) {
      for tick in 1...Int(seconds * 50) {
        now = now + .milliseconds(20)
        let bits = min(wanted, ceiling.rate) * 0.02
        free = max(free, now.nanoseconds) + UInt64(bits / rate * 1e9)
        estimator.handle(
          PacketOutcome(
            packet: SentPacket(
              number: number, sent: now, byteCount: Int(bits / 8) - 28, elicitsFeedback: true,
              hasMessages: false),
            fate: .acknowledged, arrivalTicks: Int64((free + delay) / 250_000),
            isCongestionExperienced: false))
        number += 1
        guard tick % 5 == 0 else { continue }
        estimator.unpacedRate = min(wanted, ceiling.rate)
        estimator.finishReport(roundTrip: 2 * delay, bytesInFlight: 200, now: now)
        ceiling.handleReport(estimator, now: now)
      }
    }

    var queue: Double { Double(free - min(free, now.nanoseconds)) / 1e6 }
  }

  @Test func `a wide line has no ceiling`() {
    var line = Line()
    line.run(seconds: 60)
    #expect(line.ceiling.rate == .infinity)
  }

  @Test(arguments: [24_000, 32_000, 48_000] as [Double])
  func `a narrow line is filled and keeps a short queue`(rate: Double) {
    var line = Line()
    line.run(seconds: 5)
    line.rate = rate
    line.run(seconds: 6)
    var sent = 0.0
    var longest = 0.0
    for _ in 0..<60 {
      line.run(seconds: 1)
      sent += min(line.wanted, line.ceiling.rate) / 60
      longest = max(longest, line.queue)
    }
    #expect(sent > 0.85 * rate && sent <= rate, "\(sent)")
    #expect(longest < 300, "\(longest) ms")
  }

  /// Of the line's queue when audio begins to make do with less, most has gone two seconds later.
  @Test(arguments: [24_000, 32_000, 40_000, 48_000] as [Double])
  func `a queue of our own is soon empty, and audio near the line again`(rate: Double) {
    var line = Line()
    line.run(seconds: 5)
    line.rate = rate
    var longest = 0.0
    for _ in 0..<100 where line.ceiling.rate == .infinity {
      line.run(seconds: 0.1)
      longest = line.queue
    }
    line.run(seconds: 2.5)
    #expect(line.queue < 60, "\(line.queue) of \(longest) ms")
    line.run(seconds: 1)
    #expect(line.ceiling.rate > 0.75 * rate, "\(line.ceiling.rate)")
  }

  @Test func `a line that is wide again is used again`() {
    var line = Line()
    line.run(seconds: 5)
    line.rate = 40_000
    line.run(seconds: 20)
    #expect(line.ceiling.rate < 45_000)
    line.rate = 1e7
    line.run(seconds: 20)
    #expect(line.ceiling.rate >= line.wanted, "\(line.ceiling.rate)")
    line.run(seconds: 20)
    #expect(line.ceiling.rate == .infinity)
  }

  /// Sending less makes no route shorter.
  @Test(arguments: [60, 120, 300] as [UInt64])
  func `a longer route is no queue`(milliseconds: UInt64) {
    var line = Line()
    line.run(seconds: 5)
    line.delay += milliseconds * 1_000_000
    line.run(seconds: 3)
    var whole = 0
    for _ in 0..<40 {
      line.run(seconds: 1)
      if line.ceiling.rate >= line.wanted { whole += 1 }
    }
    // It is tried once.
    #expect(whole >= 38, "\(whole) of 40 s")
  }

  @Test func `on a longer route a queue of our own still counts`() {
    var line = Line()
    line.run(seconds: 5)
    line.delay += 120_000_000
    line.run(seconds: 5)
    line.rate = 32_000
    line.run(seconds: 10)
    #expect(line.ceiling.rate < 36_000, "\(line.ceiling.rate)")
  }
}
