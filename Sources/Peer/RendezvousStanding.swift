package import Primitives
import SecureSession
import Wire

/// What the registration rests on.
enum RendezvousStanding {
  /// There is none.
  case none
  /// RESP has come; the server has not shown that it has our confirmation.
  case answered(Terms)
  /// Others find us.
  case confirmed(Terms)

  /// What the rendezvous has said, and when.
  struct Terms {
    let payload: ResponsePayload
    let since: Instant
    /// When the INIT that it answers was made.
    let asked: Instant

    /// When it is time to register anew: after nine tenths of the life.
    var renewal: Instant { since + .seconds(Int64(payload.life) * 9 / 10) }

    var reading: RendezvousReading {
      RendezvousReading(milliseconds: payload.serverTime, asked: asked, answered: since)
    }

    /// What the rendezvous' clock shows, in ms since 1970 UTC.
    func serverMilliseconds(now: Instant) -> UInt64 {
      payload.serverTime &+ now.nanoseconds(since: since) / 1_000_000
    }
  }

  var terms: Terms? {
    switch self {
    case .none: nil
    case .answered(let terms), .confirmed(let terms): terms
    }
  }

  var isRegistered: Bool { terms != nil }

  var isConfirmed: Bool { if case .confirmed = self { true } else { false } }

  /// Whether a RESET is the server's: it has forgotten the session.
  func isEnded(by bytes: Span<UInt8>) -> Bool {
    guard let terms else { return false }
    var reader = ByteReader(bytes)
    do throws(WireError) {
      return try ResetPacket(parsing: &reader).token == terms.payload.resetToken
    } catch {
      return false
    }
  }

  /// The server has shown that it has our confirmation.
  ///
  /// - Returns: the terms, the first time.
  mutating func confirm() -> Terms? {
    guard case .answered(let terms) = self else { return nil }
    self = .confirmed(terms)
    return terms
  }
}

/// The clock of the rendezvous, read at some time from when it was asked until its answer came.
package struct RendezvousReading: Sendable {
  /// Since 1970 UTC.
  package let milliseconds: UInt64
  package let asked: Instant
  package let answered: Instant
}

/// How often a session with the rendezvous shows that it stands, and when its silence is its end;
/// in ns.
enum SessionPace {
  /// The own silence after which a PING goes.
  ///
  /// - Parameters:
  ///   - asked: What the rendezvous asks for, in s.
  ///   - hasNodes: Another node takes over where this one ends.
  static func pingPeriod(asked: UInt64, isInCall: Bool, hasNodes: Bool) -> UInt64 {
    let asked = asked * 1_000_000_000
    let inCall = hasNodes ? pingInCall : 5_000_000_000
    return isInCall ? min(asked, inCall) : max(asked, 1_000_000_000)
  }

  /// When a session that stays silent counts as lost.
  static func silenceDeadline(of association: Association, isHurried: Bool) -> Instant? {
    isHurried
      ? association.silenceDeadline(after: silenceInCall, atLeast: pingInCall)
      : association.silenceDeadline(after: silence)
  }

  /// Without an answer a PING is repeated this often; and after so long all is lost.
  static let doubtAfter: UInt64 = 1_000_000_000
  private static let silence: UInt64 = 4_000_000_000
  /// In a call, where another node takes over: PING after 2 s and again each second, and after
  /// 4.3 s all is lost. Another node that is dead as well takes 0.6 s more.
  private static let pingInCall: UInt64 = 2_000_000_000
  private static let silenceInCall: UInt64 = 2_300_000_000
}

/// Which server is expected: its pinned ID and its card.
struct KnownRendezvous {
  /// `nil` = whichever answers first.
  private(set) var expectedID: PeerID?
  private(set) var card: ContactCard?
  /// The card of the server that answered, until the session is confirmed.
  private var proven: ContactCard?
  /// Where else it may be sought.
  var nodes: NodeRoster
  /// That the own name is ours, as the service has said it last.
  private(set) var receipt: OpaqueReceipt?

  init(_ configuration: PeerConfiguration) {
    expectedID = configuration.rendezvousID
    nodes = NodeRoster(configuration)
    receipt = OpaqueReceipt(configuration.nameReceipt)
    do throws(WireError) {
      let card = try ContactCard(parsing: configuration.rendezvousCard)
      if expectedID == nil || expectedID == card.id || nodes.contains(card.id) {
        self.card = card
        nodes.keep(card)
      }
    } catch {
      card = nil
    }
  }

  mutating func handleAnswer(_ card: ContactCard) { proven = card }

  /// Keeps a receipt.
  ///
  /// - Returns: What the service is known by: its root, or the server itself.
  mutating func keep(_ receipt: OpaqueReceipt) -> PeerID? {
    self.receipt = receipt
    return expectedID
  }

  /// Only now has the server shown that it has the card's key.
  ///
  /// - Returns: The card, if it is news, with what is pinned: the server's ID, or its root's.
  mutating func confirm() -> (id: PeerID, card: [UInt8])? {
    guard let found = proven.take(), found.bytes != card?.bytes || expectedID == nil else {
      return nil
    }
    card = found
    nodes.keep(found)
    let pinned = expectedID ?? found.id
    expectedID = pinned
    return (pinned, found.bytes)
  }

  /// The card of whoever is expected at the present place.
  var presentCard: ContactCard? {
    if nodes.present.id != nil { return nodes.card }
    return expectedID == nil || expectedID == card?.id ? card : nil
  }
}

/// When the next attempt to register begins, and what earlier ones have taught.
struct AttemptSchedule {
  var next: Instant?
  private(set) var failures = 0
  /// What the rendezvous put right of what we say.
  var amendment = RegistrationAmendment()
  private var lastTime = TAI64N.zero

  /// The attempt has failed; the next one comes by itself.
  ///
  /// - Parameter chance: 0..<1.
  mutating func retry(isInCall: Bool, chance: Double, now: Instant) {
    failures += 1
    next = now + RegistrationBackOff.wait(after: failures, isInCall: isInCall, chance: chance)
  }

  mutating func handleSuccess(_ status: RegistrationStatus) {
    failures = 0
    amendment.reset()
    // The next card has the name again.
    if status == .nameGranted { amendment.withholdsName = false }
  }

  /// What an INIT says the time is: each time later than before.
  mutating func initTime(unixMilliseconds: UInt64) -> TAI64N {
    var time = TAI64N(unixMilliseconds: unixMilliseconds)
    if time <= lastTime { time = lastTime.successor }
    lastTime = time
    return time
  }
}
