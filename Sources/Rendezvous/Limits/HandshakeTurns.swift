import Primitives

/// Whose key agreement is next when there are more than can be done: each address in its turn.
///
/// While too many handshakes wait, the time from one handshake of an address to its next is made
/// longer, until what is let through is what can be done: so one of n busy addresses gets 1/n, and
/// one that is new comes at once (docs/protocol/session.md §9).
struct HandshakeTurns {
  private var meters: PrefixMeters
  /// Nanoseconds from one handshake of a host to its next.
  private var interval: UInt64 = 0
  private var adjusted = Instant.zero

  /// How often the interval is looked at.
  private static let pace = Duration.milliseconds(50)
  private static let shortest: UInt64 = 50_000_000
  /// Longer than a client's whole attempt would be of no use.
  private static let longest: UInt64 = 8_000_000_000
  /// How long an address is remembered as one that had a turn.
  private static let memory: UInt64 = 30_000_000_000
  /// Thousandths of the waiting handshakes that are kept for addresses that had no turn.
  private static let reserve: UInt64 = 250

  init(limit: Int, hash: KeyedHash) { meters = PrefixMeters(limit: limit, hash: hash) }

  /// Whether a handshake of `source` may begin; if so its turn is counted.
  ///
  /// - Parameter fill: Thousandths of the handshakes that may wait and do.
  mutating func admit(_ source: SocketAddress, fill: UInt64, now: Instant) -> Bool {
    adjust(fill, now: now)
    let isKnown = meters.hostMeter(of: source).wasUsed(within: Self.memory, now: now)
    guard fill <= (isKnown ? 1000 - Self.reserve : 1000) else { return false }
    return meters.admit(source, rates, now: now)
  }

  /// A site may do what four hosts may, a network what sixteen may. Without an interval the turns
  /// are counted and nobody waits.
  private var rates: PrefixRates {
    guard interval > 0 else {
      let free = Rate(interval: 1, burst: 1_000_000)
      return PrefixRates(host: free, site: free, network: free)
    }
    return PrefixRates(
      host: Rate(interval: interval, burst: 1), site: Rate(interval: interval / 4, burst: 4),
      network: Rate(interval: interval / 16, burst: 16))
  }

  private mutating func adjust(_ fill: UInt64, now: Instant) {
    guard adjusted + Self.pace <= now else { return }
    adjusted = now
    if fill > 500 {
      interval = min(Self.longest, max(Self.shortest, interval * 2))
    } else if fill < 250 {
      interval = interval <= Self.shortest ? 0 : interval / 4 * 3
    }
  }
}
