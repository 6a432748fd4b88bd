import Primitives
import Testing
import Video

@Suite struct FreezeMeterTests {
  private func moment(_ milliseconds: Int) -> Instant { VideoLadderTests.moment(milliseconds) }

  /// W3C webrtc-stats: at least max(3 × mean, mean + 150 ms) of the last 30 intervals.
  @Test(arguments: [(33, 188, 189), (66, 221, 222), (100, 322, 323), (500, 1600, 1700)])
  func `a freeze is an interval far beyond the mean`(interval: Int, smooth: Int, frozen: Int) {
    for (gap, count) in [(smooth, 0), (frozen, 1)] {
      var meter = FreezeMeter()
      for number in 0...40 { meter.handlePicture(now: moment(number * interval)) }
      let isFreeze = meter.handlePicture(now: moment(40 * interval + gap)) != nil
      #expect(isFreeze == (count == 1) && meter.freezeCount == count, "\(gap) after \(interval)")
      #expect(meter.totalFreezesDuration == .milliseconds(gap * count))
    }
  }

  @Test func `five intervals must be known, and thirty count`() {
    var meter = FreezeMeter()
    for time in [0, 33, 66, 99] { meter.handlePicture(now: moment(time)) }
    #expect(meter.handlePicture(now: moment(1099)) == nil, "the fourth interval")
    for number in 1...40 { meter.handlePicture(now: moment(1099 + 33 * number)) }
    #expect(meter.freezeCount == 0)
    #expect(meter.handlePicture(now: moment(1099 + 33 * 40 + 189)) != nil, "the second is gone")
  }

  @Test func `a gap of more than 500 ms is told while it lasts`() {
    var meter = FreezeMeter()
    for time in stride(from: 0, through: 660, by: 66) { meter.handlePicture(now: moment(time)) }
    #expect(meter.handlePicture(now: moment(1060)) == .milliseconds(400))
    #expect(meter.handleTimeout(now: moment(1560)) == false)
    #expect(meter.nextDeadline == Instant(nanoseconds: 1_560_000_001))
    #expect(meter.handleTimeout(now: Instant(nanoseconds: 1_560_000_001)) == true)
    #expect(meter.isFrozen && meter.nextDeadline == nil)
    #expect(meter.handleTimeout(now: moment(1600)) == false, "told once")
    #expect(meter.totals(now: moment(1600)) == (2, .milliseconds(940), .milliseconds(1600)))
    #expect(meter.freezeCount == 1, "it is not over")
    #expect(meter.handlePicture(now: moment(1660)) == .milliseconds(600))
    #expect(meter.freezeCount == 2 && meter.totalFreezesDuration == .milliseconds(1000))
    #expect(abs(meter.frozenFraction - 1000.0 / 1660) < 1e-9)
    #expect(!meter.isFrozen)
  }

  /// Slides, a picture a second: that is how they are made, and nothing stands still.
  @Test func `a source of few pictures is not frozen between them`() {
    var meter = FreezeMeter()
    for time in stride(from: 0, through: 10_000, by: 1000) {
      meter.handlePicture(
        now: moment(time), interval: time == 0 ? nil : .milliseconds(1000))
      #expect(meter.handleTimeout(now: moment(time + 999)) == (time == 0), "at \(time)")
    }
    #expect(meter.freezeCount == 0)
    #expect(meter.limit == .milliseconds(2500))
    #expect(meter.handleTimeout(now: moment(12_600)) == true)
    // Losses make gaps, not intervals; and one long interval is a pause.
    var quick = FreezeMeter()
    for time in stride(from: 0, through: 330, by: 33) {
      quick.handlePicture(now: moment(time), interval: .milliseconds(time == 99 ? 9000 : 33))
    }
    #expect(quick.limit == FreezeMeter.leastLimit)
    #expect(quick.handlePicture(now: moment(900), interval: .milliseconds(33)) != nil)
  }

  @Test func `what was muted is not frozen`() {
    var meter = FreezeMeter()
    for time in stride(from: 0, through: 330, by: 33) { meter.handlePicture(now: moment(time)) }
    meter.pause(now: moment(600))
    #expect(meter.nextDeadline == nil)
    #expect(meter.handlePicture(now: moment(9000)) == nil)
    #expect(meter.handleTimeout(now: moment(9700)) == true)
    meter.pause(now: moment(9800))
    #expect(meter.totalFreezesDuration == .milliseconds(800))
    #expect(meter.freezeCount == 1)
  }

  @Test func `pictures are shown with the sound they belong to`() throws {
    var sync = LipSync()
    #expect(sync.showTime(of: 5000, now: moment(10)) == moment(10))
    sync.handleHeard(mediaTime: 65_535, now: moment(1000))
    // 100 ms later in the stream, across the wrap.
    let later = UInt32(9 << 8)
    let due = sync.showTime(of: later, now: moment(1020))
    #expect(abs((due - moment(1100)).milliseconds) <= 1)
    #expect(sync.showTime(of: later, now: moment(1150)) == moment(1150))
    let offset = try #require(sync.offset(of: later, now: moment(1150)))
    #expect(abs(offset.milliseconds - 50) <= 1)
    #expect(sync.showTime(of: 600 << 8, now: moment(1020)) == moment(1020), "far ahead: at once")
    #expect(sync.offset(of: later, now: moment(3500)) == nil, "no sound any more")
  }
}
