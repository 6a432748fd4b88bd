import Testing

@testable import Congestion

@Suite struct NonCongestiveDelayTests {
  /// The line, and what is believed of it: a packet of 1200 bytes takes 4.8 ms.
  private static let rate = 2e6

  /// Packets sent each 5 ms, that arrive after 25 ms and what `delay` says in ms for each.
  private func left(
    _ delays: [Double], rate: Double = NonCongestiveDelayTests.rate, byteCount: Int64 = 1_200
  ) -> Double {
    var delay = NonCongestiveDelay()
    for (index, late) in delays.enumerated() {
      let sent = Int64(index) * 5_000
      delay.add(
        ArrivedPacket(
          sent: sent, arrival: sent + 25_000 + Int64(late * 1_000), byteCount: byteCount),
        rate: rate)
    }
    return delay.value / 1_000
  }

  @Test func `a moment's standstill is not our queue`() {
    // 20 ms at once; those behind come each 4.8 ms, so that it goes by 0.2 ms with each.
    let value = left([0, 0, 0, 20, 19.8, 19.6, 19.4])
    #expect(value > 18 && value <= 20, "\(value)")
  }

  @Test func `a line that has become slower is`() {
    // Each takes 16 ms now: 600 kbit/s.
    #expect(left([0, 0, 0, 11, 22, 33, 44, 55, 66, 77, 88, 99]) == 0)
  }

  @Test func `a queue that grows by what we send is`() {
    #expect(left((0..<60).map { Double($0) * 0.5 }) == 0)
  }

  @Test func `bursts say nothing of the rate`() {
    #expect(left([0, 0, 0, 20, 15.1, 10.2, 5.3, 0.4, 0, 0]) == 0)
  }

  @Test func `it must go as fast as a line with a little room empties itself`() {
    let steady = [0, 0, 0] + Array(repeating: 20.0, count: 100)
    #expect(left(Array(steady.prefix(8))) > 15)
    #expect(left(steady) == 0)
  }

  @Test func `no more is believed than a stall of Wi-Fi takes`() {
    #expect(
      left([0, 0, 0, 400, 400, 400, 400, 400]) <= NonCongestiveDelay.Constants().most / 1_000)
  }

  @Test func `packets far apart, and out of order, say nothing`() {
    var delay = NonCongestiveDelay()
    for (sent, arrival) in [(0, 10), (300, 360), (301, 361), (290, 400), (302, 300), (0, 0)] {
      delay.add(
        ArrivedPacket(
          sent: Int64(sent) * 1_000, arrival: Int64(arrival) * 1_000, byteCount: 1_200),
        rate: 0)
    }
    #expect(delay.value == 0)
  }
}
