/// What happens to the media of a channel (`ChannelMedia.Options.onStep`), in its order.
public enum ChannelMediaStep: Sendable {
  /// A step of the channel itself, once it was followed: who comes and goes, roles, contact.
  case channel(ChannelStep)
  /// A member is heard for the first time since it came, by whichever way.
  case firstFrame(uid: UInt32)
  /// A host keeps its sound back, or lets it go on. By a relay it is told in channels of up to 17
  /// members.
  case muted(uid: UInt32, Bool)
  /// From now on another way is made, `mesh` or `relay`; the one before ends once nobody needs it.
  /// Not told of the mesh that each channel begins with.
  case wayChanged(ChannelMedia.Way)
  /// What the call with a member tells (`EndpointEvent.callProgress`), messages apart: states of
  /// streams, first frames and pictures, paths.
  case progress(uid: UInt32, CallProgress)
  /// The numbers of the call with a member, each 2 s; by a relay they are in `relay(.statistics)`.
  case statistics(uid: UInt32, CallStatistics)
  /// The call with a member is over: because it left, or because the relay does what it did. One
  /// that failed is made again, after 1 s, and later after up to 10 s.
  case callEnded(uid: UInt32, CallReport)
  /// What the relay tells, messages apart.
  case relay(ChannelRelayStep)
  /// A host's message to all (`ChannelMedia.send`): those of one stream of a host in their order.
  case message(uid: UInt32, stream: UInt8, [UInt8])
  /// Messages of a host have not come, and are not waited for any longer.
  case messagesMissed(uid: UInt32, stream: UInt8, missed: Int)
  /// What has become of an own message: all to whom it was sent by calls have it, and so has the
  /// relay, if it was sent there; or that is not known.
  case messageDelivery(tag: UInt64, delivered: Bool)
  /// It is over: nothing comes after it, and nothing is sent.
  case ended(ChannelMediaEnd)
}

/// Why the media of a channel ended.
public enum ChannelMediaEnd: Sendable, Equatable {
  /// It was left.
  case left
  /// The channel is over for this endpoint (`ChannelStep.stateChanged`, `failed`).
  case channelFailed(ChannelReason)
  /// The way is `relay`, and the rendezvous knows of none.
  case noRelay
  /// The way is to be by a relay, and it has no room.
  case relayFull
  /// There is no relay, or none with room, and calls of each with each are for 17 members at the
  /// most.
  ///
  /// - Parameters:
  ///   - members: How many are there, this one included.
  ///   - isRelayFull: Whether a relay is there, without room.
  case tooManyMembers(Int, isRelayFull: Bool)
  /// The endpoint was closed.
  case closed
}
