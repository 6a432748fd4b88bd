package import Primitives

/// Media packets and bytes of one call, both ways.
package struct MediaCounters: Equatable, Sendable {
  package var packetsSent: UInt64 = 0
  package var payloadBytesSent: UInt64 = 0
  package var wireBytesSent: UInt64 = 0
  /// Reports and requests about audio, with their types.
  package var controlBytesSent: UInt64 = 0
  package var packetsReceived: UInt64 = 0
  package var payloadBytesReceived: UInt64 = 0
  /// Frames and what goes with them that an outage made too late to be sent.
  package var packetsHeldBack: UInt64 = 0
  package var firstSent: Instant?
  package var firstReceived: Instant?
  package var lastReceived: Instant?

  package init() {}

  mutating func recordReceived(byteCount: Int, now: Instant) {
    packetsReceived &+= 1
    payloadBytesReceived &+= UInt64(byteCount)
    firstReceived = firstReceived ?? now
    lastReceived = now
  }
}
