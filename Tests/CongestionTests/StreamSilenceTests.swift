import Congestion
import Primitives
import Testing
import Wire

/// A receiver that hears nothing more of a stream.
@Suite struct StreamSilenceTests {
  /// A stream of a packet each 20 ms, every arrival reported, until 2000 ms.
  private func stream(_ recorder: inout FeedbackRecorder) throws {
    for number in 0...100 as ClosedRange<UInt64> {
      recorder.note(number, at: number * 20)
      if recorder.isDue(now: at(number * 20)) {
        _ = try takeReport(&recorder, now: at(number * 20))
      }
    }
    if recorder.hasUnreported { _ = try takeReport(&recorder, now: at(2020)) }
  }

  @Test func `a stream that stops is reported again, for five seconds`() throws {
    var recorder = FeedbackRecorder()
    try stream(&recorder)
    var times: [UInt64] = []
    while let deadline = recorder.nextDeadline, times.count < 100 {
      #expect(recorder.isDue(now: deadline) && !recorder.hasUnreported)
      let report = try #require(try takeReport(&recorder, now: deadline))
      #expect(report.frame.header.largest == 100)
      let time = deadline.nanoseconds / millisecond
      #expect(UInt64(report.frame.header.delay) * 250 == (time - 2000) * 1000)
      times.append(time)
    }
    #expect(times.prefix(3) == [2100, 2200, 2300])
    #expect(times.count == 30)
    #expect((6_000...7_100).contains(try #require(times.last)))
    recorder.note(101, at: 9_000)
    recorder.note(102, at: 9_020)
    #expect(recorder.nextDeadline == at(9_020))
  }

  @Test func `what comes now and then is no stream`() throws {
    var recorder = FeedbackRecorder()
    for number in 0..<50 as Range<UInt64> {
      recorder.note(number, at: number * 400)
      while let deadline = recorder.nextDeadline {
        #expect(recorder.hasUnreported)
        _ = try takeReport(&recorder, now: deadline)
      }
    }
  }
}
