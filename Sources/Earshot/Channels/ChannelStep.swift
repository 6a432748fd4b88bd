internal import Channels
internal import Primitives
internal import Wire

/// How this endpoint stands to a channel.
public enum ChannelConnection: String, Sendable {
  /// Not in it any more, by one's own wish.
  case left
  /// Asks to be let in, until it is or will not be.
  case joining
  /// Is a member.
  case joined
  /// Was joined, and has no contact at present; tries go on.
  case reconnecting
  /// Is not a member, and will not be without being told to join again.
  case failed
}

/// Why something happened in a channel.
public enum ChannelReason: String, Sendable, CaseIterable {
  /// It was asked for.
  case joining
  /// The rendezvous has let it in.
  case joinSucceeded
  /// The rendezvous has let it in again after a time without contact.
  case rejoinSucceeded
  /// Nothing was heard of it for 4 s.
  case interrupted
  /// Nothing was heard of it for 20 minutes, and no sound goes on.
  case contactLost
  /// It left, or was left.
  case left
  /// Not heard for 20 s.
  case dropped
  /// It only listens from now on.
  case becameAudience
  /// Its token ended.
  case tokenExpired
  /// Somebody with the word `manage` on its token removed it, or banned it.
  case removed, banned
  /// A newer member has its uid.
  case replaced
  /// The token does not permit it.
  case notPermitted
  /// As many hosts are there as may be, 17 usually.
  case tooManyHosts
  /// As many members are there as may be.
  case channelFull
  /// The rendezvous, this program or its network is in as many channels as may be.
  case tooManyChannels
  /// Another identity has the uid.
  case uidTaken
  /// Asked for too often.
  case tooManyRequests
  /// There is no such member.
  case unknownMember
  /// Name and key do not belong together.
  case wrongChannel
  /// No relay is registered with the rendezvous.
  case noRelay
  /// A token is needed, and none was shown; or it is not accepted.
  case tokenNeeded, tokenRefused

  init(_ status: ChannelStatus) {
    self =
      switch status {
      case .done: .joinSucceeded
      case .notPermitted, .token(.scope): .notPermitted
      case .tooManyHosts: .tooManyHosts
      case .channelFull: .channelFull
      case .tooManyChannels: .tooManyChannels
      case .banned: .banned
      case .uidTaken: .uidTaken
      case .tooManyRequests: .tooManyRequests
      case .unknownMember: .unknownMember
      case .wrongChannel: .wrongChannel
      case .noRelay: .noRelay
      case .token(nil): .tokenNeeded
      case .token(.expired): .tokenExpired
      case .token: .tokenRefused
      }
  }

  init(_ departure: Departure) {
    self =
      switch departure {
      case .left: .left
      case .lost: .dropped
      case .expired: .tokenExpired
      case .removed: .removed
      case .banned: .banned
      case .replaced: .replaced
      }
  }

  init(_ reason: ChannelStateReason) {
    switch reason {
    case .joining: self = .joining
    case .joinSucceeded: self = .joinSucceeded
    case .rejoinSucceeded: self = .rejoinSucceeded
    case .interrupted: self = .interrupted
    case .contactLost: self = .contactLost
    case .left: self = .left
    case .refused(let status): self.init(status)
    case .ended(let departure): self.init(departure)
    }
  }

  init(_ reason: UserOfflineReason) {
    switch reason {
    case .quit: self = .left
    case .dropped: self = .dropped
    case .becameAudience: self = .becameAudience
    case .ended(let departure): self.init(departure)
    }
  }
}

