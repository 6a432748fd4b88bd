import Primitives
import Wire

/// When the packets of a train are due: an even pace, with little room to catch up.
struct TrainPacer: Sendable, BitwiseCopyable {
  /// Bits of IP packets a second.
  private(set) var rate: UInt64 = 0
  /// UDP payload of each packet.
  private(set) var payloadByteCount = 0
  /// Packets left; 0 = no train.
  private(set) var remaining = 0
  private var interval: UInt64 = 0
  private var due = Instant.zero

  init() {}

  /// - Parameter overhead: IP and UDP headers, in bytes.
  mutating func start(
    rate: UInt64, payloadByteCount: Int, overhead: Int, count: Int, now: Instant
  ) {
    self.payloadByteCount = payloadByteCount
    remaining = rate > 0 ? count : 0
    due = now
    setInterval(rate, overhead)
  }

  /// Goes on at another pace; the next packet is not later than the new pace has it.
  mutating func change(rate: UInt64, overhead: Int, now: Instant) {
    guard remaining > 0 else { return }
    setInterval(rate, overhead)
    due = min(due, Instant(nanoseconds: now.nanoseconds &+ interval))
  }

  mutating func stop() { remaining = 0 }

  private mutating func setInterval(_ rate: UInt64, _ overhead: Int) {
    self.rate = max(1, rate)
    interval = UInt64(payloadByteCount + overhead) * 8_000_000_000 / self.rate
  }

  var nextDeadline: Instant? { remaining > 0 ? due : nil }

  func isDue(now: Instant) -> Bool { remaining > 0 && due <= now }

  /// Counts one packet as sent; how late it was, in ns. What a late timer missed is made up for at
  /// most three packets or 2 ms, so that no burst is above the rate for long.
  mutating func countSent(now: Instant) -> UInt64 {
    let late = now.nanoseconds(since: due)
    let earliest = now.nanoseconds &- min(now.nanoseconds, max(3 &* interval, Self.catchUp))
    due = Instant(nanoseconds: max(due.nanoseconds, earliest) &+ interval)
    remaining -= 1
    return late
  }

  /// ns: a scheduler's usual delay, at which a fast train would else lose its rate.
  private static let catchUp: UInt64 = 2_000_000
}
