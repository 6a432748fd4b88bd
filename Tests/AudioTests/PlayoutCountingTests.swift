import Testing

@testable import Audio

/// What comes of a packet is counted once, by where it came from.
@Suite struct PlayoutCountingTests {
  @Test func `packets are counted by their origin`() {
    var statistics = PlayoutStatistics()
    PlayoutCounting.arrived(.primary, at: 7, in: &statistics)
    PlayoutCounting.arrived(.copy(steps: 1, isLowRate: false), at: 5, in: &statistics)
    PlayoutCounting.unneeded(.copy(steps: 1, isLowRate: false), in: &statistics)
    PlayoutCounting.unneeded(.primary, in: &statistics)
    #expect(statistics.packetsReceived == 1 && statistics.copiesReceived == 1)
    #expect(statistics.lastPacketReceivedNanoseconds == 7, "the latest, not the last")
    #expect(statistics.copiesDiscarded == 1 && statistics.packetsDuplicated == 1)
  }

  @Test func `a late packet is a late frame only where it is the frame itself`() {
    var statistics = PlayoutStatistics()
    PlayoutCounting.late(.primary, in: &statistics)
    PlayoutCounting.late(.copy(steps: 1, isLowRate: false), in: &statistics)
    #expect(statistics.packetsDiscarded == 2 && statistics.packetsDiscardedLate == 2)
    #expect(statistics.framesLate == 1)
  }
}