/// What happens in a channel. *Users* are the hosts, who may be heard; the audience has steps of
/// its own.
public enum ChannelStep: Sendable, Equatable {
  /// This endpoint's connection to the channel changed.
  case stateChanged(ChannelConnection, ChannelReason)
  /// This endpoint is in the channel; told once.
  ///
  /// - Parameter elapsed: Since `Endpoint.join`.
  case joined(uid: UInt32, elapsed: Duration)
  /// Contact is there again after an interruption.
  ///
  /// - Parameter elapsed: Since the interruption was told.
  case rejoined(uid: UInt32, elapsed: Duration)
  /// This endpoint has left, after so long in the channel.
  case left(duration: Duration)
  /// A host is there: it joined, came back, became host, or was there before us.
  case userJoined(ChannelUser, elapsed: Duration)
  /// A host is not there any more, or only listens.
  case userOffline(uid: UInt32, ChannelReason)
  /// Somebody listens.
  case audienceJoined(ChannelUser)
  /// It does so no more.
  case audienceLeft(uid: UInt32, ChannelReason)
  /// The rendezvous has begun anew and has this member again, or this endpoint. For whoever sees
  /// members nothing has changed; what is sealed for a relay is under other keys.
  case memberReturned(uid: UInt32)
  /// This endpoint has another role.
  case roleChanged(from: ChannelRole, to: ChannelRole)
  /// It has not: the role is what it was.
  case roleChangeFailed(ChannelReason, current: ChannelRole)
  /// Nothing was heard of the channel for 10 s; tries go on.
  case contactLost
  /// The token ends in so long: hand a newer one to `Channel.renewToken`. Told once of each token,
  /// 30 s before, or at once if less is left.
  case tokenWillExpire(in: Duration)
  /// The token has ended, or is not accepted: join again with another one.
  case tokenNeeded
  /// The rendezvous has accepted a newer token.
  case tokenRenewed
  /// It did not; the token before holds until its end.
  case tokenRefused(ChannelReason)
  /// What became of `Channel.remove`; `nil` = done.
  case removalFinished(uid: UInt32, ChannelReason?)

  /// In a channel with tokens: this endpoint has checked the token of a member that appeared.
  /// Who is not genuine was let in by a rendezvous that lies: give it nothing.
  case memberChecked(uid: UInt32, isGenuine: Bool)
  /// A seat at a relay: hand it to `ChannelRelay.handle`.
  case relayGranted(RelayGrant)
  /// The rendezvous knows of no relay.
  case relayUnavailable

  /// `nil` for what the endpoint settles by itself.
  init?(_ event: ChannelEvent) {
    switch event {
    case .stateChanged(let state, let reason):
      self = .stateChanged(ChannelConnection(state), ChannelReason(reason))
    case .joined(let uid, let elapsed): self = .joined(uid: uid, elapsed: elapsed)
    case .rejoined(let uid, let elapsed): self = .rejoined(uid: uid, elapsed: elapsed)
    case .left(let duration): self = .left(duration: duration)
    case .userJoined(let uid, let id, let elapsed):
      self = .userJoined(ChannelUser(uid: uid, id: id, role: .host), elapsed: elapsed)
    case .userOffline(let uid, let reason):
      self = .userOffline(uid: uid, ChannelReason(reason))
    case .audienceJoined(let uid, let id):
      self = .audienceJoined(ChannelUser(uid: uid, id: id, role: .audience))
    case .audienceLeft(let uid, let departure):
      self = .audienceLeft(uid: uid, ChannelReason(departure))
    case .returned(let uid): self = .memberReturned(uid: uid)
    case .roleChanged(let old, let new):
      self = .roleChanged(from: ChannelRole(old), to: ChannelRole(new))
    case .roleChangeFailed(let status, let current):
      self = .roleChangeFailed(ChannelReason(status), current: ChannelRole(current))
    case .contactLost: self = .contactLost
    case .tokenWillExpire(let left): self = .tokenWillExpire(in: left)
    case .tokenNeeded: self = .tokenNeeded
    case .tokenRenewed: self = .tokenRenewed
    case .tokenRefused(let status): self = .tokenRefused(ChannelReason(status))
    case .removalFinished(let uid, let status):
      self = .removalFinished(uid: uid, status == .done ? nil : ChannelReason(status))
    case .proven: return nil
    case .relayGranted(let grant): self = .relayGranted(RelayGrant(grant))
    case .noRelay: self = .relayUnavailable
    }
  }
}

extension ChannelConnection {
  init(_ state: ChannelState) {
    self =
      switch state {
      case .left: .left
      case .joining: .joining
      case .joined: .joined
      case .reconnecting: .reconnecting
      case .failed: .failed
      }
  }
}
