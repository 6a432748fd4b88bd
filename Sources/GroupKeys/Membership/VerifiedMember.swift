package import Primitives
package import SecureSession
package import Tokens
package import Wire

/// What a channel's roster states of a member, before anybody has checked it.
package struct MemberClaim: Equatable, Sendable {
  /// Not zero; scoped by the channel.
  package var uid: UInt32
  package var role: MemberRole
  /// Counts joins in the channel: a member that left and came back has a higher one.
  package var joinNumber: UInt64
  package var card: ContactCard
  /// Text of a token (docs/protocol/rendezvous.md §5); empty in an open channel.
  package var token: [UInt8]

  package init(
    uid: UInt32, role: MemberRole, joinNumber: UInt64, card: ContactCard, token: [UInt8] = []
  ) {
    self.uid = uid
    self.role = role
    self.joinNumber = joinNumber
    self.card = card
    self.token = token
  }
}

/// What proves membership in a channel.
package enum MembershipRule: Sendable {
  /// Whoever knows the name may join: a believable card is all.
  case open
  /// A token by the channel key, with the scope of the role.
  case token(host: TokenRule, audience: TokenRule)
}

/// Why a member on a roster gets no key.
package enum MembershipFault: Error, Equatable, Sendable {
  /// The uid is zero.
  case uid
  case card(CardFault)
  case token(TokenFault)
}

/// A member whose card and token we have checked ourselves: the only thing that a key is ever
/// handed to.
///
/// It has one initialiser, and that one checks. Who can hand in such a value has verified.
package struct VerifiedMember: Equatable, Sendable {
  package let uid: UInt32
  package let role: MemberRole
  package let joinNumber: UInt64
  package let id: PeerID
  /// Device static key S of its card: what keys for it are sealed to.
  package let staticKey: Bytes32

  /// Checks the card, then the token by `rule`.
  ///
  /// - Parameter unixMilliseconds: What our own clock shows.
  package init(
    verifying claim: MemberClaim, by rule: MembershipRule, unixMilliseconds: UInt64
  ) throws(MembershipFault) {
    guard claim.uid != 0 else { throw .uid }
    do throws(CardFault) {
      try claim.card.verify(unixSeconds: unixMilliseconds / 1000)
    } catch {
      throw .card(error)
    }
    if case .token(let host, let audience) = rule {
      do throws(TokenFault) {
        let rule = claim.role == .host ? host : audience
        _ = try rule.check(
          claim.token, of: claim.card.id, unixMilliseconds: unixMilliseconds)
      } catch {
        throw .token(error)
      }
    }
    uid = claim.uid
    role = claim.role
    joinNumber = claim.joinNumber
    id = claim.card.id
    staticKey = claim.card.staticKey
  }

  /// Whether the other value is of the same stay in the channel.
  func isSameStay(as other: VerifiedMember) -> Bool {
    uid == other.uid && id == other.id && joinNumber == other.joinNumber
  }
}
