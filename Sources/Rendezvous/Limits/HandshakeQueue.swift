import Cryptography
import Primitives
import SecureSession
import Wire

/// INITs that were let in and wait for their key agreement. That takes as long as a hundred other
/// packets do, so few are done in a turn, and whoever has a session never waits behind them
/// (docs/protocol/session.md §9).
struct HandshakeQueue {
  /// One that is let in.
  struct Entry {
    let packet: InitPacket
    /// All of it, where it waits.
    private(set) var bytes: [UInt8] = []
    /// The one of our static keys that MAC1 was made for.
    let keyIndex: Int
    let source: SocketAddress
    /// The own address that it came to.
    let askedAt: LocalAddressID
    let fingerprint: Bytes16
    let arrival: Instant

    init(
      _ packet: InitPacket, keyIndex: Int, from source: SocketAddress, to askedAt: LocalAddressID,
      fingerprint: Bytes16, now: Instant
    ) {
      (self.packet, self.keyIndex, self.source) = (packet, keyIndex, source)
      (self.askedAt, self.fingerprint, arrival) = (askedAt, fingerprint, now)
    }

    mutating func keep(_ packet: Span<UInt8>) {
      bytes.reserveCapacity(packet.count)
      for index in packet.indices { bytes.append(packet[index]) }
    }
  }

  private var entries: BoundedQueue<Entry>
  private var fingerprints: Set<Bytes16> = []
  /// Key agreements that may begin before other packets are read again.
  private var left = Self.atOnce

  init(limit: Int) { entries = BoundedQueue(limit: limit) }

  /// When the first one may go on: it came then.
  var nextDeadline: Instant? { entries.first?.arrival }

  /// Thousandths of those that may wait.
  var fill: UInt64 { UInt64(entries.count * 1000 / max(1, entries.limit)) }

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

  // MARK: - In a machine

  /// Does one that was let in, or has it wait.
  static func admit(
    _ entry: Entry, _ bytes: Span<UInt8>, _ machine: inout RendezvousMachine, now: Instant
  ) {
    if machine.gate.waiting.admitsAtOnce() { return agree(entry, bytes, &machine, now: now) }
    var entry = entry
    entry.keep(bytes)
    if !machine.gate.waiting.append(entry) { machine.counters.initiationsDropped.add(.busy) }
    // An eighth of them: from here on addresses are to be proven.
    if machine.gate.waiting.fill >= 125 { machine.gate.noteLoad(now: now) }
  }

  /// Goes on with those that wait, as many as one turn has time for.
  static func resume(_ machine: inout RendezvousMachine, now: Instant) {
    while let entry = machine.gate.waiting.popFirst() {
      if machine.goingAway == nil { agree(entry, entry.bytes.span, &machine, now: now) }
    }
  }

  /// The first half of the key agreement.
  private static func agree(
    _ entry: Entry, _ bytes: Span<UInt8>, _ machine: inout RendezvousMachine, now: Instant
  ) {
    machine.askedAt = entry.askedAt
    do throws(HandshakeError) {
      let context = HandshakeContext(
        purpose: .register, connectionID: entry.packet.connectionID,
        responder: machine.settings.identity.id)
      var state = try machine.makeHandshake(context, keyIndex: entry.keyIndex)
      let plain = try state.readMessage(bytes.extracting(InitPacket.noiseRange))
      guard let payload = InitPayload(plain, provenKey: state.remoteStatic) else {
        return machine.counters.initiationsDropped.add(.notBelieved)
      }
      var handshake = OpenHandshake(
        state: state, connection: entry.packet.connectionID, payload: payload,
        source: entry.source, askedAt: entry.askedAt, fingerprint: entry.fingerprint)
      guard machine.store.shared != nil else { return machine.finish(handshake, now: now) }
      handshake.early = EarlyRuling(on: payload, from: entry.source, in: machine, now: now)
      let wish = handshake.wish
      let parked = ParkedHandshake(handshake)
      if !machine.storeWork.park(
        .registration(parked), wish, machine.store, machine.settings, now)
      {
        parked.finish(in: &machine, now: now)
      }
    } catch {
      machine.counters.initiationsDropped.add(.notBelieved)
    }
  }

  /// A millisecond or so.
  private static let atOnce = 4
}
