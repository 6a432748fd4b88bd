/// What happens to the channel of a call (`CallChannel.Options.onStep`), in its order. What calls
/// and channels tell besides is among the endpoint's events.
public enum CallChannelStep: Sendable {
  /// The call is a part of a channel from now on: of an own one, or of one that the other end of
  /// the first call has made.
  case became(ChannelName, isOwn: Bool)
  /// The call with somebody is connected, who was invited or is a member.
  case connected(CallChannel.Member)
  /// The call with somebody is over, or came to nothing.
  case callEnded(CallChannel.Member, CallReport)
  /// The person at this end is to be asked; `CallChannel.answer` is its answer, within 30 s.
  case question(CallChannel.Question)
  /// The person at this end does not want others, or has not answered; the other end is told.
  case declined
  /// The other end's person is being asked whether others may come.
  case isAsked
  /// The other end does not want others: the call is one of two as before.
  ///
  /// - Parameter isAnswered: A person has said so; otherwise nobody answered.
  case remoteDeclined(isAnswered: Bool)
  /// Who made the channel is asked to let somebody in.
  case wished(CallChannel.Member)
  /// It does not let it in.
  case refused(CallChannel.Member)
  /// The program of somebody who was invited does not know how a call becomes a channel.
  case cannotCome(CallChannel.Member)
  /// Somebody is in the channel, and is not talked with (`CallChannel.Options.admits`).
  case turnedAway(ChannelUser)
  /// Something did not work, for whose sake it was tried.
  case failed(EarshotError, CallChannel.Sake)
  /// The rendezvous does not answer about the channel.
  case isUnanswered
  /// The channel has ended, and calls that there are go on.
  case channelEnded(ChannelReason)
  /// The channel is left, and the call with a member is about to end, with its last numbers.
  case leaving(CallChannel.Member, CallStatistics?)
  /// The channel was left: by a command, or since nobody is left in it to stay for.
  case left(isAlone: Bool)
}
