import Primitives
import Relay
import Testing

@Suite struct StreamBacklogTests {
  @Test func `a stream that keeps up loses nothing`() {
    var backlog = StreamBacklog()
    var now = Instant(nanoseconds: 1)
    for _ in 0..<5000 {
      let isAdmitted = backlog.admits(unsent: 0, now: now)
      #expect(isAdmitted)
      backlog.append(byteCount: 100, now: now)
      now = now + .milliseconds(20)
    }
    #expect(backlog.droppedCount == 0)
  }

  @Test func `a stream that stands queues for 200 ms and then loses the newest`() {
    var backlog = StreamBacklog()
    var now = Instant(nanoseconds: 1)
    var unsent = 0
    var admitted = 0
    for _ in 0..<100 {
      if backlog.admits(unsent: unsent, now: now) {
        backlog.append(byteCount: 100, now: now)
        unsent += 100
        admitted += 1
      }
      now = now + .milliseconds(20)
    }
    #expect(admitted == 10 && backlog.droppedCount == 90)
    // Half of it leaves: what is left is still as old.
    let isEarly = backlog.admits(unsent: 500, now: now)
    #expect(!isEarly)
    let isAdmitted = backlog.admits(unsent: 0, now: now)
    #expect(isAdmitted)
  }

  /// Goal: no packet leaves more than the limit late, whatever the rate of the line. Method: lines
  /// of 8 to 800 kbit/s under 100 kbit/s of packets; the line takes bytes every 5 ms.
  @Test func `what leaves is hardly older than 200 ms, and a line is used to the full`() {
    for rate in [1, 2, 5, 10, 13, 50, 100] {
      var backlog = StreamBacklog()
      var now = Instant(nanoseconds: 1)
      var queue: [(left: Int, at: Instant)] = []
      var sent = 0
      for step in 0..<4000 {
        var room = rate * 5
        while room > 0, let first = queue.first {
          let count = min(room, first.left)
          room -= count
          sent += count
          queue[0].left -= count
          if queue[0].left == 0 {
            let age = now.nanoseconds(since: first.at)
            // The oldest is on its way out when the newest joins: two packets' time on the line.
            let limit = 200_000_000 + UInt64(2 * 250 / rate + 10) * 1_000_000
            #expect(age <= limit, "\(rate)")
            queue.removeFirst()
          }
        }
        if step % 4 == 0 {
          let unsent = queue.reduce(0) { $0 + $1.left }
          if backlog.admits(unsent: unsent, now: now) {
            backlog.append(byteCount: 250, now: now)
            queue.append((250, now))
          }
        }
        now = now + .milliseconds(5)
      }
      let possible = min(rate * 20_000, 1000 * 250)
      #expect(sent >= possible * 97 / 100 - 250, "\(rate): \(sent) of \(possible)")
    }
  }
}
