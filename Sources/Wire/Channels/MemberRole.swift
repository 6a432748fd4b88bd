/// What a member may do in a channel. The numbers travel (docs/protocol/channels.md §1).
package enum MemberRole: UInt8, CaseIterable, Sendable {
  /// May publish: hands its key to the others.
  case host = 1
  /// Only receives.
  case audience = 2

  /// The word of a token that permits the role.
  package var scope: String {
    switch self {
    case .host: "host"
    case .audience: "audience"
    }
  }
}

/// Why a member is no longer there. The numbers travel (docs/protocol/channels.md §2).
package enum Departure: UInt8, CaseIterable, Sendable {
  case left = 1
  /// Heard no more for 20 s.
  case lost = 2
  /// Its token ended and was not renewed.
  case expired = 3
  case removed = 4
  case banned = 5
  /// A newer stay has its uid.
  case replaced = 6

  /// Whether the member went by itself. Of another one its seat at a relay is ended for it, and
  /// its program is told.
  package var isOrdinary: Bool {
    switch self {
    case .left, .lost: true
    case .expired, .removed, .banned, .replaced: false
    }
  }

  /// Whether the member has lost the right to hear, so that a fresh key does not wait for others. A
  /// newer stay replaces one of the same identity, which may hear as before.
  package var endsHearing: Bool {
    switch self {
    case .left, .lost, .replaced: false
    case .expired, .removed, .banned: true
    }
  }
}
