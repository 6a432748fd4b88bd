import Primitives
import Testing
import Wire

@testable import Audio

/// What a listener counts of a host that a relay leaves out for a while, and says so
/// (docs/decisions/0171).
struct LeftOutTests {
  /// Frames of 20 ms, of which the relay leaves some out.
  private struct Run {
    /// What playout holds, in ms.
    var delay: Int64 = 20
    var leftOut: [Range<Int>] = []
    var lost: Range<Int> = 0..<0
    /// After the first frame that is missing, in ticks of 5 ms: that it is left out is known.
    var wordDelay = 6
    var mayBeLeftOut = true
    var count = 400

    func play() throws -> PlayoutStatistics {
      var settings = AudioEngine.Settings()
      settings.fixedDelay = delay * 1_000_000
      settings.mayBeLeftOut = mayBeLeftOut
      settings.asksAgain = false
      let stream = try EncodedStream(
        TestSignal.voice(seconds: Double(count / 50 + 1)), settings: OpusEncoder.Settings())
      var engine = try AudioEngine(settings)
      var unsent: UInt16 = 0
      var output = [Int16](repeating: 0, count: 480)
      for tick in 0..<(count * 4) {
        let now = Instant(nanoseconds: 1_000_000_000 + UInt64(tick) * 5_000_000)
        let number = tick / 4
        if let range = leftOut.first(where: { $0.contains(number) }) {
          if tick == range.lowerBound * 4 + wordDelay { engine.isRemoteMuted = true }
          if tick % 4 == 0 { unsent += 1 }
        } else if tick % 4 == 0, !lost.contains(number) {
          engine.isRemoteMuted = false
          let body = Self.body(stream.packets[number], unsent)
          let frame = AudioMediaFrame(
            length: .milliseconds20, isMarked: false, hasCopies: unsent > 0,
            mediaTime: UInt16(number * 2))
          try engine.receive(
            body.span, AudioBodyHeader(frame), arrival: now, PathConditions(), now: now)
        }
        engine.tick(now: now)
        var span = output.mutableSpan
        _ = engine.pull(into: &span, now: now)
      }
      return engine.receiver.buffer.statistics
    }

    private static func body(_ packet: [UInt8], _ unsent: UInt16) -> [UInt8] {
      guard unsent > 0 else { return packet }
      var body: [UInt8] = []
      body.append(addingCapacity: 1300) { output in
        AudioCopy.writeHeader(
          .unsentCount, distance: 1, byteCount: 2, isLast: true, to: &output)
        output.append(littleEndian: unsent)
        output.append(bytes: packet)
      }
      return body
    }
  }

  @Test(arguments: [5, 20, 60, 150] as [Int64], [1, 3, 8, 25, 150])
  func `nothing is lost or frozen, whatever the delay and the time`(
    delay: Int64, frames: Int
  ) throws {
    var run = Run(delay: delay)
    run.leftOut = [60..<(60 + frames), 250..<(250 + frames)]
    let statistics = try run.play()
    #expect(statistics.packetsLost == 0 && statistics.packetsMissed == 0)
    #expect(statistics.concealedSamples == 0 && statistics.concealmentEvents == 0)
    #expect(statistics.silentConcealedSamples == 0 && statistics.interruptionCount == 0)
  }

  /// The word of it and the next one are lost.
  @Test func `of a word that comes late 100 ms are excused`() throws {
    var run = Run()
    run.leftOut = [60..<160]
    run.wordDelay = 40
    let statistics = try run.play()
    #expect(statistics.packetsLost == 0)
    #expect((4800...9600).contains(statistics.concealedSamples))
  }

  @Test func `what is lost beside it is`() throws {
    var run = Run()
    run.leftOut = [60..<160]
    run.lost = 200..<210
    let statistics = try run.play()
    #expect(statistics.packetsLost == 10)
    #expect((8000...14_000).contains(statistics.concealedSamples))
    #expect(statistics.concealmentEvents == 1)
    let whole = try Run(lost: 200..<210).play()
    let call = try Run(lost: 200..<210, mayBeLeftOut: false).play()
    #expect(whole.concealedSamples == call.concealedSamples)
    #expect(whole.concealmentEvents == call.concealmentEvents)
    let silent = (whole.silentConcealedSamples, call.silentConcealedSamples)
    #expect(silent.0 == silent.1 && silent.1 > 0 && silent.1 < call.concealedSamples, "\(silent)")
  }

  /// In a call nobody else decides what is sent: what the sender keeps back is missing.
  @Test func `in a call what the sender does not send counts as made up`() throws {
    var run = Run(mayBeLeftOut: false)
    run.leftOut = [60..<80]
    run.wordDelay = 1000
    let statistics = try run.play()
    #expect(statistics.packetsLost == 0 && statistics.concealedSamples > 15_000)
  }
}
