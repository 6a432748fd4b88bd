import Congestion
import Primitives
import Testing

/// Audio in an outage, and the reports that tell of one.
@Suite struct AudioHoldTests {
  @Test func `a report without news says for how long something is missing`() throws {
    var history = SentPacketHistory(capacity: 64)
    for number in 0..<10 as Range<UInt64> { history.send(number, at: 1000 + 20 * number) }
    try history.receive([(0, 5050), (1, 5070)], made: 5075, now: 1130)
    #expect(history.hasNews && history.overdue == 0)
    // Packet 2 was sent 20 ms after packet 1, and should have been there 130 ms ago.
    try history.receive([(0, 5050), (1, 5070)], made: 5220, now: 1270)
    #expect(!history.hasNews && history.overdue == 130 * millisecond)
  }

  @Test func `nothing is missing where nothing more was sent`() throws {
    var history = SentPacketHistory(capacity: 64)
    history.send(0, at: 1000)
    history.send(1, at: 1020)
    history.send(2, at: 1040, elicits: false)
    try history.receive([(0, 5050), (1, 5070)], made: 5075, now: 1130)
    try history.receive([(0, 5050), (1, 5070)], made: 5475, now: 1530)
    #expect(!history.hasNews && history.overdue == 0)
  }

  /// What becomes of a frame each 20 ms from `from` to `to`, in ms.
  private func sent(_ hold: inout AudioHold, from: UInt64, to: UInt64) -> [UInt64] {
    stride(from: from, through: to, by: 20).filter { time in
      guard hold.verdict(queued: at(time), now: at(time)) == .send else { return false }
      hold.noteSent(now: at(time))
      return true
    }
  }

  @Test func `in an outage a packet goes now and then, and all of them after it`() {
    var hold = AudioHold()
    #expect(sent(&hold, from: 0, to: 80).count == 5)
    hold.handleReport(
      hasNews: false, overdue: 360 * millisecond, roundTrip: 40 * millisecond, now: at(90))
    #expect(hold.isHeld(now: at(90)) && hold.isProbing(now: at(90)))
    #expect(sent(&hold, from: 100, to: 400) == [180, 280, 380])
    #expect(hold.verdict(queued: at(400), now: at(440)) == .wait)
    #expect(hold.verdict(queued: at(400), now: at(561)) == .drop)
    hold.handleReport(hasNews: true, overdue: 0, roundTrip: 40 * millisecond, now: at(450))
    #expect(!hold.isHeld(now: at(450)))
    #expect(hold.verdict(queued: at(300), now: at(450)) == .send)
    #expect(sent(&hold, from: 460, to: 540).count == 5)
  }

  /// It comes late, and would come later by a hold.
  @Test func `what would still be played is not held`() {
    var hold = AudioHold()
    for overdue in stride(from: UInt64(100), through: 340, by: 60) {
      hold.handleReport(
        hasNews: false, overdue: overdue * millisecond, roundTrip: 10 * millisecond,
        now: at(1_000 + overdue))
      #expect(!hold.isHeld(now: at(1_000 + overdue)), "\(overdue)")
    }
    hold.handleReport(
      hasNews: false, overdue: 350 * millisecond, roundTrip: 10 * millisecond, now: at(1_350))
    #expect(hold.isHeld(now: at(1_350)))
  }

  @Test func `a stall of a round trip or two is no outage`() {
    var hold = AudioHold()
    hold.handleReport(
      hasNews: false, overdue: 390 * millisecond, roundTrip: 200 * millisecond, now: at(1_000))
    #expect(!hold.isHeld(now: at(1_000)))
    hold.handleReport(
      hasNews: false, overdue: 400 * millisecond, roundTrip: 200 * millisecond, now: at(1_100))
    #expect(hold.isHeld(now: at(1_100)))
  }

  /// Then it may be the way back that is dead, and what is said is heard.
  @Test func `where no report comes any more audio goes on`() {
    var hold = AudioHold()
    #expect(sent(&hold, from: 0, to: 2_000).count == 101)
    hold.handleReport(
      hasNews: false, overdue: 360 * millisecond, roundTrip: 40 * millisecond, now: at(2_000))
    #expect(hold.isHeld(now: at(2_690)))
    #expect(!hold.isHeld(now: at(2_700)))
  }
}
