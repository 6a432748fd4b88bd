import Primitives

/// What a packet waits for those of its own sender that left just before it, and takes on the line
/// beyond a short one, if the line carries the estimate. Where long packets leave together at
/// intervals that is no queue that a lower rate would empty.
struct OwnQueue: Sendable, BitwiseCopyable {
  /// When the line has carried all that left, on the sender's clock, µs.
  private var lineFree: Int64 = 0
  private var lastSent = Int64.min

  /// - Parameter rate: Of the line, in bit/s.
  /// - Returns: µs.
  mutating func add(_ packet: ArrivedPacket, rate: Double) -> Int64 {
    let rate = max(rate, Self.leastRate)
    let length = Int64(Double(max(0, packet.byteCount - Self.shortByteCount)) * 8e6 / rate)
    // Reported after a later one: what was before it is not known any more.
    guard packet.sent >= lastSent else { return min(length, Self.most) }
    lastSent = packet.sent
    let start = min(max(lineFree, packet.sent), packet.sent &+ Self.most)
    lineFree = start &+ Int64(Double(packet.byteCount) * 8e6 / rate)
    return min(start &- packet.sent &+ length, Self.most)
  }

  /// The base delay is that of packets of sound: with all headers.
  private static let shortByteCount: Int64 = 150
  /// µs: a line that carries much less than the estimate is to be seen.
  private static let most: Int64 = 25_000
  private static let leastRate = 10_000.0
}
