import Primitives
import Testing

@testable import Congestion

/// How long a packet the path carries (RFC 8899).
@Suite struct PacketSizeSearchTests {
  private var search = PacketSizeSearch()
  private var now = Instant(nanoseconds: 1_000_000_000)
  private var number: UInt64 = 0

  /// - Returns: whether a loss counts as the path's want of room.
  @discardableResult
  private mutating func settle(_ byteCount: Int, arrives: Bool) -> Bool {
    number += 1
    now = now + .milliseconds(8)
    let packet = SentPacket(
      number: number, sent: now, byteCount: byteCount, elicitsFeedback: true, hasMessages: false)
    return search.handle(
      PacketOutcome(
        packet: packet, fate: arrives ? .acknowledged : .lost, arrivalTicks: 0,
        isCongestionExperienced: false), now: now)
  }

  /// A path that carries `most`: pictures of long packets between audio.
  private mutating func carry(_ most: Int, rounds: Int) {
    for _ in 0..<rounds {
      settle(108, arrives: true)
      for _ in 0..<3 {
        let long = min(1200, search.limit)
        settle(long, arrives: long <= most)
      }
      if let trial = search.pollTrial(now: now) { settle(trial, arrives: trial <= most) }
    }
  }

  @Test mutating func `long packets that vanish among short ones that arrive lower the limit`() {
    carry(1100, rounds: 2)
    #expect(search.limit == 1200, "six losses are no proof")
    carry(1100, rounds: 3)
    #expect(search.limit == 548)
    carry(1100, rounds: 60)
    #expect(search.limit == 1100)
  }

  @Test(arguments: [(548, 548), (650, 620), (999, 900), (1199, 1100)])
  mutating func `the longest that arrives is found`(most: Int, found: Int) {
    carry(most, rounds: 200)
    #expect(search.limit == found)
  }

  @Test mutating func `a loss above the limit is nobody's fault`() {
    carry(700, rounds: 100)
    #expect(search.limit == 700)
    #expect(settle(1200, arrives: false) == false)
    #expect(settle(650, arrives: false) == true)
  }

  @Test mutating func `an outage of everything says nothing`() {
    for _ in 0..<100 {
      settle(108, arrives: false)
      settle(1200, arrives: false)
    }
    #expect(search.limit == 1200 && search.nextDeadline == nil)
  }

  @Test mutating func `one long packet that arrives refutes it`() {
    for round in 0..<100 {
      settle(108, arrives: true)
      for place in 0..<3 { settle(1200, arrives: round % 3 == 2 && place == 2) }
    }
    #expect(search.limit == 1200)
  }

  @Test mutating func `another path begins anew`() {
    carry(700, rounds: 20)
    search.restart()
    #expect(search.limit == 1200 && search.nextDeadline == nil)
  }
}
