import Primitives
import Testing

@testable import Audio

struct PeriodicStallDetectorTests {
  static let millisecond: Int64 = 1_000_000

  /// Packets each 20 ms that stand still for `length` ms at each of `starts`, in ms; what is to be
  /// held at each of `times`, in ms.
  static func delays(length: Int64, starts: [Int64], at times: [Int64]) -> [Int64] {
    var rhythm = PeriodicStallDetector()
    var found: [Int64] = []
    var next = 0
    for number in 0..<2000 {
      let sent = Int64(number) * 20
      let start = starts.last { $0 <= sent }
      let arrival = start.map { max(sent, $0 + length) } ?? sent
      while next < times.count, times[next] < arrival {
        found.append(rhythm.delay(at: times[next] * millisecond) / millisecond)
        next += 1
      }
      _ = rhythm.record(
        lateness: (arrival - sent) * millisecond, usual: 0, arrival: arrival * millisecond)
    }
    return found
  }

  @Test func `insures against one stall for a few seconds`() {
    let delays = Self.delays(length: 300, starts: [5000], at: [5200, 5400, 11_000, 12_500])
    #expect(delays == [0, 182, 182, 0])
    #expect(Self.delays(length: 120, starts: [5000], at: [5400]) == [120])
  }

  @Test func `does not pay twice for a stall that nobody would wait for`() {
    #expect(Self.delays(length: 500, starts: [5000], at: [5600, 7000]) == [0, 0])
  }

  @Test func `expects what comes in a rhythm when it is due`() {
    let delays = Self.delays(
      length: 300, starts: [5000, 10_000], at: [10_400, 13_000, 13_600, 15_200, 15_800, 23_000])
    #expect(delays == [182, 182, 300, 300, 182, 0])
    // More often than every three seconds: all the time.
    let often = Self.delays(length: 200, starts: [4000, 6000, 8000], at: [8300, 9000, 13_500])
    #expect(often == [200, 200, 0])
  }

  @Test func `holds the whole where stalls have no rhythm`() {
    let delays = Self.delays(
      length: 300, starts: [5000, 9000, 16_000], at: [9400, 16_400, 22_000, 33_000, 34_000])
    #expect(delays == [182, 300, 300, 300, 0])
    // Two of 4 s are one again.
    let again = Self.delays(
      length: 300, starts: [5000, 9000, 16_000, 20_000, 24_000], at: [20_400, 24_400, 27_000])
    #expect(again == [300, 182, 300])
  }

  @Test func `a short interval between two of them says little of the next`() {
    let delays = Self.delays(
      length: 300, starts: [2000, 10_000, 11_000], at: [11_400, 17_000, 26_400, 27_000])
    #expect(delays == [300, 300, 300, 0])
  }

  @Test func `knows them again for twenty seconds`() {
    let delays = Self.delays(
      length: 300, starts: [5000, 6000, 14_000], at: [6400, 9600, 14_400, 30_000])
    #expect(delays == [300, 0, 300, 300])
    #expect(Self.delays(length: 300, starts: [5000, 30_400], at: [30_800, 37_500]) == [182, 0])
  }

  /// A rhythm of five seconds, two stalls old, in which speech was heard with `delay` ms.
  static func rhythm(heardAt delay: Int64) -> PeriodicStallDetector {
    var rhythm = PeriodicStallDetector()
    for sent in stride(from: Int64(0), to: 12_000, by: 20) {
      let start: Int64? = sent >= 10_000 ? 10_000 : sent >= 5000 ? 5000 : nil
      let arrival = start.map { max(sent, $0 + 300) } ?? sent
      _ = rhythm.record(
        lateness: (arrival - sent) * millisecond, usual: 0, arrival: arrival * millisecond)
      rhythm.noteSaid(delay: delay * millisecond, count: 960)
    }
    return rhythm
  }

  @Test func `keeps what it has for a stall that is near`() {
    let rhythm = Self.rhythm(heardAt: 200)
    #expect(!rhythm.isNear(at: 12_300 * Self.millisecond))
    #expect(rhythm.isNear(at: 12_600 * Self.millisecond))
    #expect(!rhythm.isNear(at: 15_700 * Self.millisecond))
    #expect(rhythm.delay(at: 13_600 * Self.millisecond) == 300 * Self.millisecond)
  }

