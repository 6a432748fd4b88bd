import LinkModel
import Primitives
import Testing

/// What is written down of a line is what it did.
@Suite struct LineJournalTests {
  private static let rate = LinkConditions.Rate(1_000_000, queue: .time(.milliseconds(2)))

  @Test func `each datagram has a line with its wait, and a full queue says so`() {
    var conditions = LinkConditions(delay: .milliseconds(10))
    conditions.rate = Self.rate
    var link = SimulatedLink(conditions, random: RandomSource(seed: 1))
    var text = ""
    let journal = LineJournal { text += $0 }
    let now = Instant.zero + .seconds(1)
    journal.noteZero(at: now)
    for _ in 0..<4 {
      journal.note(link.carry(byteCount: 97, at: now), .up, byteCount: 97, at: now)
    }
    #expect(text.isEmpty, "some lines at a time")
    journal.finish()
    // 125 bytes take a millisecond of 1 Mbit/s; the fourth would wait for three.
    #expect(
      text == """
        zero,1000000000
        1000000000,up,125,0,1001000000,arrives
        1000000000,up,125,1000000,1002000000,arrives
        1000000000,up,125,2000000,1003000000,arrives
        1000000000,up,125,,,full

        """)
  }

  @Test func `where a line carries several protocols each is named`() {
    var link = SimulatedLink(LinkConditions(delay: .zero), random: RandomSource(seed: 1))
    var text = ""
    let journal = LineJournal { text += $0 }
    let now = Instant.zero + .seconds(1)
    let passage = link.carry(byteCount: 24, at: now)
    journal.note(passage, .down, byteCount: 24, at: now, kind: "tcp")
    journal.finish()
    #expect(text == "1000000000,down,52,0,1000000000,arrives,tcp\n")
  }

  @Test func `in a stall nothing is delivered, and afterwards all of it at once`() {
    var conditions = LinkConditions(delay: .milliseconds(5))
    conditions.stalls = LinkConditions.Stalls(every: .milliseconds(500), length: .milliseconds(60))
    var link = SimulatedLink(conditions, random: RandomSource(seed: 3))
    var late: [Duration] = []
    for index in 0..<20_000 {
      let now = Instant.zero + .milliseconds(index)
      let passage = link.carry(byteCount: 100, at: now)
      let delay = passage.arrival - now
      #expect(delay >= .milliseconds(5) && delay <= .milliseconds(65))
      if delay > .milliseconds(5) { late.append(delay) }
    }
    // A stall of 60 in about 560 ms: 36 of them in 20 s, 59 datagrams or so each.
    #expect((1_000...3_500).contains(late.count), "\(late.count)")
    #expect((late.max() ?? .zero) > .milliseconds(63))
  }
}
