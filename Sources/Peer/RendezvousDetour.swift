import Primitives

/// The way to the rendezvous by a relay, where it does not answer directly: where UDP is blocked.
///
/// While an attempt has no answer, each of its packets also goes by the relay. The session uses the
/// way on which RESP came.
struct RendezvousDetour: Sendable {
  /// Whether there is a relay.
  var isPossible = false
  /// Whether packets of the session go by the relay.
  private(set) var isUsed = false
  /// The last packet of the attempt, to go by the relay as well.
  private var copy: [UInt8] = []
  private var attemptBegan: Instant?
  private var hasHeardDirectly = false
  /// The last packet outside the session came by the relay.
  private var wasLastByRelay = false

  /// Whether the relay was last told to let the rendezvous in.
  private var isLetIn = false

  /// An answer comes directly within one round trip; this is a long one.
  static let patience = Duration.milliseconds(250)

  mutating func beginAttempt(now: Instant) {
    attemptBegan = now
    hasHeardDirectly = false
    copy = []
  }

  mutating func handleControl(byRelay: Bool) {
    wasLastByRelay = byRelay
    if !byRelay { hasHeardDirectly = true }
  }

  /// RESP has come.
  mutating func establish() {
    isUsed = wasLastByRelay
    attemptBegan = nil
    copy = []
  }

  /// A packet of the session opened.
  mutating func handleSession(byRelay: Bool) { isUsed = byRelay }

  /// Another rendezvous is sought, which may answer directly; the relay is to let that one in.
  mutating func leave() { isUsed = false }

  /// Whether the rendezvous must be let in at the relay.
  func isNeeded(now: Instant) -> Bool { isUsed || isOverdue(now: now) }

  /// Whether that is other than the last time.
  mutating func takeChange(now: Instant) -> Bool {
    let isNeeded = isNeeded(now: now)
    defer { isLetIn = isNeeded }
    return isNeeded != isLetIn
  }

  /// Whether nothing has come directly for too long.
  func isOverdue(now: Instant) -> Bool {
    guard let attemptBegan, !hasHeardDirectly else { return false }
    return now >= attemptBegan + Self.patience
  }

  /// Keeps a packet of the attempt that goes directly, if it is to go by the relay as well.
  mutating func keepCopy(of packet: borrowing OutputSpan<UInt8>, now: Instant) {
    guard isPossible, isOverdue(now: now) else { return }
    let bytes = packet.span
    copy = bytes.indices.map { bytes[$0] }
  }

  @_lifetime(packet: copy packet)
  mutating func takeCopy(into packet: inout OutputSpan<UInt8>) -> Bool {
    guard !copy.isEmpty else { return false }
    let bytes = copy
    copy = []
    guard isPossible, bytes.count <= packet.freeCapacity else { return false }
    packet.append(bytes: bytes)
    return true
  }
}

extension RendezvousLink {
  /// Whether there is a relay to go by.
  var mayUseRelay: Bool {
    get { detour.isPossible }
    set { detour.isPossible = newValue }
  }

  /// Where packets of the session go.
  var sessionPath: DatagramPath {
    detour.isUsed ? DatagramPath(address, local: .relay) : route.path
  }

  /// There is a relay now: an attempt that waits for its answer goes by it at once.
  mutating func handleRelay(now: Instant) {
    mayUseRelay = true
    if detour.isOverdue(now: now) { attempt?.repeatSoon(now: now) }
  }
}
