import Primitives
import Testing

@testable import Congestion
@testable import Peer

@Suite struct UplinkTests {
  private static func at(_ milliseconds: UInt64) -> Instant {
    Instant(nanoseconds: 1_000_000_000 + milliseconds * 1_000_000)
  }

  @Test func `audio is counted with IP and UDP, over a second`() {
    var uplink = Uplink(EstimatorLimits())
    for tick in 0..<250 as Range<UInt64> {
      uplink.recordAudio(byteCount: 108, now: Self.at(tick * 20))
    }
    #expect(abs(uplink.audioRate - 54_400) < 1_500, "\(uplink.audioRate)")
  }

  @Test func `a usual picture leaves in half of its time where the path has room`() {
    var settings = VideoSettings()
    for rate in [300_000, 2_000_000, 2_500_000] {
      settings.mostBitsPerSecond = rate
      let limits = EstimatorLimits(settings)
      let seconds = Double(rate) / 30 / (limits.most * limits.tuning.pacing.usual)
      #expect(seconds < 0.5 / 30, "\(rate) bit/s: \(seconds) s")
    }
  }

  @Test func `reports take a tenth of what may be sent`() {
    var limits = EstimatorLimits()
    limits.start = 60_000
    #expect(Uplink(limits).reportInterval == 200_000_000)
    limits.start = 6_000_000
    #expect(Uplink(limits).reportInterval == 2_000_000)
  }

  /// The line carries 60 kbit/s, the audio takes 64 with its headers: the queue is its own.
  @Test func `audio that fills the path by itself is told to take less`() {
    var uplink = Uplink(EstimatorLimits())
    var lineFree: UInt64 = 0
    for tick in 0..<150 as Range<UInt64> {
      let now = Self.at(tick * 20)
      uplink.recordAudio(byteCount: 132, now: now)
      let begun = max(lineFree, now.nanoseconds)
      lineFree = begun + 160 * 8_000_000_000 / 60_000
      uplink.handle(
        PacketOutcome(
          packet: SentPacket(
            number: tick, sent: now, byteCount: 132, elicitsFeedback: true, hasMessages: false),
          fate: .acknowledged, arrivalTicks: Int64(lineFree / 250_000),
          isCongestionExperienced: false))
      if tick % 5 == 4 { uplink.finishReport(roundTrip: 50_000_000, bytesInFlight: 500, now: now) }
    }
    #expect(uplink.estimator.state != .competing)
    let allowance = uplink.audioAllowance
    #expect(allowance > 40_000 && allowance < 56_000, "\(allowance)")
    uplink.restart()
    #expect(uplink.audioAllowance == EstimatorLimits().start)
  }

  /// A run of losses is no outage, on a line that is known to lose so many in a row.
  @Test(arguments: [
    (0, 340, false), (0, 350, true), (3, 350, false), (3, 640, false), (3, 650, true),
    (1, 350, false), (1, 450, true),
  ])
  func `audio is held in an outage, not in a run of losses`(
    run: UInt64, milliseconds: UInt64, isHeld: Bool
  ) {
    var uplink = Uplink(EstimatorLimits())
    for number in 0..<600 as Range<UInt64> {
      let isLost = run > 0 && number % 30 < run
      uplink.handle(
        PacketOutcome(
          packet: SentPacket(
            number: number, sent: Self.at(number * 20), byteCount: 108, elicitsFeedback: true,
            hasMessages: false),
          fate: isLost ? .lost : .acknowledged, arrivalTicks: Int64(number * 80),
          isCongestionExperienced: false))
    }
    uplink.handleReport(hasNews: true, overdue: 0, now: Self.at(12_000))
    uplink.handleReport(
      hasNews: false, overdue: milliseconds * 1_000_000, now: Self.at(12_200))
    #expect(uplink.hold.isHeld(now: Self.at(12_200)) == isHeld)
  }

  /// Goal: whatever times of arrival a peer reports, nothing here stops.
  @Test func `absurd arrivals are numbers like others`() {
    var uplink = Uplink(EstimatorLimits())
    let ticks: [Int64] = [0, .max, .min, -1, 1 << 40, .max / 250, .min / 250, 1 << 62]
    for round in 0..<40 as Range<UInt64> {
      for (index, arrival) in ticks.enumerated() {
        let now = Self.at(round * 80 + UInt64(index) * 10)
        uplink.handle(
          PacketOutcome(
            packet: SentPacket(
              number: round * 8 + UInt64(index), sent: now, byteCount: 1_200,
              elicitsFeedback: true, hasMessages: false),
            fate: .acknowledged, arrivalTicks: arrival, isCongestionExperienced: false))
        uplink.handleReport(hasNews: index % 2 == 0, overdue: .max, now: now)
        uplink.finishReport(roundTrip: round % 2 == 0 ? .max : 0, bytesInFlight: 1_200, now: now)
      }
    }
    #expect(uplink.estimator.estimate.isFinite && uplink.estimator.baseRoundTrip <= 60_000_000_000)
  }
}
