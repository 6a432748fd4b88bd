import Primitives
import Testing

/// Gives out so many datagrams, then so many events.
private struct Giver: DatagramMachine {
  var datagrams: [UInt8]
  var events: [Int]
  let nextDeadline: Instant? = nil

  @_lifetime(bytes: copy bytes)
  mutating func handle(
    _ bytes: inout MutableSpan<UInt8>, from source: SocketAddress, marks: DatagramMarks,
    now: Instant
  ) {}

  mutating func handleTimeout(now: Instant) {}

  @_lifetime(packet: copy packet)
  mutating func pollTransmit(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    guard !datagrams.isEmpty else { return nil }
    packet.append(datagrams.removeFirst())
    return DatagramPath(SocketAddress(v4: 192, 0, 2, 1, port: 9))
  }

  mutating func pollEvent() -> Int? { events.isEmpty ? nil : events.removeFirst() }
}

@Suite struct DrainTests {
  @Test func `all datagrams are sent and all events told, each in its order`() {
    var giver = Giver(datagrams: [1, 2, 3], events: [10, 20])
    var list = DatagramList()
    var events = [5]
    #expect(drain(&giver, into: &list, events: &events, now: .zero))
    #expect(list.datagrams.map(\.bytes) == [[1], [2], [3]])
    #expect(list.datagrams.allSatisfy { $0.path.remote.port == 9 })
    #expect(events == [5, 10, 20])
    #expect(giver.datagrams.isEmpty && giver.events.isEmpty)
  }

  @Test func `a budget that is used up is told`() {
    var giver = Giver(datagrams: [1, 2, 3], events: [10])
    var list = DatagramList()
    var events: [Int] = []
    #expect(!drain(&giver, into: &list, events: &events, budget: 2, now: .zero))
    #expect(list.datagrams.count == 2 && events == [10])
    #expect(drain(&giver, into: &list, events: &events, budget: 2, now: .zero))
    #expect(list.datagrams.count == 3)
  }
}
