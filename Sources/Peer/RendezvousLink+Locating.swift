import Congestion
import Primitives
import Wire

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
    guard locating?.poll(now: now) == true else { return }
    association?.ping()
    route.beginDetours()
  }

  /// Where a PING goes besides; what was answered meanwhile needs none.
  mutating func nextDetour() -> DatagramPath? {
    guard locating != nil, association?.isClosing == false else { return nil }
    return route.nextDetour()
  }

  /// Where packets go now.
  var address: SocketAddress { route.path.remote }

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

extension Association {
  /// How long what we send by the rendezvous takes to the peer, as far as we can tell: it is about
  /// as far from it as we are.
  var deliveryTime: Duration {
    let estimator = history.roundTrip
    guard estimator.hasSample else { return Self.usualDeliveryTime }
    let roundTrip = Duration.nanoseconds(Int64(clamping: estimator.smoothed))
    return min(roundTrip + .milliseconds(20), .milliseconds(500))
  }

  /// Before the round trip to the rendezvous was measured.
  static var usualDeliveryTime: Duration { .milliseconds(150) }
}

extension PeerConfiguration {
  /// What INIT says that we understand. TURN servers are only for programs in calls whose user has
  /// named none, and for one that examines them.
  var abilities: ClientAbilities {
    let isInCalls = presence.isInvited || asksForRelays
    var abilities = ClientAbilities.senderNames
    if isInCalls, relays.isEmpty { abilities.insert(.relays) }
    if isForFamiliars { abilities.insert(.audience) }
    if isInCalls { abilities.insert(.pairs) }
    if isMember { abilities.formUnion([.channelData, .unsentCounts]) }
    if name != nil { abilities.insert(.receipts) }
    return abilities
  }

  /// Of this host's own clock, in ms since 1970 UTC.
  func unixMilliseconds(now: Instant) -> UInt64 {
    UInt64(clamping: wallClockAtZero) &+ now.nanoseconds / 1_000_000
  }
}
