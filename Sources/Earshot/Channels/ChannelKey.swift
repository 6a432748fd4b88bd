internal import Primitives
internal import Reactor
internal import Tokens

/// The key of a channel of one's own: whoever has it lets members in. It is drawn anew, and is
/// nowhere but in memory; one in a file is `earshot token`'s.
public struct ChannelKey: Sendable {
  /// Tokens sign with it; a key cannot be copied.
  private final class Holder: Sendable {
    let key: TokenSigningKey
    init(_ key: consuming TokenSigningKey) { self.key = key }
  }

  private let holder: Holder

  /// A fresh key, of random bytes.
  public init() {
    var random = RandomSource.system
    holder = Holder(TokenSigningKey(random: &random))
  }

  /// The channel of that name and this key; `nil` unless `text` is 1 to 63 of
  /// `A-Z a-z 0-9 . _ -`.
  public func channel(named text: String) -> ChannelName? {
    ChannelName("\(text)@\(holder.key.publicKey.text)")
  }

  /// The token of one member, for `Endpoint.join` and `Call.invite`.
  ///
  /// - Parameters:
  ///   - member: Who may show it; in other hands it is worth nothing.
  ///   - channel: Of this key.
  ///   - life: From now on, by this host's clock; a year at the most, and a second at the least.
  ///   - mayManage: Whether the member may remove others.
  public func pass(
    to member: PeerID, for channel: ChannelName, life: Duration, mayManage: Bool = false
  ) -> String {
    pass(
      to: member, for: channel, life: life, mayManage: mayManage,
      unixMilliseconds: SystemClock.wallNanoseconds / 1_000_000)
  }

  package func pass(
    to member: PeerID, for channel: ChannelName, life: Duration, mayManage: Bool = false,
    unixMilliseconds now: UInt64
  ) -> String {
    // Seconds first: the milliseconds of a huge duration have no number.
    let seconds = min(max(life.components.seconds, 1), Self.longestSeconds)
    let claims = TokenClaims(
      audience: channel.audience, subject: member,
      scope: mayManage ? "host audience manage" : "host audience",
      expires: now + UInt64(seconds) * 1000)
    return PublicToken(signing: claims.json, by: holder.key).text
  }

  /// A year.
  private static let longestSeconds: Int64 = 366 * 86_400
}
