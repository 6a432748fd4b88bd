import Primitives
import Testing
import Wire

@testable import Forwarding

/// Which pictures a member's line is for.
struct DownlinkTests {
  private let start = Instant(nanoseconds: 1_000_000_000)
  private let needs: InlineArray<3, Double> = [400_000, 600_000, 1_000_000]

  @Test func `layers go one after the other where the line gets narrower, and come back`() {
    var choice = PictureChoice(now: start)
    var levels: [Int] = []
    func update(_ seconds: Int64, _ available: Double, overloaded: Bool = false) {
      choice.update(
        available: available, needs: needs, isOverloaded: overloaded, now: start + .seconds(seconds)
      )
      levels.append(choice.level)
    }
    update(1, 2_000_000)
    update(2, 700_000)
    update(4, 700_000, overloaded: true)
    update(5, 450_000)
    update(7, 450_000, overloaded: true)
    update(8, 100_000)
    update(10, 100_000, overloaded: true)
    update(12, 2_000_000)
    update(14, 2_000_000)
    update(16, 2_000_000)
    #expect(levels == [3, 3, 2, 2, 1, 1, 0, 1, 2, 3])
  }

  @Test func `what the estimate does not promise is tried less often each time, until it holds`() {
    var choice = PictureChoice(now: start)
    /// Seconds in which it rose.
    func rises(_ seconds: Range<Int64>, _ available: Double, isNarrow: Bool) -> [Int64] {
      seconds.filter { second in
        let before = choice.level
        choice.update(
          available: available, needs: needs, isOverloaded: isNarrow && before > 1,
          now: start + .seconds(second))
        return choice.level > before
      }
    }
    let first = rises(1..<90, 450_000, isNarrow: true)
    #expect(first.count >= 3 && first[1] - first[0] < first[2] - first[1], "\(first)")
    _ = rises(90..<200, 2_000_000, isNarrow: false)
    #expect(choice.level == 3)
    // The line is narrower again: a try comes as soon as at first.
    let later = rises(200..<260, 450_000, isNarrow: true)
    #expect(later.first.map { $0 <= 212 } == true, "\(later)")
  }

  @Test func `after what was left out a source begins with a key frame`() {
    var choice = PictureChoice(now: start)
    let (key, other) = (Relay.picture(0, 0), Relay.picture(1, 0))
    var admitted = [choice.admits(other, of: 1)]
    choice.awaitKeyFrames()
    for (header, source) in [(other, 1), (key, 1), (other, 1), (other, 2)] {
      admitted.append(choice.admits(header, of: UInt8(source)))
    }
    #expect(admitted == [true, false, true, true, false])
    #expect(!choice.lacksKeyFrame(of: 1) && choice.lacksKeyFrame(of: 2))
  }

  @Test func `what waits goes at the pace of the line, repairs first`() {
    let downlink = Downlink(limits: ForwardingLimits(), now: start)
    for number in 1...20 as ClosedRange<UInt32> {
      let content: ForwardingQueue.Content =
        number > 18 ? .pictureAgain(from: 1, number) : .picture(from: 1, number)
      #expect(
        downlink.append(
          ForwardingQueue.Job(slot: 2, seat: 1, content: content), isAgain: number > 18,
          byteCount: 1150))
    }
    var now = start
    var left: [UInt32] = []
    while downlink.waitingCount > 0, now < start + .seconds(2) {
      if let job = downlink.popDue(now: now) {
        left.append(UInt32(left.count))
        if left.count <= 2, case .picture = job.content { Issue.record("repairs come first") }
        downlink.recordSent(UInt32(left.count), job.content, byteCount: 1200, now: now)
      } else {
        now = max(now + .microseconds(100), downlink.admission(now: now))
      }
    }
    #expect(left.count == 20)
    // 24 kB at a Mbit/s or a little more, and slower while nothing is reported.
    #expect((.milliseconds(80)...(.seconds(1))).contains(now - start), "\(now - start)")
  }
}
