internal import Peer
internal import Reactor
internal import Wire

/// Messages to all members.
extension ChannelRelay {
  /// Sends a message to all members who have a seat at the relay, sealed for them: they get
  /// `ChannelRelayStep.message`. It is sent again until it has arrived. Who joins later does not
  /// get it.
  ///
  /// It goes out in parts of 1024 bytes: 30 parts a second, fewer to more than 120 members, and at
  /// most a quarter of what the own line carries.
  ///
  /// - Parameters:
  ///   - message: 1 to 65 536 bytes.
  ///   - ordered: whether receivers are told of it after the ordered ones of this host before it;
  ///     of another one they are told as soon as all of it is there.
  /// - Throws: `invalidArgument` for another length, `channelState` without a seat as a host, where
  ///   64 messages or 128 KiB wait, and at a relay that is too old for it.
  public func send(_ message: [UInt8], ordered: Bool = true) throws(EarshotError) {
    guard DataPart.messageByteCounts.contains(message.count) else {
      throw .invalidArgument(
        "A message to a channel cannot have \(message.count) bytes.", advice: "Use 1 to 65536.")
    }
    switch driver?.withMachine({ machine, now in
      machine.send(message, isOrdered: ordered, now: now)
    }) {
    case .sent: return
    case .tooMany:
      throw EarshotError(
        .channelState, "Too many messages to the channel wait to be sent.",
        advice: "Send the next one later.")
    case .notUnderstood:
      throw EarshotError(
        .channelState, "The relay does not pass messages on.",
        advice: "Ask its operator for a newer one.")
    case .notPublishing, nil:
      throw EarshotError(
        .channelState, "There is no seat at the relay to send from.",
        advice: "Wait for relayConnected, and be a host.")
    }
  }
}
