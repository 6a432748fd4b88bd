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
    search.noteMedia(byteCount: byteCount, now: now)
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

  /// Losses are found by what arrives behind them, and told after it.
  @Test mutating func `short packets behind a burst say nothing`() {
    let sent = (0..<13).map { now + .milliseconds(8 * $0) }
    let fates: [(Int, PacketOutcome.Fate)] =
      (10..<13).map { ($0, .acknowledged) } + (0..<10).map { ($0, .lost) }
    var isFirst = true
    for (place, fate) in fates {
      if isFirst { report(0, sent[0], 1200, .lost) }
      isFirst = false
      report(UInt64(place), sent[place], place < 10 ? 1200 : 108, fate)
    }
    #expect(search.limit == 1200)
  }

  private mutating func report(
    _ number: UInt64, _ sent: Instant, _ byteCount: Int, _ fate: PacketOutcome.Fate
  ) {
    let packet = SentPacket(
      number: number, sent: sent, byteCount: byteCount, elicitsFeedback: true, hasMessages: false)
    _ = search.handle(
      PacketOutcome(packet: packet, fate: fate, arrivalTicks: 0, isCongestionExperienced: false),
      now: sent + .milliseconds(200))
  }

  @Test mutating func `longer packets are tried again after 2, 4, 8, 16 and then each 30 s`() {
    while search.limit == 1200 {
      settle(108, arrives: true)
      for _ in 0..<3 { settle(1200, arrives: false) }
    }
    var rounds: [Int64] = []
    var last: Instant?
    for _ in 0..<6_000 {
      now = now + .milliseconds(20)
      search.noteMedia(byteCount: 548, now: now)
      report(number, now, 548, .acknowledged)
      guard search.pollTrial(now: now) == 1200 else { continue }
      // The second and third try of a round come 150 ms after the one before.
      if last.map({ now - $0 > .seconds(1) }) ?? true {
        rounds.append(Int64(clamping: now.nanoseconds / 1_000_000))
      }
      last = now
    }
    let gaps = zip(rounds.dropFirst(), rounds).map { $0 - $1 }
    let growth = zip(gaps.dropFirst(), gaps).map { ($0 - $1 + 500) / 1000 }
    #expect(growth.prefix(4) == [2, 4, 8, 14])
  }

  @Test mutating func `nothing longer is tried while nothing would be longer`() {
    carry(1100, rounds: 5)
    now = now + .seconds(3)
    var tries = 0
    for _ in 0..<3_000 {
      settle(108, arrives: true)
      if search.pollTrial(now: now) != nil { tries += 1 }
    }
    // The round that had begun goes on to its end.
    #expect(tries <= 21 && search.limit < 1200)
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
