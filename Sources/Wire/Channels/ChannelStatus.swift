/// What became of a request about a channel. The numbers travel (docs/protocol/channels.md §2).
package enum ChannelStatus: Hashable, Sendable {
  case done
  /// The token does not permit it.
  case notPermitted
  case tooManyHosts
  case channelFull
  /// The server, the client or its network is in as many channels as may be.
  case tooManyChannels
  case banned
  /// Another member has the uid.
  case uidTaken
  case tooManyRequests
  case unknownMember
  /// Name and key do not give the channel ID.
  case wrongChannel
  /// No relay is registered with the server.
  case noRelay
  /// The token is not accepted; `nil` = one is needed and none came.
  case token(TokenFault?)

  private static let plain: [ChannelStatus] = [
    .done, .notPermitted, .tooManyHosts, .channelFull, .tooManyChannels, .banned, .uidTaken,
    .tooManyRequests, .unknownMember, .wrongChannel, .noRelay,
  ]
  private static let tokenCode: UInt8 = 16

  package init?(rawValue: UInt8) {
    if Int(rawValue) < Self.plain.count {
      self = Self.plain[Int(rawValue)]
    } else if rawValue == Self.tokenCode {
      self = .token(nil)
    } else if rawValue > Self.tokenCode,
      let fault = TokenFault(rawValue: rawValue - Self.tokenCode)
    {
      self = .token(fault)
    } else {
      return nil
    }
  }

  package var rawValue: UInt8 {
    switch self {
    case .done: 0
    case .notPermitted: 1
    case .tooManyHosts: 2
    case .channelFull: 3
    case .tooManyChannels: 4
    case .banned: 5
    case .uidTaken: 6
    case .tooManyRequests: 7
    case .unknownMember: 8
    case .wrongChannel: 9
    case .noRelay: 10
    case .token(let fault): Self.tokenCode + (fault?.rawValue ?? 0)
    }
  }
}