  @Test func `holds the whole for no more than half of what is said`() {
    let rhythm = Self.rhythm(heardAt: 300)
    #expect(!rhythm.isNear(at: 12_600 * Self.millisecond))
    #expect(rhythm.delay(at: 13_600 * Self.millisecond) == 182 * Self.millisecond)
  }

  @Test func `takes jitter for no stall`() {
    var rhythm = PeriodicStallDetector()
    for number in 0..<500 {
      let lateness: Int64 = number % 10 == 0 ? 120 : 40
      _ = rhythm.record(
        lateness: lateness * Self.millisecond, usual: 40 * Self.millisecond,
        arrival: (Int64(number) * 20 + lateness) * Self.millisecond)
    }
    #expect(!rhythm.isInsuring)
  }
}

struct StallTests {
  static func line(_ length: Int64, starts: [Int64], seconds: Double) throws -> Line {
    let stream = try JitterBufferTests.voice(seconds: seconds)
    return Line(
      stream,
      delay: { _, sent in
        let start = starts.last { $0 * 1_000_000_000 <= sent }
        return start.map { max(0, $0 * 1_000_000_000 + length * 1_000_000 - sent) } ?? 0
      })
  }

  @Test func `half a second of nothing is one hole, and the delay is as before`() throws {
    let outcome = try Self.line(500, starts: [8], seconds: 20).play()
    #expect(outcome.statistics.concealmentEvents == 1)
    let settled = outcome.delays.dropFirst(10)
    #expect(try #require(settled.max()) < outcome.delays[6] + 15, "\(outcome.delays)")
  }

  @Test func `what stalls every five seconds is waited for when it is due`() throws {
    let outcome = try Self.line(300, starts: [4, 9, 14, 19, 24, 29], seconds: 32).play()
    // All six whole would be five and a half per cent: the first is heard, the second in part, and
    // of the others what the pauses before them left no room for.
    let concealed = outcome.statistics.concealedFraction
    #expect(concealed < 0.025, "\(concealed)")
    #expect(outcome.statistics.packetsDiscardedLate == 0)
  }

  @Test func `after the first stall the delay is at once what is held all the time`() throws {
    let outcome = try Self.line(300, starts: [3], seconds: 4.5).play()
    // What was said is heard until 3.7 s; all that the stall held up would be 300 ms.
    #expect((170..<230).contains(outcome.delays[3]), "\(outcome.delays)")
  }

  @Test func `the beginning of a sound that comes late is not left out`() throws {
    let stream = try JitterBufferTests.voice(seconds: 10)
    // The voice begins again at 4 s, after half a second of silence, and stops at 5.5 s.
    let outcome = try Line(stream, delay: { number, _ in number == 200 ? 25_000_000 : 0 }).play()
    let before = outcome.delays[2]
    #expect(outcome.delays[4] > before + 8, "\(outcome.delays)")
    #expect(outcome.delays[7] < outcome.delays[4] - 6, "\(outcome.delays)")
  }

  /// After a late packet the sound is sample for sample what it would have been.
  @Test func `a late packet leaves no trace in the decoder`() throws {
    let stream = try JitterBufferTests.voice(seconds: 4)
    let late = 60
    let outcome = try Line(stream, delay: { number, _ in number == late ? 25_000_000 : 0 }).play()
    let clean = try Line(stream).play()
    #expect(outcome.statistics.concealmentEvents == 1)
    let second = 48_000
    let heard = outcome.samples[(3 * second)...]
    // The delay may have grown by whole pulls.
    let isSame = (0...10).contains { pulls in
      let from = 3 * second - pulls * 480
      return heard.elementsEqual(clean.samples[from..<(from + heard.count)])
    }
    #expect(isSame)
  }

  @Test(arguments: [15, 25, 35] as [Int64])
  func `what comes a little late is caught up in place`(milliseconds: Int64) throws {
    let stream = try JitterBufferTests.voice(seconds: 8)
    let outcome = try Line(
      stream, delay: { number, _ in number == 160 ? milliseconds * 1_000_000 : 0 }
    ).play()
    #expect(outcome.statistics.concealmentEvents == 1)
    let before = try #require(outcome.delays.prefix(3).last)
    let after = try #require(outcome.delays.dropFirst(5).first)
    #expect(abs(after - before) < 1, "\(outcome.delays)")
  }
}
