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
    // What the estimate does not promise is tried after a while, less often each time.
    choice = PictureChoice(now: start)
    levels = []
    update(1, 450_000, overloaded: true)
    update(3, 450_000, overloaded: true)
    var rises: [Int64] = []
    for second in 4..<90 as Range<Int64> {
      let before = choice.level
      update(second, 450_000, overloaded: choice.level > 1)
      if choice.level > before { rises.append(second) }
    }
    #expect(rises.count >= 3 && rises[1] - rises[0] < rises[2] - rises[1], "\(rises)")
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
