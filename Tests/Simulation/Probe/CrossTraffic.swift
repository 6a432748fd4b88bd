import LinkModel
import Primitives

/// What somebody else sends over a line, whatever becomes of it: bursts of packets at random times.
package struct CrossTraffic: Sendable {
  /// Bit/s of IP packets, in the mean.
  package var rate: Double
  /// Packets of a burst, which enter the queue at once.
  package var burst: Int
  /// Bytes of UDP payload.
  package var byteCount: Int
  private var next: Instant?

  package init(rate: Double, burst: Int = 1, byteCount: Int = 1172) {
    self.rate = rate
    self.burst = burst
    self.byteCount = byteCount
  }

  /// Sends what is due.
  mutating func send(
    over link: inout SimulatedLink, until now: Instant, _ random: inout RandomSource
  ) {
    var time = next ?? now
    while time <= now {
      for _ in 0..<burst { _ = link.carry(byteCount: byteCount, at: time) }
      let bits = Double(burst * (byteCount + SimulatedLink.headerByteCount) * 8)
      time = time + .nanoseconds(Int64(random.exponential() * bits / rate * 1e9))
    }
    next = time
  }
}
