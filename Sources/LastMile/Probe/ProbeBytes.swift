/// What a probe costs, and what it may cost: bytes of IP packets.
struct ProbeBytes: Sendable, BitwiseCopyable {
  /// IP and UDP headers of a packet, in bytes.
  let overhead: Int
  private(set) var sent = 0
  private(set) var received = 0
  /// The most that the other end sends.
  private(set) var downlinkLimit: Int
  /// The most that this side sends.
  let uplinkLimit: Int

  init(overhead: Int, uplinkLimit: Int = Prober.byteBudget, downlinkLimit: Int) {
    self.overhead = overhead
    self.uplinkLimit = uplinkLimit
    self.downlinkLimit = downlinkLimit
  }

  /// - Parameter payloadByteCount: Of the UDP datagram.
  mutating func countSent(_ payloadByteCount: Int) { sent += payloadByteCount + overhead }

  /// - Parameter byteCount: Of the IP packet.
  mutating func countReceived(_ byteCount: Int) { received += byteCount }

  /// The other end grants so much, which may be less than was asked for.
  mutating func limitDownlink(to byteCount: Int) { downlinkLimit = min(downlinkLimit, byteCount) }

  /// What is left of a direction's limit.
  func left(_ direction: LineDirection) -> Int {
    direction == .uplink ? uplinkLimit - sent : downlinkLimit - received
  }

  /// Whether the next packets of a train would exceed what this side may send.
  var isSpent: Bool { sent >= uplinkLimit - 3000 }
}
