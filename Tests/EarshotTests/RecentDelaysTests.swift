import Calling
import Testing

@testable import Earshot

/// What is told each two seconds of delays is of these two seconds (`RecentDelays`).
@Suite struct RecentDelaysTests {
  /// As an endpoint tells them.
  private static func numbers(_ pair: borrowing PipelinePair, atMs: Int) -> CallStatistics {
    var numbers = CallStatistics(atMs: atMs)
    numbers.rttMs = CallStatistics.Milliseconds(min: 40, p50: 40, p95: 40)
    numbers.complete(with: pair.received, bitrate: 32_000, now: nil)
    return numbers
  }

  private static func told(
    _ record: CallRecord, _ pair: borrowing PipelinePair, atMs: Int
  ) -> CallStatistics {
    var numbers = numbers(pair, atMs: atMs)
    record.takeInterval(&numbers, pair.received)
    return numbers
  }

  @Test func `a queue that stands is in the delay while it stands, and no longer`() throws {
    let record = CallRecord(.caller, CallOptions(), target: "bob")
    var pair = try PipelinePair.make()
    var ears: [Double] = []
    for round in 0..<25 {
      // From the twentieth to the thirty-eighth second.
      pair.standingQueue = (10..<19).contains(round) ? 700 : 0
      pair.run(seconds: 2)
      let numbers = Self.told(record, pair, atMs: 2000 * (round + 1))
      let audio = try #require(numbers.audio)
      let recent = try #require(audio.recentDelay)
      #expect(recent.durationMs == 2000)
      let ear = try #require(recent.mouthToEarMs)
      #expect(abs(audio.agora.e2eDelay - ear.p50) < 0.01 && ear.p95 >= ear.p50)
      #expect(abs(audio.agora.delay.network - audio.agora.networkTransportDelay) < 0.01)
      #expect(try #require(numbers.received.mouthToEarMs).p50 < 150, "of the whole call")
      ears.append(ear.p50)
    }
    for round in 1..<10 { #expect(ears[round] < 110, "round \(round) of \(ears)") }
    for round in 13..<19 { #expect((720...900).contains(ears[round]), "\(round) of \(ears)") }
    // The jitter buffer remembers the jump for twenty seconds.
    for round in 21..<25 { #expect(ears[round] < 250, "round \(round) of \(ears)") }
  }

  @Test func `what is asked for in between is of one second at least`() throws {
    let record = CallRecord(.caller, CallOptions(), target: "bob")
    var pair = try PipelinePair.make()
    pair.run(seconds: 2)
    _ = Self.told(record, pair, atMs: 2000)
    pair.run(seconds: 2)
    _ = Self.told(record, pair, atMs: 4000)
    for (atMs, durationMs) in [(4010, 2010), (4999, 2999), (5000, 1000), (5900, 1900)] {
      pair.run(seconds: 1)
      var numbers = Self.numbers(pair, atMs: atMs)
      record.told.numbers.delays.fill(&numbers, pair.received)
      #expect(numbers.audio?.recentDelay?.durationMs == durationMs)
    }
  }

  @Test func `where nothing was given out nothing is told of its delay`() throws {
    let record = CallRecord(.caller, CallOptions(), target: "bob")
    var pair = try PipelinePair.make()
    pair.run(seconds: 4)
    #expect(Self.told(record, pair, atMs: 4000).audio?.recentDelay != nil)
    let numbers = Self.told(record, pair, atMs: 6000)
    #expect(numbers.audio != nil && numbers.audio?.recentDelay == nil)
    #expect(numbers.audio?.agora.e2eDelay == 0)
    #expect(numbers.received.mouthToEarMs != nil)
  }
}
