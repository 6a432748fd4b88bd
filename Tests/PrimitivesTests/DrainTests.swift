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
  @Test func `every datagram goes before the first event, each in its order`() {
    var giver = Giver(datagrams: [1, 2, 3], events: [10, 20])
    var packet: [UInt8] = [99, 99]
    var order: [Int] = []
    drain(&giver, now: .zero, packet: &packet) { bytes, path in
      #expect(bytes.count == 1 && path.remote.port == 9)
      order.append(Int(bytes[0]))
    } publish: {
      order.append($0)
    }
    #expect(order == [1, 2, 3, 10, 20])
    #expect(giver.datagrams.isEmpty && giver.events.isEmpty)
  }
}
