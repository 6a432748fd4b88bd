package import Primitives
package import Wire

/// How a member stands to a channel (seeds: connection state).
package enum ChannelState: String, Sendable {
  /// Not in it any more, by one's own wish.
  case left
  case joining
  case joined
  /// Was joined, and has no contact at present; tries go on.
  case reconnecting
  /// Will not be joined without being told to again.
  case failed
}

/// Why the state changed.
package enum ChannelStateReason: Equatable, Sendable {
  case joining
  case joinSucceeded
  case interrupted
  case rejoinSucceeded
  case left
  /// The rendezvous does not let us in.
  case refused(ChannelStatus)
  /// No contact for 20 minutes.
  case contactLost
  /// The rendezvous has ended it.
  case ended(Departure)
}

/// Why a user is not there any more (seeds: user offline reason).
package enum UserOfflineReason: Equatable, Sendable {
  /// It left.
  case quit
  /// Not heard for 20 s.
  case dropped
  /// It only listens from now on.
  case becameAudience
  /// It lost the right to be there, or a newer stay took its uid.
  case ended(Departure)

  init(_ departure: Departure) {
    switch departure {
    case .left: self = .quit
    case .lost: self = .dropped
    case .expired, .removed, .banned, .replaced: self = .ended(departure)
    }
  }
}

/// What happens in one channel. Users are the hosts, as in the seeds; the audience has events of
/// its own.
package enum ChannelEvent: Equatable, Sendable {
  case stateChanged(ChannelState, ChannelStateReason)
  /// - Parameter elapsed: Since the command to join.
  case joined(uid: UInt32, elapsed: Duration)
  /// - Parameter elapsed: Since contact was interrupted.
  case rejoined(uid: UInt32, elapsed: Duration)
  /// - Parameter duration: Since `joined`; zero if that never came.
  case left(duration: Duration)
  /// - Parameter elapsed: Since the command to join.
  case userJoined(uid: UInt32, PeerID, elapsed: Duration)
  case userOffline(uid: UInt32, UserOfflineReason)
  case audienceJoined(uid: UInt32, PeerID)
  case audienceLeft(uid: UInt32, Departure)
  /// The server has begun anew and has this one again, perhaps ourselves: its stay is another one.
  case returned(uid: UInt32)
  case roleChanged(from: MemberRole, to: MemberRole)
  case roleChangeFailed(ChannelStatus, current: MemberRole)
  /// Nothing was heard of the channel for 10 s; tries go on.
  case contactLost
  case tokenWillExpire(in: Duration)
  /// The token has ended, or is not accepted: join again with another one.
  case tokenNeeded
  case tokenRenewed
  case tokenRefused(ChannelStatus)
  case removalFinished(uid: UInt32, ChannelStatus)
  /// The token that a member has shown; empty in an open channel. `ChannelIdentity.end` judges.
  case proven(uid: UInt32, joinNumber: UInt64, token: [UInt8])
  /// A seat at a relay, as `ChannelClient.requestRelay` has asked for.
  case relayGranted(ChannelRelayGrant)
  /// The rendezvous knows of no relay.
  case noRelay
}

/// Why a command is refused; nothing has changed.
package enum ChannelRefusal: Error, Equatable, Sendable {
  /// It was joined already, or is being joined.
  case alreadyJoined
  /// Another channel has the role host: only one can be published to.
  case publishSlotTaken
  case tooManyChannels
  case unknownChannel
  /// Too many commands wait for their results.
  case tooManyCommands
}
