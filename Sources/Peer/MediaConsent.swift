import Primitives

/// Whether media may go to the path, and what asks for leave while it may not
/// (docs/protocol/calling.md §4; compare RFC 7675, RFC 8083 §4.1).
///
/// Any packet of the peer that opens renews it: who hears nothing of the peer any more stops, and
/// starts again with the first packet that comes. Meanwhile PINGs look for the path, so that two
/// sides that have both stopped do not wait for each other.
struct MediaConsent: Sendable {
  /// Silence of the peer after which media stops.
  static let silence = Duration.seconds(15)
  /// How long media goes on without an answer to anything of ours, whatever else comes (RFC 7675
  /// §5.1: consent lasts for 30 s).
  static let withoutAnswer = Duration.seconds(30)
  /// Between PINGs while media is stopped: a path that is back is used again within that time and
  /// one round trip.
  static let pingInterval = Duration.milliseconds(250)
  /// The same of a peer that is away for longer than a call without `rejoin` lasts.
  static let rarePingInterval = Duration.milliseconds(500)

  private var lastOpened: Instant
  private var lastAnswer: Instant
  private var lastPing = Instant.zero

  init(now: Instant) {
    lastOpened = now
    lastAnswer = now
  }

  /// A packet opened under the session's keys.
  mutating func handlePacket(now: Instant) { lastOpened = now }

  /// The peer reported an arrival, or sent PONG, or PATH_RESPONSE came by the path that media
  /// takes: what we sent arrived. The report may be lost where one of the others is not.
  mutating func handleAnswer(now: Instant) { lastAnswer = now }

  /// Whether something of ours was answered in the last second.
  func isFresh(now: Instant) -> Bool { now < lastAnswer + .seconds(1) }

  func isGiven(now: Instant) -> Bool { now < expiry }

  /// Whether a PING is due; says so once each interval.
  mutating func pollPing(now: Instant) -> Bool {
    guard nextPing <= now else { return false }
    lastPing = now
    return true
  }

  /// When the next PING is due unless something comes.
  var nextPing: Instant {
    let isAway = lastPing > lastOpened + Self.withoutAnswer
    return max(expiry, lastPing + (isAway ? Self.rarePingInterval : Self.pingInterval))
  }

  private var expiry: Instant { min(lastOpened + Self.silence, lastAnswer + Self.withoutAnswer) }
}
