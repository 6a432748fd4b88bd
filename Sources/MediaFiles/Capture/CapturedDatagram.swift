package import Primitives

/// One UDP datagram of a capture: what `--pcap` writes and `earshot inspect` reads.
package struct CapturedDatagram: Equatable, Sendable {
  package enum Direction: UInt32, Sendable {
    case unknown = 0
    case inbound = 1
    case outbound = 2
  }

  /// Nanoseconds since 1970, UTC.
  package var time: UInt64
  package var source: SocketAddress
  package var destination: SocketAddress
  package var direction: Direction
  package var payload: [UInt8]

  package init(
    time: UInt64, source: SocketAddress, destination: SocketAddress,
    direction: Direction = .unknown, payload: [UInt8]
  ) {
    self.time = time
    self.source = source
    self.destination = destination
    self.direction = direction
    self.payload = payload
  }
}
