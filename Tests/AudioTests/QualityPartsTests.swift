import Audio
import Primitives
import Testing
import Wire

struct QualityPartsTests {
  @Test func `unwraps the other side's reports, and takes its losses since the last one`() {
    var remote = RemoteReception()
    var report = AudioReportFrame()
    var expected = 0
    var lost = 0
    for _ in 0..<300 {
      expected += 500
      lost += 50
      report.framesExpected = UInt16(truncatingIfNeeded: expected)
      report.framesLost = UInt16(truncatingIfNeeded: lost)
      report.framesUnrepaired = UInt16(truncatingIfNeeded: lost / 2)
      report.jitterMilliseconds = 7
      remote.handleReport(report)
    }
    #expect(remote.framesExpected == 150_000 && remote.framesLost == 15_000)
    #expect(remote.framesUnrepaired == 7500 && remote.reportsReceived == 300)
    #expect(remote.lossFraction == 0.1 && remote.jitterMilliseconds == 7)
    // One that was overtaken.
    report.framesExpected &-= 700
    report.jitterMilliseconds = 99
    remote.handleReport(report)
    #expect(remote.framesExpected == 150_000 && remote.jitterMilliseconds == 7)
  }

  @Test func `tells bytes of frames, copies and repetitions apart`() {
    var body: [UInt8] = []
    body.append(addingCapacity: 100) { output in
      AudioCopy.writeHeader(.lowRate, distance: 4, byteCount: 10, isLast: false, to: &output)
      AudioCopy.writeHeader(.retransmission, distance: 8, byteCount: 7, isLast: true, to: &output)
      for _ in 0..<(17 + 30) { output.append(1) }
    }
    var bytes = ReceivedBytes()
    bytes.addBody(body.span, hasCopies: true)
    #expect(bytes.primary == 30 && bytes.copies == 10 && bytes.retransmitted == 7)
    bytes.addBody(body.span, hasCopies: false)
    #expect(bytes.primary == 30 + UInt64(body.count) && bytes.copies == 10)
    bytes.addBody(body.span.extracting(0..<3), hasCopies: true)
    #expect(bytes.primary == 30 + UInt64(body.count))
  }

  @Test func `measures how loud a sound is`() {
    var level = SoundLevel()
    let square = (0..<960).map { Int16($0 % 2 == 0 ? 16_384 : -16_384) }
    level.addSamples(square.span, frameCount: 480, channels: 2)
    #expect(level.level == 0.5 && level.seconds == 0.01 && abs(level.energy - 0.0025) < 1e-12)
    level.addSamples([Int16](repeating: 0, count: 480).span, frameCount: 480, channels: 1)
    #expect(level.level == 0 && level.seconds == 0.02)
    // More asked for than there is.
    level.addSamples([Int16]().span, frameCount: 480, channels: 1)
    #expect(level.seconds == 0.02)
  }

  @Test func `knows the mean of what lies between two sums`() {
    var histogram = DelayHistogram()
    for delay in [10, 20, 30] as [Int64] { histogram.record(nanoseconds: delay * 1_000_000) }
    #expect(histogram.sum == 60_000_000 && histogram.count == 3)
    histogram.record(nanoseconds: -5)
    histogram.record(nanoseconds: .max)
    #expect(histogram.sum == 1_060_000_000)
  }

  @Test func `takes longer frames than at first for a path that carries too little`() throws {
    let short = try JitterBufferTests.voice(seconds: 2)
    var settings = JitterBufferTests.settings
    settings.frameLength = .milliseconds40
    let long = try EncodedStream(TestSignal.voice(seconds: 2), settings: settings)
    var buffer = try JitterBuffer(channels: 1)
    var watch = CallContext()
    watch.update(&buffer, leastRoundTripMilliseconds: nil)
    #expect(buffer.surroundings == QualitySurroundings())
    var media: UInt16 = 0
    var now: UInt64 = 1_000_000_000
    for (stream, steps) in [(short, 2), (long, 4)] {
      for packet in stream.packets {
        buffer.insert(packet.span, mediaTime: media, arrival: Instant(nanoseconds: now))
        media &+= UInt16(steps)
        for _ in 0..<(2 * steps) {
          var step = [Int16](repeating: 0, count: 240)
          var span = step.mutableSpan
          _ = buffer.pull(into: &span, now: Instant(nanoseconds: now))
          now += 5_000_000
        }
      }
      watch.update(&buffer, leastRoundTripMilliseconds: 60)
      #expect(buffer.surroundings.isBandwidthShort == (steps == 4))
      let ear = buffer.surroundings.mouthToEarMilliseconds
      #expect(ear > Double(steps) * 10 + 36.5 && ear < Double(steps) * 10 + 100, "\(ear)")
    }
  }
}
