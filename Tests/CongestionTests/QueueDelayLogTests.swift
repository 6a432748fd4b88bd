import Primitives
import Testing

@testable import Congestion
@testable import Peer

/// What a call reports of the time that its packets wait on the path (`QueueDelayLog`), and of what
/// the path carries.
@Suite struct QueueDelayLogTests {
  private static let begin: Int64 = 1_000_000_000

  /// Packets each 5 ms with the delays of a line, in ms, and a report of each ten.
  private static func uplink(_ delays: [Double]) -> Uplink {
    var uplink = Uplink(EstimatorLimits())
    for (index, delay) in delays.enumerated() {
      // On a clock that is 7 s ahead.
      let sent = begin + Int64(index) * 5_000
      let arrival = sent + 7_000_000 + Int64(delay * 1_000)
      let packet = SentPacket(
        number: UInt64(index), sent: Instant(nanoseconds: UInt64(sent) * 1_000), byteCount: 1_000,
        elicitsFeedback: true, hasMessages: false)
      uplink.handle(
        PacketOutcome(
          packet: packet, fate: .acknowledged, arrivalTicks: arrival / 250,
          isCongestionExperienced: false))
      guard index % 10 == 9 else { continue }
      let now = Instant(nanoseconds: UInt64(sent) * 1_000) + .milliseconds(30)
      uplink.finishReport(roundTrip: 40_000_000, bytesInFlight: 10_000, now: now)
    }
    return uplink
  }

  private static func percentile(_ share: Double, _ uplink: Uplink) throws -> Double {
    Double(try #require(uplink.queueDelays.percentile(share))) / 1e6
  }

  @Test func `every packet counts, not the fastest of each report`() throws {
    let uplink = Self.uplink((0..<6_000).map { 20 + Double($0 % 10) * 10 })
    #expect(uplink.queueDelays.count == 6_000)
    #expect(abs(try Self.percentile(0.95, uplink) - 90) < 6)
    #expect(abs(try Self.percentile(0.5, uplink) - 40) < 3)
  }

  @Test func `whoever came into a full queue knows afterwards how long it waited`() throws {
    // A second for 15 s, which seems to be the path; then it drains within a second.
    let full = (0..<3_000).map { 1_020 + Double($0 % 7) }
    let draining = (0..<200).map { 1_020 - 5 * Double($0) }
    let uplink = Self.uplink(full + draining + Array(repeating: 20, count: 1_000))
    #expect(abs(try Self.percentile(0.95, uplink) - 1_000) < 70)
    #expect(abs(try Self.percentile(0.5, uplink) - 1_000) < 70)
    #expect(try Self.percentile(0.1, uplink) < 1)
    #expect(uplink.queueDelays.count == 4_200)
    let empty = Self.uplink(full)
    #expect(try Self.percentile(0.95, empty) < 8, "nobody knows it before")
  }

  @Test func `a path that becomes shorter makes no queue of what was more than 30 s before`() throws
  {
    let uplink = Self.uplink(
      Array(repeating: 120, count: 20_000) + Array(repeating: 20, count: 2_000))
    #expect(try Self.percentile(0.5, uplink) < 1)
    #expect(try Self.percentile(1, uplink) < 107)
  }

  @Test func `another path has a base delay of its own, and the call keeps what it was`() throws {
    var uplink = Self.uplink((0..<2_000).map { 20 + Double($0 % 2) * 80 })
    uplink.restart()
    #expect(uplink.queueDelays.count == 2_000)
    #expect(abs(try Self.percentile(0.95, uplink) - 80) < 6)
  }

  /// Goal: `uplinkEstimateBps` never says more than one and a half times what was carried.
  @Test func `an estimate is believed as far as half as much again was carried`() {
    for (estimate, proven, believed) in [
      (26e6, 4e6, 6e6), (6e6, 4e6, 6e6), (5e6, 4e6, 5e6), (3e6, 0, 0), (1e6, 8e6, 1e6),
    ] as [(Double, Double, Double)] {
      let numbers = CongestionNumbers(
        estimate: estimate, acknowledgedRate: proven, maximumDeliveryRate: proven, audioRate: 0,
        pacingRate: estimate, share: .infinity, queueDelay: 0, state: .holding, reason: .room,
        bytesInFlight: 0)
      #expect(numbers.believedRate == believed)
    }
  }

  @Test func `a histogram takes in another, each duration changed`() throws {
    var sum = DurationHistogram()
    var other = DurationHistogram()
    for _ in 0..<3 { other.add(100_000_000) }
    sum.add(0)
    sum.add(other) { $0 + 300_000_000 }
    #expect(sum.count == 4 && sum.percentile(0.1) == 125_000)
    #expect(abs(Double(try #require(sum.percentile(0.9))) - 4e8) < 3e7)
  }
}
