import LinkModel
import Primitives
import Testing

@Suite struct DeliveryTraceTests {
  private func departures(
    _ trace: DeliveryTrace, queue: LinkConditions.Rate.Queue, sizes: [Int], every gap: Duration
  ) -> [Int64?] {
    var conditions = LinkConditions(delay: .zero)
    conditions.trace = LinkConditions.TracedRate(trace, queue: queue)
    var link = SimulatedLink(conditions, random: RandomSource(seed: 1))
    let start = Instant.zero + .seconds(7)
    return sizes.enumerated().map { index, size in
      let passage = link.carry(
        byteCount: size - SimulatedLink.headerByteCount, at: start + gap * index)
      return passage.fate == .arrives ? (passage.arrival - start).milliseconds : nil
    }
  }

  @Test func `a datagram waits for the next opportunity, two small ones share one`() throws {
    let trace = try #require(DeliveryTrace(text: "5\n5\n20\n30\n"))
    let queue = LinkConditions.Rate.Queue.time(.seconds(1))
    #expect(
      departures(trace, queue: queue, sizes: [1500, 1500, 1500], every: .zero) == [5, 5, 20])
    #expect(departures(trace, queue: queue, sizes: [700, 700, 700], every: .zero) == [5, 5, 5])
    #expect(
      departures(trace, queue: queue, sizes: [1500, 1500], every: .milliseconds(6)) == [5, 20])
  }

  @Test func `a trace begins again, and carries its mean rate for ever`() throws {
    let trace = try #require(DeliveryTrace(milliseconds: [1, 4, 10]))
    #expect(trace.meanBitsPerSecond == 3_600_000)
    let all = departures(
      trace, queue: .time(.seconds(100)), sizes: Array(repeating: 1500, count: 300), every: .zero)
    #expect(all[2] == 10 && all[3] == 11 && all[299] == 1000)
  }

  @Test func `a full queue drops, by time and by bytes`() throws {
    let trace = try #require(
      DeliveryTrace(milliseconds: Array(stride(from: 10, through: 100, by: 10))))
    let sizes = Array(repeating: 1500, count: 10)
    let byTime = departures(trace, queue: .time(.milliseconds(35)), sizes: sizes, every: .zero)
    #expect(byTime.compactMap(\.self) == [10, 20, 30, 40])
    let byBytes = departures(trace, queue: .bytes(4500), sizes: sizes, every: .zero)
    #expect(byBytes.compactMap(\.self) == [10, 20, 30])
  }

  @Test(arguments: ["", "\n", "1\n0\n", "a", "-1", "1.5"])
  func `what is no trace is refused`(text: String) {
    #expect(DeliveryTrace(text: text) == nil)
  }

  @Test(arguments: 0..<200)
  func `the first opportunity not before a time is the least there is`(seed: UInt64) throws {
    var random = RandomSource(seed: seed)
    var at: UInt32 = 0
    let entries = (0...Int(random.below(20))).map { _ in
      at += UInt32(random.below(4))
      return at
    }
    let trace = try #require(DeliveryTrace(milliseconds: entries))
    let time = Instant(nanoseconds: random.below(100_000_000))
    let index = trace.index(notBefore: time)
    #expect(trace.time(of: index) >= time)
    #expect(index == 0 || trace.time(of: index - 1) < time)
  }
}
