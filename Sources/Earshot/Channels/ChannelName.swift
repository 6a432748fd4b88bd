internal import Channels
public import Primitives
internal import Tokens
internal import Wire

/// Which channel: a name, and where its members need tokens the key that signs them. As text it is
/// `NAME` or `NAME@k4.public.…`.
public struct ChannelName: Hashable, Sendable, CustomStringConvertible {
  let identity: ChannelIdentity

  init(_ identity: ChannelIdentity) { self.identity = identity }

  /// `nil` unless `text` is 1 to 63 of `A-Z a-z 0-9 . _ -`, or that with `@` and a channel key.
  public init?(_ text: String) {
    guard let identity = ChannelIdentity(text) else { return nil }
    self.identity = identity
  }

  /// What others join it by.
  public var description: String { identity.description }

  /// What tokens of the channel have as their audience.
  public var audience: String { identity.audience }

  /// Whether members need a token.
  public var needsToken: Bool { identity.key != nil }
}

/// What a member may do.
public enum ChannelRole: String, Sendable, CaseIterable {
  /// May publish.
  case host
  /// Only receives.
  case audience

  init(_ role: MemberRole) {
    switch role {
    case .host: self = .host
    case .audience: self = .audience
    }
  }

  var wire: MemberRole {
    switch self {
    case .host: .host
    case .audience: .audience
    }
  }
}

/// Somebody in a channel.
public struct ChannelUser: Hashable, Sendable {
  /// Not zero; scoped by the channel.
  public var uid: UInt32
  /// Its identity, as the rendezvous says. Calls prove it.
  public var id: PeerID
  /// What it may do.
  public var role: ChannelRole

  package init(uid: UInt32, id: PeerID, role: ChannelRole) {
    self.uid = uid
    self.id = id
    self.role = role
  }
}
