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
  /// Packets under way, as those of a transfer whose window is full; 0 = no window, and `rate`
  /// counts. A burst is sent when as many have come: acknowledgements clock it (RFC 5681 §3.1).
  package var window = 0
  private var acknowledged: [Instant] = []
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
    guard window == 0 else { return sendWindow(over: &link, until: now) }
    var time = next ?? now
    while time <= now {
      for _ in 0..<burst { _ = link.carry(byteCount: byteCount, at: time) }
      let bits = Double(burst * (byteCount + SimulatedLink.headerByteCount) * 8)
      time = time + .nanoseconds(Int64(random.exponential() * bits / rate * 1e9))
    }
    next = time
  }

  private mutating func sendWindow(over link: inout SimulatedLink, until now: Instant) {
    if next == nil {
      next = now
      for _ in 0..<window { send(over: &link, at: now) }
    }
    while acknowledged.count >= burst, acknowledged[burst - 1] <= now {
      let time = acknowledged[burst - 1]
      acknowledged.removeFirst(burst)
      for _ in 0..<burst { send(over: &link, at: time) }
    }
  }

  private mutating func send(over link: inout SimulatedLink, at time: Instant) {
    let passage = link.carry(byteCount: byteCount, at: time)
    // What is lost is sent anew after a round trip.
    let arrival = passage.fate == .arrives ? passage.arrival : time + .milliseconds(100)
    acknowledged.append(max(arrival + Self.wayBack, acknowledged.last ?? time))
  }

  private static let wayBack = Duration.milliseconds(15)
}
