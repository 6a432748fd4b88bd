import Primitives

/// What a loaded part was to be sent at, beside what was sent: a host that is too slow, or whose
/// socket is full, sends less (docs/protocol/probe.md §5).
struct SendingOrder: Sendable, BitwiseCopyable {
  private var rate = 0.0
  private var since = Instant.zero
  private var bits = 0.0
  private var seconds = 0.0

  init() {}

  mutating func begin(_ rate: Double, now: Instant) {
    self = SendingOrder()
    self.rate = rate
    since = now
  }

  /// It goes on at another rate, in bit/s.
  mutating func change(to rate: Double, now: Instant) {
    let passed = Double(now.nanoseconds(since: since)) / 1e9
    bits += self.rate * passed
    seconds += passed
    self.rate = rate
    since = now
  }

  /// What was sent as a share of what was to be; `nil` where there is too little of it.
  ///
  /// - Parameter entries: The loaded part, in the order of sending.
  func share(of entries: [TestPackets.Entry]) -> Double? {
    guard let first = entries.firstIndex(where: \.hasSent),
      let last = entries.lastIndex(where: \.hasSent), last - first >= Self.fewest,
      entries[last].sent > entries[first].sent, bits > 0
    else { return nil }
    let time = Double(entries[last].sent - entries[first].sent)
    let sent = Double(last - first) * Double(entries[first].byteCount) * 8e9 / time
    return sent / (bits / seconds)
  }

  /// Packets.
  private static let fewest = 50
}
