internal import Peer
internal import Reactor

/// Messages to all members.
extension ChannelRelay {
  /// Sends a message to all members who have a seat at the relay, sealed for them: they get
  /// `ChannelRelayStep.message`. It is sent again until it has arrived; those of one host come in
  /// their order. Who joins later does not get it.
  ///
  /// - Parameter message: 1 to 1024 bytes; 30 messages a second at the most.
  /// - Throws: `invalidArgument` for another length, `channelState` without a seat as a host, for
  ///   more than that, and at a relay that is too old for it.
  public func send(_ message: [UInt8]) throws(EarshotError) {
    guard (1...1024).contains(message.count) else {
      throw .invalidArgument(
        "A message to a channel cannot have \(message.count) bytes.", advice: "Use 1 to 1024.")
    }
    switch driver?.withMachine({ machine, now in machine.send(message, now: now) }) {
    case .sent: return
    case .tooMany:
      throw EarshotError(
        .channelState, "There are more than 30 messages a second.", advice: "Send fewer.")
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
