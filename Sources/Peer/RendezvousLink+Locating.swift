import Primitives

/// The question where we are: PING, until PONG says it (docs/protocol/rendezvous.md §2).
struct Locating: Sendable {
  /// PONGs that had come when it was asked.
  let pongs: Int
  var nextAt: Instant
  var gap = Self.firstGap

  init(pongs: Int, now: Instant) {
    self.pongs = pongs
    nextAt = now + Self.firstGap
  }

  /// Whether PING is to be repeated; says so once each time.
  mutating func poll(now: Instant) -> Bool {
    guard nextAt <= now else { return false }
    gap = min(gap * 2, Self.lastGap)
    nextAt = now + gap
    return true
  }

  private static let firstGap = Duration.milliseconds(250)
  private static let lastGap = Duration.seconds(1)
}

/// Learning the own address anew, and showing the rendezvous where to find us.
extension RendezvousLink {
  mutating func locate(now: Instant) {
    guard locating == nil, let association, !association.isClosing else { return }
    locating = Locating(pongs: association.pongsReceived, now: now)
    association.ping()
  }

  mutating func driveLocating(now: Instant) {
    if locating?.poll(now: now) == true { association?.ping() }
  }

  /// After a packet of the rendezvous.
  mutating func settleLocating() {
    guard let locating, let association, association.pongsReceived > locating.pongs else { return }
    self.locating = nil
    events.append(.located)
  }

  /// A challenge to our new address was answered: the PONG of the PING before went to the old one.
  func askAgainAfterResponse() {
    if locating != nil { association?.ping() }
  }
}
