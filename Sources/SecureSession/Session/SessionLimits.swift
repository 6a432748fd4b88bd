import Primitives

/// When keys are renewed and when they end (docs/protocol/session.md §6, §7, §9).
package struct SessionLimits: Sendable {
  /// Age at which the first handshake's initiator asks for new keys; ±10 %.
  package var initiatorRekey: Duration
  /// Age at which the other side does.
  package var responderRekey: Duration
  /// No key is used beyond this age.
  package var hardStop: Duration
  /// Rendezvous sessions are not rekeyed: the client registers anew.
  package var rekeys: Bool
  /// Packets under one key after which new keys are asked for.
  package var rekeyNumber: UInt64 = 1 << 30
  /// The last number that is ever sealed under one key.
  package var lastNumber: UInt64 = Self.lastNumber
  /// Failed openings after which a session closes (RFC 9001 §6.6).
  package var maximumFailures: UInt64 = 1 << 36

  /// Between peers.
  package static let peer = SessionLimits(
    initiatorRekey: .seconds(120), responderRekey: .seconds(165), hardStop: .seconds(180),
    rekeys: true)
  /// Between a client and its rendezvous.
  package static let rendezvous = SessionLimits(
    initiatorRekey: .seconds(3600), responderRekey: .seconds(3600), hardStop: .seconds(5400),
    rekeys: false)

  /// How long keys still open after their successors are in use.
  static let previousLife: Duration = .seconds(5)
  /// After a validated new address, new keys are asked for within this time.
  static let rekeyAfterMove: Duration = .seconds(1)
  /// An unanswered REKEY_1 is made anew after this long. Our choice: above the 8 s after which a
  /// reliable message is given up (docs/protocol/frames.md §3).
  static let rekeyRetry: Duration = .seconds(10)
  /// At least between two REKEY_1 that are tried, each of which costs some five operations on the
  /// curve. Our choice: an honest side sends the next one `previousLife` later at the earliest.
  static let rekeyPace: Duration = .seconds(1)
  /// The last number that the protocol allows under one key.
  static let lastNumber: UInt64 = (1 << 31) - 1
}
