import Primitives
import Wire

/// INITs that were let in and wait for their key agreement. That takes as long as a hundred other
/// packets do, so few are done in a turn, and whoever has a session never waits behind them
/// (docs/protocol/session.md §9).
struct HandshakeQueue {
  /// One that waits: as it came.
  struct Entry {
    let packet: InitPacket
    let bytes: [UInt8]
    /// The one of our static keys that MAC1 was made for.
    let keyIndex: Int
    let source: SocketAddress
    /// The own address that it came to.
    let askedAt: LocalAddressID
    let fingerprint: Bytes16
    let arrival: Instant

    init(
      _ packet: InitPacket, copying bytes: Span<UInt8>, keyIndex: Int, from source: SocketAddress,
      to askedAt: LocalAddressID, fingerprint: Bytes16, now: Instant
    ) {
      var copy: [UInt8] = []
      copy.reserveCapacity(bytes.count)
      for index in bytes.indices { copy.append(bytes[index]) }
      (self.packet, self.bytes, self.keyIndex) = (packet, copy, keyIndex)
      (self.source, self.askedAt, self.fingerprint) = (source, askedAt, fingerprint)
      arrival = now
    }
  }

  private var entries: BoundedQueue<Entry>
  private var fingerprints: Set<Bytes16> = []
  /// Key agreements that may begin before other packets are read again.
  private var left = Self.atOnce

  init(limit: Int) { entries = BoundedQueue(limit: limit) }

  /// When the first one may go on: it came then.
  var nextDeadline: Instant? { entries.first?.arrival }

  func contains(_ fingerprint: Bytes16) -> Bool { fingerprints.contains(fingerprint) }

  /// What was owed has left: other packets come first, then as many again.
  mutating func beginTurn() { left = Self.atOnce }

  /// Whether one that has just come need not wait; then it is counted.
  mutating func admitsAtOnce() -> Bool {
    guard entries.isEmpty, left > 0 else { return false }
    left -= 1
    return true
  }

  /// - Returns: `false` where as many wait as may.
  mutating func append(_ entry: Entry) -> Bool {
    guard entries.append(entry) else { return false }
    fingerprints.insert(entry.fingerprint)
    return true
  }

  /// The next one of this turn.
  mutating func popFirst() -> Entry? {
    guard left > 0, let entry = entries.popFirst() else { return nil }
    left -= 1
    fingerprints.remove(entry.fingerprint)
    return entry
  }

  /// Goes on with those that wait, as many as one turn has time for.
  static func resume(_ machine: inout RendezvousMachine, now: Instant) {
    while let entry = machine.gate.waiting.popFirst() {
      guard machine.goingAway == nil else { continue }
      machine.askedAt = entry.askedAt
      machine.agree(
        entry.packet, entry.bytes.span, entry.keyIndex, entry.fingerprint, from: entry.source,
        now: now)
    }
  }

  /// A millisecond or so.
  private static let atOnce = 4
}
