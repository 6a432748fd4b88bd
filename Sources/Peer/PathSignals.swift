import Primitives
import SecureSession
import Wire

/// Signalling bodies that wait to go as SIGNAL on the path, oldest first.
struct PathSignals: Sendable {
  /// Each kind waits once at most; what comes beyond is repeated by its owner.
  private static let capacity = 4
  /// What is left of 1200 bytes after header, tag and the frame's own three.
  private static let maximumByteCount =
    Datagram.maximumByteCount - SealedPacket.minimumByteCount - 3

  private var bodies: [[UInt8]] = []

  /// One that does not fit into a packet goes by the rendezvous alone.
  mutating func append(_ body: [UInt8]) {
    guard !body.isEmpty, body.count <= Self.maximumByteCount, !bodies.contains(body),
      bodies.count < Self.capacity
    else { return }
    bodies.append(body)
  }

  mutating func removeFirst() -> [UInt8]? { bodies.isEmpty ? nil : bodies.removeFirst() }

  mutating func removeAll() { bodies.removeAll() }
}
