internal import Cryptography
package import Primitives
package import Tokens
package import Wire

/// Which channel: a name and, where members need tokens, the key that signs them
/// (docs/protocol/channels.md §1).
///
/// As text it is the name, or the name, "@" and the key.
package struct ChannelIdentity: Hashable, Sendable, CustomStringConvertible {
  package let name: PeerName
  /// `nil` in an open channel.
  package let key: TokenPublicKey?
  /// BLAKE2b-256("EST1 channel" ‖ key, or zero ‖ name).
  package let id: Bytes32

  package init(name: PeerName, key: TokenPublicKey? = nil) {
    self.name = name
    self.key = key
    var hash = BLAKE2b(byteCount: 32)
    hash.update("EST1 channel")
    hash.update((key?.bytes ?? .zero).span)
    hash.update(name.bytes.span)
    id = hash.finalize32()
  }

  /// `nil` unless `text` is `NAME` or `NAME@k4.public.…`.
  package init?(_ text: String) {
    guard let at = text.firstIndex(of: "@") else {
      guard let name = PeerName(text) else { return nil }
      self.init(name: name)
      return
    }
    guard let name = PeerName(String(text[..<at])),
      let key = TokenPublicKey(String(text[text.index(after: at)...])), key.bytes != .zero
    else { return nil }
    self.init(name: name, key: key)
  }

  package var description: String { key.map { "\(name)@\($0.text)" } ?? "\(name)" }

  /// Claim `aud` of its tokens: the channel ID in letters.
  package var audience: String { "\(PeerID(id))" }

  /// What a token must be for a role; `nil` where none is needed.
  package func rule(for role: MemberRole) -> TokenRule? {
    key.map { TokenRule(key: $0, audience: audience, scope: role.scope) }
  }

  /// When the token ends that a member has shown, in ms since 1970 UTC, if it is good by our own
  /// check and clock; never where none is needed.
  package func end(
    of token: [UInt8], of member: ChannelMember, unixMilliseconds: UInt64
  ) throws(TokenFault) -> UInt64 {
    let grant = try rule(for: member.role)?.check(
      token, of: member.id, unixMilliseconds: unixMilliseconds)
    guard let grant else { return .max }
    guard (grant.uid ?? member.uid) == member.uid else { throw .subject }
    return unixMilliseconds + grant.remainingMilliseconds
  }

  /// The word of a token that permits to remove and ban.
  package static let manage = "manage"
}
