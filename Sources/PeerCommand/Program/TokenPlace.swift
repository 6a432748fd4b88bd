internal import Earshot
internal import Tokens

/// What `earshot token show` says of the channel that a token is for, and of the role there.
struct TokenPlace {
  /// A title, and what it says; empty where the token is for a rendezvous.
  private(set) var lines: [(String, String)] = []
  /// The channel has another name or key than the token says.
  private(set) var isFalse = false

  /// - Parameter key: That has signed the token; `nil` where that is not known.
  init(_ claims: TokenClaims, _ key: TokenPublicKey?) {
    let roles = ChannelRole.allCases.map(\.rawValue).filter { claims.permits($0) }
    // A grant for a relay has both: the rendezvous signs it.
    guard !roles.isEmpty, !claims.permits(TokenClaims.register) else { return }
    lines.append(("channel", channel(of: claims, key)))
    lines.append(("role", roles.joined(separator: " or ")))
  }

  /// The audience is made of the channel's name and of the key that signs its tokens.
  private mutating func channel(of claims: TokenClaims, _ key: TokenPublicKey?) -> String {
    guard let name = claims.channel, ChannelName(name)?.needsToken == false else {
      return "the token does not say its name"
    }
    guard let key else {
      return "\(name), as the token says; --public FILE checks it"
    }
    guard ChannelName("\(name)@\(key.text)")?.audience == claims.audience else {
      isFalse = true
      return "\(name), as the token says, and that is wrong: it is for another channel"
    }
    return name
  }
}
