package import Primitives
package import Wire

/// What a grant for a relay says besides whose it is (docs/protocol/relay.md §2): the seat.
package struct SeatClaim: Equatable, Sendable {
  package var channel: Bytes32
  package var uid: UInt32
  package var role: MemberRole
  /// When the grant ends, in milliseconds since 1970: of two the one that ends later was given
  /// later.
  package var expires: UInt64

  package init(channel: Bytes32, uid: UInt32, role: MemberRole, expires: UInt64 = 0) {
    self.channel = channel
    self.uid = uid
    self.role = role
    self.expires = expires
  }

  /// The scope of a grant: three words.
  package var scope: String { "\(TokenClaims.register) \(role.scope) \(PeerID(channel))" }

  /// `nil` unless the words name one role and one channel, and there is a uid.
  init?(uid: UInt32?, scope: String, expires: UInt64) {
    let words = scope.split(separator: " ").map(String.init)
    let roles = MemberRole.allCases.filter { words.contains($0.scope) }
    let channels = words.compactMap { PeerID($0) }
    guard let uid, uid != 0, roles.count == 1, channels.count == 1 else { return nil }
    self.init(channel: Bytes32(channels[0]), uid: uid, role: roles[0], expires: expires)
  }
}

extension TokenClaims {
  /// The seat that a grant is for; `nil` unless it is one.
  package var seat: SeatClaim? { SeatClaim(uid: uid, scope: scope, expires: expires) }
}
