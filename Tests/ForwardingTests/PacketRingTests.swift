import Primitives
import Testing

@testable import Forwarding

/// Packets of pairs that wait to be written.
struct PacketRingTests {
  @Test func `a ring keeps what it has room for, in order`() {
    var ring = PacketRing(limit: 2)
    let path = DatagramPath(SocketAddress(v4: 192, 0, 2, 1, port: 4000))
    for round in 0..<3 as Range<UInt8> {
      let taken = [[round, 1], [round, 2], [9]].map { ring.append($0.span, to: path) }
      #expect(taken == [true, true, false] && ring.count == 2)
      for number in 1...2 as ClosedRange<UInt8> {
        var bytes: [UInt8] = []
        bytes.append(addingCapacity: 1200) { _ = ring.popFirst(into: &$0) }
        #expect(bytes == [round, number])
      }
    }
    let isTaken = ring.append(Array(repeating: 0, count: 1201).span, to: path)
    #expect(!isTaken)
  }
}
